//! The cost of a new shape if weights are prepared before the first run. A process can have one injector, so
//! this is its only test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::num::NonZeroUsize;
use std::sync::Barrier;

use common::decoder::{decoder, inputs};
use common::device::{on_every_device_as, options};
use common::{host, tensors};
use dml::{Device, DeviceOptions, InstanceDesc};
use dml_fault::{EntryPoint, Injector};
use dml_import::{Model, Session};

fn opened(device: &Device) -> Session {
    Session::new(device, Model::from_bytes(decoder()).unwrap())
}

/// The first program converts 8-bit weights with one scale to floats; later programs, replacements and programs
/// compiled at the same time reuse them.
#[test]
fn weights_are_prepared_once_for_all_shapes() {
    let injector = Injector::new().unwrap();
    injector.inject_everywhere();
    let instance =
        InstanceDesc { entry_points: injector.entry_points(), ..InstanceDesc::default() };
    on_every_device_as(&DeviceOptions { instance, ..options() }, |device| {
        let calls = |work: &dyn Fn()| {
            injector.arm(None);
            work();
            let calls: Vec<&str> = injector.calls().into_iter().map(EntryPoint::name).collect();
            let count = |name: &str| calls.iter().filter(|call| **call == name).count();
            [count("vkCmdDispatch"), count("vkCreateBuffer")]
        };
        let unused = device.vulkan().memory_report().buffers;
        for capacity in [1, 16] {
            let session = opened(device).with_capacity(NonZeroUsize::new(capacity).unwrap());
            let compiled = |past| {
                let found = calls(&|| drop(session.executable(&inputs(past)).unwrap()));
                let outputs = tensors(&session.run(&inputs(past)).unwrap());
                let program = session.model().bind(&inputs(past)).unwrap();
                assert_eq!(outputs, tensors(&host::run(&program)), "{past}");
                found
            };
            let [[first, buffers], later @ ..] = [4, 5, 6, 7].map(compiled);
            assert!(first > 0);
            // The weights, and the results of preparing some of them.
            assert_eq!(later.map(|later| later[0]), [0; 3]);
            assert!(later.iter().all(|it| it[1] + 1 < buffers), "{later:?}, at first {buffers}");

            // Sessions of one device share what is made of weights.
            let other = opened(device);
            assert_eq!(calls(&|| drop(other.executable(&inputs(4)).unwrap()))[0], 0);
            drop((session, other));

            let (session, barrier) = (&opened(device), &Barrier::new(2));
            let both = calls(&|| {
                std::thread::scope(|scope| {
                    for past in [4, 5] {
                        scope.spawn(move || {
                            barrier.wait();
                            session.executable(&inputs(past)).unwrap();
                        });
                    }
                });
            });
            assert_eq!(both[0], first);
        }
        assert_eq!(device.vulkan().memory_report().buffers, unused);
    });
}
