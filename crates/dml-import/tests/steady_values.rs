//! The cost of a step in which only a value grows that the host has to know. There is one injector in a process, so this
//! is its only test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::cached::{cache, decoder, step};
use common::device::{on_every_device_as, options};
use common::{host, tensors};
use dml::{DeviceOptions, InstanceDesc};
use dml_fault::{EntryPoint, Injector};
use dml_import::{Inputs, Model, Session};

/// Places of the cache.
const CAPACITY: u64 = 16;

fn inputs(total: u8) -> Inputs {
    let caches = [("past_k", 3), ("past_v", 4)];
    caches
        .into_iter()
        .fold(step(1, total), |all, (name, seed)| all.with_tensor(name, cache(CAPACITY, seed)))
}

/// `total` decides by the greater one of it and the cache's places alone, so that it may grow up to these.
#[test]
fn a_step_with_a_value_of_the_same_conclusions_makes_nothing() {
    let injector = Injector::new().unwrap();
    injector.inject_everywhere();
    let instance =
        InstanceDesc { entry_points: injector.entry_points(), ..InstanceDesc::default() };
    on_every_device_as(&DeviceOptions { instance, ..options() }, |device| {
        let session = Session::new(device, Model::from_bytes(decoder()).unwrap());
        let run = |total| {
            injector.arm(None);
            let outputs = session.run(&inputs(total)).unwrap();
            let calls: Vec<&str> = injector.calls().into_iter().map(EntryPoint::name).collect();
            let program = session.model().bind(&inputs(total)).unwrap();
            assert_eq!(tensors(&outputs), tensors(&host::run(&program)), "{total}");
            let is_made = |it: &&str| it.starts_with("vkCreate") || it.starts_with("vkAllocate");
            let made: Vec<&str> = calls.iter().copied().filter(is_made).collect();
            (made.len(), calls.iter().filter(|call| **call == "vkQueueSubmit").count())
        };
        run(5);
        for total in [6, 7, 12, 16, 9] {
            assert_eq!(run(total), (0, 1), "{total}");
        }
        assert_eq!(session.compiled_count(), 1);
        // More places than the cache has are another program, whose own values are then alike.
        assert!(run(17).0 > 0);
        // The first program is recorded again with the larger buffers, which both use in turn.
        assert_eq!(run(4).1, 1);
        assert_eq!([run(4), run(17), run(5)], [(0, 1); 3]);
        assert_eq!(session.compiled_count(), 2);
    });
}
