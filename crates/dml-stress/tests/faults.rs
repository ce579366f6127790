//! The shortened sweep on every device, and faults that a sweep does not inject.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dml::ash::vk::Result as Code;
use dml::vk::{Buffer, BufferDesc, Device, Instance, InstanceDesc, Recorder, Submission};
use dml::{BufferUsage, MemoryLocation};
use dml_conformance::child::Launch;
use dml_fault::{Fault, Injector};
use dml_stress::faults::{Args, Report, sweep, uncallable};

#[path = "../../dml/tests/common/one_driver.rs"]
mod one_driver;

/// Only one injector can exist in a process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The command's own program, so that no driver can crash the test.
fn launch() -> Launch {
    Launch { program: Some(env!("CARGO_BIN_EXE_dml-stress").into()), environment: Vec::new() }
}

fn quick(scenario: &[&str]) -> Args {
    let scenario = scenario.iter().map(|it| (*it).to_owned()).collect();
    Args { quick: true, scenario, ..Args::default() }
}

#[test]
fn every_entry_point_fails_at_its_first_and_last_call_without_harm() {
    // Together these scenarios call everything.
    let reports = sweep(&quick(&["cached", "submitting"]), &launch(), &|_| {}).unwrap();
    for report in &reports {
        let injected: usize = report.sweeps.iter().map(|sweep| sweep.injected).sum();
        println!("{}: {injected} faults injected", report.device);
        assert!(report.sweeps.iter().all(|sweep| sweep.injected > 0), "{report:#?}");
        // If this fails, the runtime calls another entry point: add it to the injector, and let a scenario call it.
        assert_eq!(report.uncalled(), uncallable(), "{}", report.device);
    }
    let findings: Vec<_> = reports.iter().flat_map(Report::findings).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

/// Excuses every crash and hang of a driver after a failed host allocation.
const ANY: &str = "[[known]]\ndevice = '*'\nfails = 'host-allocation'\nin = '*'\n\
    happens = 'crash'\nreason = 'the test says so'\n\
    [[known]]\ndevice = '*'\nfails = 'host-allocation'\nin = '*'\n\
    happens = 'hang'\nreason = 'the test says so'\n";

/// The device that an accident happens on, as how it is reported does not depend on the device; `None` for every device.
fn device_for(accident: &str) -> Option<String> {
    let instance = Instance::new(&InstanceDesc::default()).unwrap();
    let mut devices = instance.physical_devices().unwrap();
    devices.retain(|device| device.unsuitable().is_none());
    let runs = |at: &usize| one_driver::runs(*at, devices.len(), accident.as_bytes());
    let mut chosen = (0..devices.len()).filter(runs);
    let first = chosen.next()?;
    chosen.next().is_none().then(|| devices[first].info().name.clone())
}

/// The reports on an accident at the first host allocation, with these known findings.
fn after(accident: &str, known: &str) -> Vec<Report> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known.toml");
    std::fs::write(&file, known).unwrap();
    let fault = format!("{accident}:host allocation 1, *");
    let launch =
        Launch { environment: vec![("DML_STRESS_TEST_FAULT", Some(fault.into()))], ..launch() };
    let timeout = Some(Duration::from_secs(if accident.starts_with("hang") { 10 } else { 120 }));
    let device = device_for(accident);
    let args = Args { known: Some(file), timeout, device, ..quick(&["recording"]) };
    let reports = sweep(&args, &launch, &|_| {}).unwrap();
    assert!(!reports.is_empty());
    for report in &reports {
        let [calls, host] = &report.sweeps[..] else { panic!("{report:#?}") };
        assert!(calls.findings.is_empty() && calls.injected > 0, "{calls:#?}");
        // Every other fault is still injected, and answered.
        assert!(host.places >= host.injected && host.injected > 1, "{host:#?}");
        assert_eq!(host.refused + host.tolerated + 1, host.injected, "{host:#?}");
    }
    reports
}

/// Checks that a finding names the place, how the process ended, and its last output.
fn assert_says(found: &str, report: &Report, words: &[&str]) {
    let place =
        format!("{} [{}]: recording: host allocation 1, in vk", report.device, report.driver);
    assert!(found.starts_with(&place), "{found}");
    assert!(words.iter().all(|word| found.contains(word)), "{found}");
}

#[test]
fn a_worker_that_dies_outside_of_a_driver_is_a_finding_whatever_is_known() {
    for (accident, words) in [
        ("abort", ["crash outside of any call: ", "on purpose at host allocation 1"]),
        ("hang", ["hang outside of any call: not done in time", "on purpose at host allocation 1"]),
        // Rust prints a message, so the crash is the runtime's although a driver has called it.
        ("panic-inside", ["crash inside of vk", "non-unwinding panic"]),
    ] {
        for report in after(accident, ANY) {
            let findings: Vec<_> = report.findings().collect();
            assert_eq!(findings.len(), 1, "{findings:#?}");
            assert_says(findings[0], &report, &words);
            assert_eq!(report.known().count(), 0);
        }
    }
}

#[test]
fn a_worker_that_dies_inside_of_a_driver_is_excused_where_that_is_known() {
    for (accident, word) in [("abort-inside", "crash"), ("hang-inside", "hang")] {
        for report in after(accident, ANY) {
            assert_eq!(report.findings().chain(report.drivers()).count(), 0, "{report:#?}");
            let known: Vec<_> = report.known().collect();
            assert_eq!(known.len(), 1, "{known:#?}");
            let inside = format!("{word} inside of vk");
            assert_says(known[0], &report, &[&inside, "on purpose", "the test says so"]);
            // The other known finding did not occur.
            let [gone] = &report.gone[..] else { panic!("{report:#?}") };
            assert!(gone.contains("where a host allocation fails in *"), "{gone}");
        }
    }
}

