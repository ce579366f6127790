//! The host's work for a new shape.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(unsafe_code, reason = "a counting allocator")]

mod common;
#[path = "../../dml-vk/tests/common/counting.rs"]
mod counting;

use common::device::on_every_device;
use common::llama::{llama, step};
use common::{host, tensors};
use counting::allocations;
use dml_import::{Model, Session};

/// A token of a decoder whose cache has grown by one, which programs of the session have operators for.
#[test]
fn a_new_shape_makes_few_allocations() {
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(llama()).unwrap());
        let run = |past| {
            let inputs = step(past);
            let before = allocations();
            let outputs = session.run(&inputs).unwrap();
            let count = allocations() - before;
            if past == 7 {
                let program = session.model().bind(&inputs).unwrap();
                assert_eq!(tensors(&outputs), tensors(&host::run(&program)));
            }
            count
        };
        let counts: Vec<usize> = (7..16).map(run).collect();
        // The first shapes have operators and kernels that are new.
        assert!(counts[4..].iter().all(|it| *it <= 20_000), "{counts:?}");
        assert!(run(15) < 200);
    });
}
