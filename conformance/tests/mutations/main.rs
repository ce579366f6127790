//! That the suite can fail: defects of the kinds that matter are made on purpose, and the cases find
//! each of them on every device; those that are in a plan or a table on the host interpreter too.

#![allow(clippy::print_stderr, reason = "says which case found it")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bindings;
mod comparison;
mod kernels;
mod linked;
mod plans;
mod push;
mod tables;
mod tolerance;

use dml::vk::EntryPoints;
use dml::{DataType, Device, DeviceOptions, FeatureLevel, Instance, InstanceDesc, Validation};
use dml_conformance::cases::{Case, Kind, generate};
use dml_conformance::execute::{
    Details, DeviceExecutor, Executor, Interpreter, Lowering, Runtime, run,
};
use dml_conformance::results::ResultCode;
use dml_ops::TransferUse;

/// Set by `cargo xtask test`.
fn validation() -> Validation {
    match std::env::var("DML_TEST_VALIDATION").as_deref() {
        Ok("required") => Validation::Required,
        _ => Validation::Off,
    }
}

/// One data type of each width, at the highest level.
fn cases() -> Vec<Case> {
    use DataType::{Float16, Float32, Int64, Uint8};
    let types = [Uint8, Float16, Float32, Int64];
    let is_chosen =
        |case: &Case| case.id.signature.types.iter().all(|data_type| types.contains(data_type));
    generate(FeatureLevel::HIGHEST).into_iter().filter(is_chosen).collect()
}

/// Every device, with its name and plans from `lowering`.
fn on_every_device(lowering: &dyn Lowering, test: impl Fn(&str, &dyn Executor)) {
    on_devices_with(EntryPoints::default(), lowering, test);
}

fn on_devices_with(
    entry_points: EntryPoints,
    lowering: &dyn Lowering,
    test: impl Fn(&str, &dyn Executor),
) {
    let desc = InstanceDesc { validation: validation(), entry_points, ..InstanceDesc::default() };
    let open = || Instance::new(&desc).expect("a Vulkan loader; run `cargo xtask test`");
    let count = open().physical_devices().unwrap().len();
    let mut tested = 0;
    for index in 0..count {
        // One for each device: the layer reports a message only so often to an instance.
        let instance = open();
        let physical = instance.physical_devices().unwrap().swap_remove(index);
        if physical.unsuitable().is_some() {
            continue;
        }
        // Whatever the environment says: kernels that are wrong on purpose must stay in their buffers.
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

/// What is said about the cases that did not pass, with their ids.
fn findings(cases: &[Case], executor: &dyn Executor) -> Vec<String> {
    let mut findings = Vec::new();
    for case in cases {
        let result = run(case, executor, Details::Failures);
        if result.result != ResultCode::Pass {
            findings.push(format!("{}: {}", result.id, result.detail.unwrap_or_default()));
        }
    }
    findings
}

/// Checks that `cases` find the defect, and that at least one of them says so in these words.
fn check_found(name: &str, cases: &[Case], executor: &dyn Executor, words: &str) {
    let findings = findings(cases, executor);
    let example = findings.iter().find(|finding| finding.contains(words));
    let first = findings.first();
    assert!(example.is_some(), "{name}: no finding says {words:?}; the first one: {first:?}");
    eprintln!("{name}: {} of {} cases find it: {}", findings.len(), cases.len(), example.unwrap());
}

/// The other half of every test in this folder: what makes no mistake is not accused of one.
#[test]
fn without_a_defect_nothing_is_found() {
    let cases = cases();
    let nothing: [String; 0] = [];
    on_every_device(&Runtime, |name, executor| {
        assert_eq!(findings(&cases, executor), nothing, "{name}");
    });
    let on_host: Vec<Case> =
        cases.into_iter().filter(|case| case.kind() != Kind::Binding).collect();
    assert_eq!(findings(&on_host, &interpreter(&Runtime)), nothing);
}

/// Only the validation layer sees this on a driver that executes one command after the other.
#[test]
fn a_missing_barrier_is_found_by_the_layer() {
    if validation() == Validation::Off {
        eprintln!("not under the validation layer: run `cargo xtask test`");
        return;
    }
    let packed =
        |case: &Case| case.id.name == "offset_zero" || case.id.name == "input_band_one_wide";
    let cases: Vec<Case> = cases().into_iter().filter(packed).collect();
    let entry_points = dml_fault::without_pipeline_barriers();
    on_devices_with(entry_points, &Runtime, |name, executor| {
        check_found(name, &cases, executor, "SYNC-HAZARD");
    });
}
