//! Every operator with indices, of indices that are anything, on every device: it gives the reference's bytes and
//! keeps those around, as on the host.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use common::each_device;
use dml::{Device, DeviceOptions};
use dml_conformance::execute::DeviceMemory;
use dml_reference::{Case, Random};
use dml_stress::indices::{self, OPERATORS};

/// Cases of each operator; an optimized build runs more.
const CASES: usize = if cfg!(debug_assertions) { 8 } else { 40 };

/// Checks what a case gives on the host, and on a device.
fn check(case: &Case, device: &Device) {
    let memory = indices::check(case).unwrap_or_else(|it| panic!("on the host: {it}"));
    let compiled = device.compile(case.operator.clone()).unwrap();
    let on_device = DeviceMemory::new(device, case, &memory).unwrap();
    let (inputs, outputs) = (on_device.inputs(&memory, false), on_device.outputs(&memory));
    device.execute(&compiled, &inputs, &outputs).unwrap();
    let found = on_device.read_back(device, &memory).unwrap();
    memory.check(&found).unwrap_or_else(|it| panic!("on a device: {:?}: {it}", case.operator));
}

#[test]
fn indices_that_are_anything_touch_nothing_else() {
    each_device(|device| {
        let device = Device::from_vulkan(device.clone(), &DeviceOptions::default()).unwrap();
        for (index, schema) in OPERATORS.iter().enumerate() {
            let mut random = Random::new(schema.name);
            for _ in 0..CASES {
                random.bits();
                check(&indices::case(index, &mut random), &device);
            }
        }
    });
}
