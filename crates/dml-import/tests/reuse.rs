//! Programs that serve other inputs and other threads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::{Arc, Barrier};

use common::device::on_every_device;
use common::llama::{llama, step};
use common::onnx::{Graph, initializer, model, node, value};
use common::{f32s, host, int64, tensors};
use dml_import::{Inputs, Model, Session, Tensor};

fn row(first: f32) -> Tensor {
    f32s(&[1, 4], &[first, 0.0, -1.0, 1.0])
}

/// `y` is `x` as often as the greater one of `count` and 3 says. `more` than 3 is an output as well, if it is `told`.
fn repeated_rows(told: bool) -> Vec<u8> {
    let nodes = vec![
        node("Sub", &["count", "three"], &["more"], &[]),
        node("Max", &["more", "zero"], &["added"], &[]),
        node("Add", &["added", "three"], &["rows"], &[]),
        node("Concat", &["rows", "one"], &["shape"], &[("axis", 0)]),
        node("Expand", &["x", "shape"], &["e"], &[]),
        node("Relu", &["e"], &["y"], &[]),
    ];
    let mut outputs = vec![value("y", 1, &[])];
    outputs.extend(told.then(|| value("more", 7, &[])));
    let initializers =
        [("three", 3), ("zero", 0), ("one", 1)].map(|(name, it)| initializer(name, &[1], &[it]));
    let initializers = initializers.into();
    let inputs = vec![value("x", 1, &[Some(1), None]), value("count", 7, &[Some(1)])];
    model(13, Graph { nodes, initializers, inputs, outputs })
}

#[test]
fn values_of_which_the_host_concludes_the_same_are_one_program() {
    on_every_device(|device| {
        for (told, counts) in [(false, [1, 1, 1, 1, 2, 2]), (true, [1, 2, 3, 3, 4, 4])] {
            let session = Session::new(device, Model::from_bytes(repeated_rows(told)).unwrap());
            for (number, count) in [1, 2, 3, 1, 5, 5].into_iter().zip(counts) {
                let inputs = Inputs::new().with_tensor("x", row(number as f32));
                let inputs = inputs.with_tensor("count", int64(&[1], &[number]));
                let outputs = tensors(&session.run(&inputs).unwrap());
                let program = session.model().bind(&inputs).unwrap();
                assert_eq!(outputs, tensors(&host::run(&program)), "{number}");
                assert_eq!(session.compiled_count(), count, "{told} {number}");
            }
            // One that is asked for runs with the values that it was asked for, too.
            let inputs = Inputs::new().with_tensor("x", row(2.0));
            let inputs = inputs.with_tensor("count", int64(&[1], &[0]));
            session.executable(&inputs).unwrap().run(&inputs).unwrap();
        }
    });
}

#[test]
fn threads_that_bring_one_shape_compile_it_once() {
    on_every_device(|device| {
        let session = &Session::new(device, Model::from_bytes(llama()).unwrap());
        let barrier = &Barrier::new(4);
        let executables: Vec<_> = std::thread::scope(|scope| {
            let run = || {
                barrier.wait();
                session.executable(&step(5)).unwrap()
            };
            let threads = [(); 4].map(|()| scope.spawn(run));
            threads.map(|thread| thread.join().unwrap()).into()
        });
        assert!(executables.iter().all(|executable| Arc::ptr_eq(executable, &executables[0])));
        assert_eq!(session.compiled_count(), 1);
    });
}
