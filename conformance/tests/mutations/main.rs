//! Tests that the suite can fail: defects of the kinds that matter are made on purpose, and the cases find
//! each of them on a device, at night on every one; defects in a plan or a table also on the host interpreter.

#![allow(clippy::print_stderr, reason = "says which case found it")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../crates/dml/tests/common/one_driver.rs"]
mod one_driver;

mod bindings;
mod comparison;
mod kernels;
mod linked;
mod plans;
mod push;
mod tables;
mod tolerance;

use std::sync::LazyLock;

use dml::core::{Capabilities, validate};
use dml::vk::EntryPoints;
use dml::{DataType, Device, DeviceOptions, FeatureLevel, Instance, InstanceDesc, Validation};
use dml_conformance::cases::{Case, Expectation, Kind, thorough};
use dml_conformance::execute::{
    Details, DeviceExecutor, Executor, Interpreter, Lowering, Runtime, run,
};
use dml_conformance::results::ResultCode;
use dml_ops::{Target, TransferUse};

/// Set by `cargo xtask test`.
fn validation() -> Validation {
    match std::env::var("DML_TEST_VALIDATION").as_deref() {
        Ok("required") => Validation::Required,
        _ => Validation::Off,
    }
}

/// Every case with outputs at the highest level.
static THOROUGH: LazyLock<Vec<Case>> = LazyLock::new(|| thorough(FeatureLevel::HIGHEST));

/// Cases of one data type of each width, at the highest level.
fn cases() -> impl Iterator<Item = &'static Case> {
    use DataType::{Float16, Float32, Int64, Uint8};
    let types = [Uint8, Float16, Float32, Int64];
    THOROUGH.iter().filter(move |case| case.id.signature.types.iter().all(|it| types.contains(it)))
}

/// The cases whose plans `lowering` changes on a device with Vulkan's minimal capabilities: only these can find its
/// defect. Each is lowered when it is asked for, since the first ones find most defects.
fn changed(lowering: &dyn Lowering) -> impl Iterator<Item = &'static Case> {
    changed_on(&MINIMUM, lowering)
}

static MINIMUM: LazyLock<Capabilities> = LazyLock::new(Capabilities::vulkan_minimum);

/// The cases whose plans `lowering` changes on a device with these capabilities.
fn changed_on(
    capabilities: &Capabilities,
    lowering: &dyn Lowering,
) -> impl Iterator<Item = &'static Case> {
    let target =
        Target { capabilities, tuning: Default::default(), transfer: TransferUse::Allowed };
    cases().filter(move |case| {
        matches!(case.expectation, Expectation::Outputs(_)) && {
            let operator = validate(&case.operator, case.level).unwrap();
            lowering.lower(&operator, &target) != Runtime.lower(&operator, &target)
        }
    })
}

/// Which of several devices run a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Devices {
    /// One by day, always the same for a test: a suite that does not find a defect is wrong on any of them.
    One,
    /// All, as a defect may not exist on some.
    Every,
}

/// Runs `test` on the device that runs the present test, with its name and with plans from `lowering`.
fn on_a_device(lowering: &dyn Lowering, test: impl Fn(&str, &dyn Executor)) {
    on_devices_with(Devices::One, EntryPoints::default(), lowering, test);
}

fn on_devices_with(
    devices: Devices,
    entry_points: EntryPoints,
    lowering: &dyn Lowering,
    test: impl Fn(&str, &dyn Executor),
) {
    let desc = InstanceDesc { validation: validation(), entry_points, ..InstanceDesc::default() };
    let open = || Instance::new(&desc).expect("a Vulkan loader; run `cargo xtask test`");
    let all = open().physical_devices().unwrap();
    let suitable: Vec<usize> =
        (0..all.len()).filter(|index| all[*index].unsuitable().is_none()).collect();
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default().as_bytes();
    let mut tested = 0;
    for (at, index) in suitable.iter().copied().enumerate() {
        if devices == Devices::One && !one_driver::runs(at, suitable.len(), name) {
            continue;
        }
        // One for each device, because the layer limits how often it reports a message to an instance.
        let instance = open();
        let physical = instance.physical_devices().unwrap().swap_remove(index);
        // In spite of the environment: kernels that are wrong on purpose must stay in their buffers.
        let options = DeviceOptions {
            feature_level: FeatureLevel::HIGHEST,
            robust_access: Some(true),
            ..DeviceOptions::default()
        };
        let device = Device::on_with(&physical, &options).unwrap();
        let executor = DeviceExecutor::new(instance, device, Some(lowering));
        test(&physical.info().name, &executor);
        tested += 1;
    }
    assert!(tested > 0, "there is no Vulkan device; run `cargo xtask test`");
}

/// The host interpreter, with plans from `lowering`.
fn interpreter(lowering: &dyn Lowering) -> Interpreter<'_> {
    let capabilities = dml::core::Capabilities::vulkan_minimum();
    Interpreter::new(&capabilities, TransferUse::Allowed, Some(lowering))
}

/// The details of the cases that do not pass, with their ids, as they are run.
fn found<'a>(
    cases: impl IntoIterator<Item = &'a Case>,
    executor: &dyn Executor,
) -> impl Iterator<Item = String> {
    let results = cases.into_iter().map(|case| run(case, executor, Details::Failures));
    let wrong = results.filter(|result| result.result != ResultCode::Pass);
    wrong.map(|result| format!("{}: {}", result.id, result.detail.unwrap_or_default()))
}

/// The details of all cases that do not pass.
fn findings(cases: &[Case], executor: &dyn Executor) -> Vec<String> {
    found(cases, executor).collect()
}

/// Checks that one of `cases` finds the defect with a message that has these words; the cases after it are not run.
fn check_found<'a>(
    name: &str,
    cases: impl IntoIterator<Item = &'a Case>,
    executor: &dyn Executor,
    words: &str,
) {
    let mut others = Vec::new();
    for finding in found(cases, executor) {
        if finding.contains(words) {
            return eprintln!("{name}: after {} others: {finding}", others.len());
        }
        others.push(finding);
    }
    panic!("{name}: no finding says {words:?}; the first one: {:?}", others.first());
}

/// The counterpart of every test in this folder: without a defect, no case fails.
#[test]
fn without_a_defect_nothing_is_found() {
    // The suite itself runs all of them, and more.
    let cases: Vec<Case> = cases().step_by(160).cloned().collect();
    let nothing: [String; 0] = [];
    on_a_device(&Runtime, |name, executor| {
        assert_eq!(findings(&cases, executor), nothing, "{name}");
    });
    let on_host: Vec<Case> =
        cases.into_iter().filter(|case| case.kind() != Kind::Binding).collect();
    assert_eq!(findings(&on_host, &interpreter(&Runtime)), nothing);
}

/// Only the validation layer sees this on a driver that executes commands one after the other.
#[test]
fn a_missing_barrier_is_found_by_the_layer() {
    if validation() == Validation::Off {
        eprintln!("not under the validation layer: run `cargo xtask test`");
        return;
    }
    let is_packed = |case: &&Case| matches!(&*case.id.name, "offset_zero" | "input_band_one_wide");
    let entry_points = dml_fault::without_pipeline_barriers();
    on_devices_with(Devices::One, entry_points, &Runtime, |name, executor| {
        check_found(name, cases().filter(is_packed), executor, "SYNC-HAZARD");
    });
}