/// A driver may crash after it lacked memory: that is reported, but is not the runtime's broken promise. A
/// hang may be the runtime's.
#[test]
fn a_worker_that_crashes_inside_of_a_driver_without_memory_is_the_drivers_finding() {
    for (accident, word) in [("abort-inside", "crash"), ("hang-inside", "hang")] {
        for report in after(accident, "") {
            let (drivers, findings): (Vec<_>, Vec<_>) =
                (report.drivers().collect(), report.findings().collect());
            let (found, others) =
                if word == "crash" { (drivers, findings) } else { (findings, drivers) };
            assert_eq!((found.len(), others.len(), report.known().count()), (1, 0, 0));
            assert_says(found[0], &report, &[&format!("{word} inside of vk"), "on purpose"]);
        }
    }
}

/// A failed call does not reach the driver, so a crash in a later one may be caused by the runtime.
#[test]
fn a_worker_that_dies_inside_of_a_driver_after_a_failed_call_is_a_finding() {
    let fault = "abort-inside:call 1, *".into();
    let environment = vec![("DML_STRESS_TEST_FAULT", Some(fault))];
    let launch = Launch { environment, ..launch() };
    let args = Args { device: device_for("abort-inside"), ..quick(&["recording"]) };
    for report in sweep(&args, &launch, &|_| {}).unwrap() {
        // One finding for each failure of the first call.
        let findings: Vec<_> = report.findings().collect();
        assert!(!findings.is_empty());
        for finding in findings {
            assert!(finding.contains(": recording: call 1, vk"), "{finding}");
            assert!(finding.contains("crash inside of vk"), "{finding}");
        }
        assert_eq!(report.drivers().chain(report.known()).count(), 0, "{report:#?}");
    }
}

/// A device with work in flight.
struct InFlight {
    injector: Injector,
    device: Device,
    buffer: Buffer,
}

impl InFlight {
    fn new(index: usize) -> Self {
        let injector = Injector::new().unwrap();
        let entry_points = injector.entry_points();
        let desc = InstanceDesc { entry_points, ..InstanceDesc::default() };
        let physical = Instance::new(&desc).unwrap().physical_devices().unwrap();
        let device = Device::new(&physical[index]).unwrap();
        let (usage, location) = (BufferUsage::all(), MemoryLocation::Device);
        let buffer =
            device.create_buffer(&BufferDesc { size: 1 << 22, usage, location, name: "b" });
        Self { injector, device, buffer: buffer.unwrap() }
    }

    fn submit(&self) -> Submission {
        let mut recorder = Recorder::new(&self.device).unwrap();
        recorder.fill_buffer(&self.buffer, 0..1 << 22, 7).unwrap();
        self.device.submit(recorder.finish().unwrap()).unwrap()
    }

    /// Makes the next `count` waits return `result` at once.
    fn fail_waits(&self, count: usize, result: Code) {
        let name = "vkWaitSemaphores";
        self.injector.arm(Some(Fault::Named { name, first: 1, count, result }));
    }

    fn waits(&self) -> usize {
        let calls = self.injector.calls();
        calls.iter().filter(|call| call.name() == "vkWaitSemaphores").count()
    }
}

fn each_in_flight(test: impl Fn(InFlight)) {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let instance = Instance::new(&InstanceDesc::default()).unwrap();
    let count = instance.physical_devices().unwrap().len();
    assert!(count > 0, "there is no Vulkan device: run these tests with `cargo xtask test`");
    (0..count).for_each(|index| test(InFlight::new(index)));
}

#[test]
fn a_wait_without_a_timeout_does_not_end_before_the_work() {
    each_in_flight(|it| {
        let submission = it.submit();
        it.fail_waits(3, Code::TIMEOUT);
        submission.wait().unwrap();
        assert_eq!(it.waits(), 4);
        it.fail_waits(1, Code::TIMEOUT);
        assert!(!submission.wait_timeout(Duration::from_secs(60)).unwrap());
        // A value that has been waited for is not waited for again.
        let _again = it.submit();
        it.fail_waits(2, Code::TIMEOUT);
        assert_eq!(it.device.read_buffer(&it.buffer, 0..4).unwrap(), [7, 0, 0, 0]);
        assert!(it.waits() > 2);
    });
}

#[test]
fn a_dropped_ticket_waits_although_there_is_no_memory_to_wait() {
    each_in_flight(|it| {
        let submission = it.submit();
        it.fail_waits(3, Code::ERROR_OUT_OF_HOST_MEMORY);
        drop(submission);
        assert_eq!(it.waits(), 4);
        let InFlight { injector, device, buffer } = it;
        drop((device, buffer));
        assert_eq!(injector.live_objects(), []);
    });
}

#[test]
fn a_second_injector_is_refused() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let injector = Injector::new().unwrap();
    let error = Injector::new().unwrap_err().to_string();
    assert_eq!(error, "injector: there is one in this process already");
    let entry_points = injector.entry_points();
    let instance =
        Instance::new(&InstanceDesc { entry_points, ..InstanceDesc::default() }).unwrap();
    drop(injector);
    let error = Injector::new().unwrap_err().to_string();
    assert!(error.starts_with("injector: objects are left of an earlier one: ["), "{error}");
    // The remaining objects still work, and are still in the books.
    assert!(!instance.physical_devices().unwrap().is_empty());
    drop(instance);
    Injector::new().unwrap();
}
