//! The examples, compiled from their own files and run on every device.
//!
//! An example makes its own instance, which does not collect validation messages. So each is run in its own
//! process, where the layer prints them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(dead_code, reason = "the examples' own main functions")]

mod common;

#[path = "../examples/bring_your_own.rs"]
mod bring_your_own;
#[path = "../examples/owning.rs"]
mod owning;
#[path = "../examples/train.rs"]
mod train;

use std::process::Command;

use dml::{DeviceSelector, Instance, InstanceDesc};

/// Set in the process that runs an example: the index of the device.
const DEVICE: &str = "DML_TEST_EXAMPLE_DEVICE";

/// Runs the test called `name` once more for each device, in processes of their own.
fn on_each_device(name: &str) {
    let instance = Instance::new(&InstanceDesc::default()).unwrap();
    let devices = instance.physical_devices().unwrap();
    assert!(!devices.is_empty(), "there is no Vulkan device; run `cargo xtask test`");
    for (index, device) in devices.iter().enumerate() {
        let text = in_a_process(name, index);
        assert!(!is_reported(&text), "{}: {text}", device.info().name);
    }
}

/// The output of a successful run of the test called `name`, with messages of validation layers.
fn in_a_process(name: &str, device: usize) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture"]).env(DEVICE, device.to_string());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// Whether the output has a message of the validation layer, which prints if the instance does not collect
/// messages.
fn is_reported(text: &str) -> bool {
    ["Validation Error", "Validation Warning", "VUID-", "SYNC-HAZARD"]
        .iter()
        .any(|it| text.contains(it))
}

fn device() -> Option<usize> {
    std::env::var(DEVICE).ok().map(|index| index.parse().unwrap())
}

#[test]
fn owning_runs() {
    let Some(index) = device() else { return on_each_device("owning_runs") };
    let found = owning::run(&DeviceSelector::Index(index)).unwrap();
    assert_eq!(found, [0, 7, 0, 0, 0, 0, 7, 0, 0, 0, 0, 7]);
}

#[test]
fn bring_your_own_runs() {
    let Some(index) = device() else { return on_each_device("bring_your_own_runs") };
    let found = bring_your_own::run(index).unwrap();
    let expected: Vec<f32> = (0..16).map(|at| if at % 4 >= at / 4 { 1.0 } else { 2.0 }).collect();
    assert_eq!(found, expected);
}

/// Every device has the same bits after as many steps.
#[test]
fn train_runs() {
    let Some(index) = device() else { return on_each_device("train_runs") };
    let lines = train::run(&DeviceSelector::Index(index)).unwrap();
    assert_eq!(lines.len(), 11, "{lines:?}");
    assert_eq!(lines[0], "step  25  loss 0.9308");
    assert_eq!(lines[9], "step 250  loss 0.1906");
    assert_eq!(lines[10], "492 of 512 points are classified rightly");
}

/// The positive control: a real message of the layer is found.
#[test]
fn a_mistake_is_reported_where_validation_is_required() {
    if device().is_none() {
        let text = in_a_process("a_mistake_is_reported_where_validation_is_required", 0);
        let required = common::validation() == dml::Validation::Required;
        assert!(is_reported(&text) || !required, "the layer is not on: {text}");
        return;
    }
    let machine = bring_your_own::program::Machine::new(0).unwrap();
    let mut features = dml::ash::vk::PhysicalDeviceFeatures2::default();
    let program = bring_your_own::program::VulkanObjects::new(machine, &[], &mut features).unwrap();
    let buffer = program.buffer(64).unwrap();
    let commands = program.begin().unwrap();
    // Two writes with nothing in between.
    program.fill(commands, buffer.handle, 64, 1.0);
    program.fill(commands, buffer.handle, 64, 2.0);
    program.submit_and_wait(commands).unwrap();
    assert_eq!(program.floats(&buffer).len(), 16);
}
