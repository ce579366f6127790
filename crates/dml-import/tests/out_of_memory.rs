//! Sessions whose device runs out of memory. A process can have one injector, so this is its only test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::{on_every_device_as, options};
use common::images::{image, network};
use common::tensors;
use dml::ash::vk::Result as VkResult;
use dml::{Device, DeviceOptions};
use dml_fault::{EntryPoint, Fault, Injector};
use dml_import::{Error, Inputs, Model, Session, Tensor};

const OUT_OF_MEMORY: VkResult = VkResult::ERROR_OUT_OF_DEVICE_MEMORY;

/// A session that has run two shapes, and the third.
fn prepared(device: &Device) -> (Session, Inputs) {
    let session = Session::new(device, Model::from_bytes(network()).unwrap());
    for inputs in [image(6, 6), image(6, 8)] {
        session.run(&inputs).unwrap();
    }
    (session, image(9, 8))
}

#[test]
fn sessions_evict_programs_and_try_again() {
    let injector = Injector::new().unwrap();
    injector.inject_everywhere();
    for staged in [false, true] {
        let options = DeviceOptions { staged_transfers: Some(staged), ..options() };
        on_every_device_as(&options, |device| every_failure(device, &injector));
    }
}

fn every_failure(device: &Device, injector: &Injector) {
    let (session, third) = prepared(device);
    injector.arm(None);
    let expected = tensors(&session.run(&third).unwrap());
    let calls = injector.calls();
    drop(session);
    let can_fail = |it: &&EntryPoint| it.failures().contains(&OUT_OF_MEMORY);
    let failing: Vec<usize> =
        (1..=calls.len()).filter(|number| can_fail(&calls[number - 1])).collect();
    assert!(failing.len() > 10, "{failing:?}");
    for number in failing {
        single_failure(device, injector, (number, &expected));
    }
    other_sessions(device, injector, &expected);
    for name in ["vkCreateBuffer", "vkQueueSubmit", "vkAllocateDescriptorSets"] {
        lasting_failure(device, injector, (name, &expected));
    }
}

/// If one call of a run has no memory, a program is evicted and the run succeeds.
fn single_failure(device: &Device, injector: &Injector, (number, expected): (usize, &[Tensor])) {
    let (session, third) = prepared(device);
    injector.arm(Some(Fault::Call { number, result: OUT_OF_MEMORY }));
    let found = session.run(&third).map(|it| tensors(&it));
    let hit = injector.hit();
    injector.arm(None);
    let found = found.unwrap_or_else(|error| panic!("{number}, {hit:?}: {error}"));
    assert_eq!(found, expected, "{number}, {hit:?}");
    usable(&session, expected);
}

/// If no call of an entry point has memory, the error says so, and later runs succeed.
fn lasting_failure(
    device: &Device,
    injector: &Injector,
    (name, expected): (&'static str, &[Tensor]),
) {
    let (session, third) = prepared(device);
    let fault = Fault::Named { name, first: 1, count: usize::MAX, result: OUT_OF_MEMORY };
    injector.arm(Some(fault));
    let found = session.run(&third).map(|it| tensors(&it));
    let hit = injector.hit();
    injector.arm(None);
    match found {
        // Descriptor sets may be those of the evicted program.
        Ok(found) => assert!(hit.is_none() && found == expected, "{name}, {hit:?}"),
        Err(error) => {
            let Error::Memory(missing) = error.kind() else { panic!("{name}: {error:?}") };
            assert!(missing.error.is_out_of_memory());
            assert!(error.to_string().ends_with(" bytes of it are held"), "{error}");
            // The sizes of buffers that the runtime needs for itself are not told.
            assert!(missing.size.is_none() || name == "vkCreateBuffer", "{error}");
            // Programs that no run uses were evicted first.
            assert!(session.compiled_count() <= 1, "{name}");
        }
    }
    usable(&session, expected);
}

/// A session without programs to evict evicts those of another one.
fn other_sessions(device: &Device, injector: &Injector, expected: &[Tensor]) {
    for name in ["vkCreateBuffer", "vkQueueSubmit"] {
        let (first, third) = prepared(device);
        let second = Session::new(device, Model::from_bytes(network()).unwrap());
        let before = first.compiled_count();
        // Staging memory is freed after the first failure; submitting uploads may be the second one.
        let fault = Fault::Named { name, first: 1, count: 3, result: OUT_OF_MEMORY };
        injector.arm(Some(fault));
        let found = tensors(&second.run(&third).unwrap());
        assert!(injector.hit().is_some());
        injector.arm(None);
        assert_eq!(found, expected);
        assert!(first.compiled_count() < before, "{name}");
        usable(&first, expected);
    }
}

/// Every shape runs as before.
fn usable(session: &Session, expected: &[Tensor]) {
    assert_eq!(tensors(&session.run(&image(9, 8)).unwrap()), expected);
    let again = [(6, 6), (6, 8)].map(|(height, width)| image(height, width));
    for inputs in again {
        session.run(&inputs).unwrap();
    }
}
