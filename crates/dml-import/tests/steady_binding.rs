//! The cost of a run whose state stays on the device. A process can have one injector, so this is its only
//! test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;

use common::device::{on_every_device_as, options};
use common::recurrent::{initial, recurrent, rows};
use dml::{DeviceOptions, InstanceDesc};
use dml_fault::{EntryPoint, Injector};
use dml_import::{DeviceTensor, Inputs, IoBinding, Model, Session};

/// Prefixes of the Vulkan commands that create, record or free anything.
const MAKING: [&str; 7] =
    ["vkAllocate", "vkCreate", "vkFree", "vkDestroy", "vkReset", "vkCmd", "vkUpdate"];

/// Once its shapes have been seen, a run is a single submission and a wait.
#[test]
fn a_run_with_states_is_one_submission_and_makes_nothing() {
    let injector = Injector::new().unwrap();
    injector.inject_everywhere();
    let instance =
        InstanceDesc { entry_points: injector.entry_points(), ..InstanceDesc::default() };
    on_every_device_as(&DeviceOptions { instance, ..options() }, |device| {
        let session = Session::new(device, Model::from_bytes(recurrent()).unwrap());
        let [h, seen] = initial().map(|initial| DeviceTensor::new(device, &initial).unwrap());
        let mut binding = IoBinding::new()
            .with_state("next", "h", h)
            .with_state("seen_next", "seen", seen)
            .with_output("y");
        let mut run = |count, seed| {
            let inputs = Inputs::new().with_tensor("x", rows(count, seed));
            session.run_bound(&mut binding, &inputs).unwrap();
        };
        // Each state alternates between two tensors, and a program is recorded for each.
        [1, 2, 2, 1, 1, 2].into_iter().for_each(|count| run(count, 0));
        let pipelines = device.vulkan().pipeline_count();
        let memory = device.vulkan().memory_report();
        for (count, seed) in [1, 1, 2, 1, 2, 2, 1, 2].into_iter().zip(1..) {
            injector.arm(None);
            run(count, seed);
            let calls: Vec<&str> = injector.calls().into_iter().map(EntryPoint::name).collect();
            let made: BTreeSet<_> = calls
                .iter()
                .filter(|call| MAKING.iter().any(|start| call.starts_with(start)))
                .collect();
            assert!(made.is_empty(), "{made:?}");
            assert_eq!(calls.iter().filter(|call| **call == "vkQueueSubmit").count(), 1);
        }
        assert_eq!(device.vulkan().pipeline_count(), pipelines);
        assert_eq!(device.vulkan().memory_report(), memory);
    });
}
