//! The shortened sweep on every device, and what a sweep cannot show.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dml::ash::vk::Result as Code;
use dml::vk::fault::{Fault, Injector};
use dml::vk::{Buffer, BufferDesc, Device, Instance, InstanceDesc, Recorder, Submission};
use dml::{BufferUsage, EntryPoints, MemoryLocation};
use dml_stress::faults::{Args, Report, sweep, uncallable};

/// There is one injector in a process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn every_entry_point_fails_at_its_first_and_last_call_without_harm() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Together they call everything.
    let scenario = ["cached", "submitting"].map(str::to_owned).to_vec();
    let reports = sweep(&Args { quick: true, scenario, ..Args::default() }, &|_| {}).unwrap();
    for report in &reports {
        let injected: usize = report.sweeps().map(|it| it.injected).sum();
        println!("{}: {injected} faults injected", report.device);
        assert!(report.sweeps().all(|it| it.injected > 0), "{report:#?}");
        // Whoever makes the runtime call another entry point adds it to the injector, and makes a
        // scenario call it.
        assert_eq!(report.uncalled(), uncallable(), "{}", report.device);
    }
    let findings: Vec<_> = reports.iter().flat_map(Report::findings).collect();
    assert!(findings.is_empty(), "{findings:#?}");
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
        let entry_points = EntryPoints::injecting(&injector);
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

    /// The next `count` waits return `result` at once.
    fn fail_waits(&self, count: usize, result: Code) {
        let name = "vkWaitSemaphores";
        self.injector.arm(Some(Fault::Named { name, first: 1, count, result }));
    }

    fn waits(&self) -> usize {
        let calls = self.injector.calls();
        calls.iter().filter(|it| it.name() == "vkWaitSemaphores").count()
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
    let entry_points = EntryPoints::injecting(&injector);
    let instance =
        Instance::new(&InstanceDesc { entry_points, ..InstanceDesc::default() }).unwrap();
    drop(injector);
    let error = Injector::new().unwrap_err().to_string();
    assert!(error.starts_with("injector: objects are left of an earlier one: ["), "{error}");
    // What is left works on, and is still in the books.
    assert!(!instance.physical_devices().unwrap().is_empty());
    drop(instance);
    Injector::new().unwrap();
}
