//! Inputs, outputs and states that stay on the device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::{on_every_device, on_every_device_under};
use common::onnx::{Graph, floats, initializer, model, node, value};
use common::recurrent::{initial, recurrent, round_trips, rows};
use common::{f32s, int64, name, tensors};
use dml::{BufferDesc, BufferUsage, CapabilityCap, Device, MemoryLocation};
use dml_import::{DeviceTensor, ElementType, Inputs, IoBinding, Model, Session, Tensor};

fn on(device: &Device, tensor: &Tensor) -> DeviceTensor {
    DeviceTensor::new(device, tensor).unwrap()
}

/// A binding with both states of the recurrent model.
fn states(device: &Device) -> IoBinding {
    let [h, seen] = initial().map(|initial| on(device, &initial));
    IoBinding::new().with_state("next", "h", h).with_state("seen_next", "seen", seen)
}

fn x(tensor: &Tensor) -> Inputs {
    Inputs::new().with_tensor("x", tensor.clone())
}

fn session(device: &Device, bytes: Vec<u8>) -> Session {
    Session::new(device, Model::from_bytes(bytes).unwrap())
}

/// Inputs of changing shapes.
fn inputs() -> Vec<Tensor> {
    [1, 1, 2, 1, 3, 2, 2, 1, 1]
        .into_iter()
        .zip(0..)
        .map(|(count, seed)| rows(count, seed))
        .collect()
}

fn states_agree_with_round_trips(device: &Device) {
    let session = session(device, recurrent());
    let expected = round_trips(&session, &inputs());
    let mut binding = states(device);
    // The second time starts from the beginning and reuses tensors and recordings.
    for _ in 0..2 {
        for (given, expected) in inputs().iter().zip(&expected) {
            let outputs = session.run_bound(&mut binding, &x(given)).unwrap();
            assert_eq!(outputs.iter().map(name).collect::<Vec<&str>>(), ["y"]);
            assert_eq!(tensors(&outputs), expected[..1]);
        }
        let last = expected.last().unwrap();
        for (state, expected) in ["h", "seen"].into_iter().zip(&last[1..]) {
            assert_eq!(binding.input(state).unwrap().read().unwrap(), *expected);
        }
        binding.reset();
    }
    assert_eq!(session.compiled_count(), 3);
}

#[test]
fn states_have_the_bits_of_round_trips_through_the_host() {
    on_every_device(states_agree_with_round_trips);
}

#[test]
fn states_need_no_copies() {
    let cap = CapabilityCap::NONE.without_transfer_usage();
    on_every_device_under(cap, states_agree_with_round_trips);
}

#[test]
fn two_bindings_of_a_session_have_states_of_their_own() {
    on_every_device(|device| {
        let session = session(device, recurrent());
        let all = inputs();
        let later = &all[2..];
        let expected = [round_trips(&session, &all), round_trips(&session, later)];
        let mut bindings = [states(device), states(device)];
        for step in 0..later.len() {
            for (which, inputs) in [&all[..], later].iter().enumerate() {
                let outputs = session.run_bound(&mut bindings[which], &x(&inputs[step])).unwrap();
                assert_eq!(tensors(&outputs), expected[which][step][..1], "{which} {step}");
            }
        }
    });
}

#[test]
fn what_is_held_is_not_written() {
    on_every_device(|device| {
        let session = session(device, recurrent());
        let all = inputs();
        let expected = round_trips(&session, &all);
        let mut binding = states(device).with_output("y");
        let (mut held, mut snapshot) = (vec![], None);
        for (step, given) in all.iter().enumerate() {
            assert!(session.run_bound(&mut binding, &x(given)).unwrap().is_empty());
            held.push(binding.output("y").unwrap().clone());
            if step == 3 {
                snapshot = Some(["h", "seen"].map(|it| binding.input(it).unwrap().clone()));
            }
        }
        for (held, expected) in held.iter().zip(&expected) {
            assert_eq!(held.read().unwrap(), expected[0]);
        }
        // A state continues from the value it is set to.
        let [h, seen] = snapshot.unwrap();
        binding.set_input("h", h);
        binding.set_input("seen", seen);
        for (given, expected) in all[4..].iter().zip(&expected[4..]) {
            session.run_bound(&mut binding, &x(given)).unwrap();
            assert_eq!(binding.output("y").unwrap().read().unwrap(), expected[0]);
        }
    });
}

/// Like the past of an attention: each run appends to it.
#[test]
fn a_state_may_grow() {
    let graph = Graph {
        nodes: vec![
            node("Concat", &["past", "x"], &["all"], &[("axis", 0)]),
            node("ReduceSum", &["all", "axes"], &["y"], &[("keepdims", 0)]),
        ],
        initializers: vec![initializer("axes", &[1], &[0])],
        inputs: vec![value("past", 1, &[None, Some(2)]), value("x", 1, &[None, Some(2)])],
        outputs: vec![value("y", 1, &[]), value("all", 1, &[])],
    };
    let bytes = model(13, graph);
    on_every_device(|device| {
        let session = session(device, bytes.clone());
        let none = on(device, &f32s(&[0, 2], &[]));
        let mut binding = IoBinding::new().with_state("all", "past", none);
        for step in 1..=20u8 {
            let given = f32s(&[1, 2], &[f32::from(step), 1.0]);
            let outputs = session.run_bound(&mut binding, &x(&given)).unwrap();
            let sum: u8 = (1..=step).sum();
            assert_eq!(tensors(&outputs), [f32s(&[2], &[f32::from(sum), f32::from(step)])]);
        }
        assert_eq!(binding.input("past").unwrap().shape(), [20, 2]);
    });
}

/// Outputs that no operator writes in a run: an input, a constant, and a result of weights.
#[test]
fn every_output_can_stay_on_the_device() {
    let graph = Graph {
        nodes: vec![
            node("Identity", &["x"], &["same"], &[]),
            node("Reshape", &["x", "shape"], &["row"], &[]),
            node("Identity", &["c"], &["constant"], &[]),
            node("MatMul", &["w", "w"], &["once"], &[]),
            node("Add", &["x", "x"], &["twice"], &[]),
            node("Identity", &["twice"], &["also"], &[]),
            node("Slice", &["twice", "zero", "zero", "zero"], &["none"], &[]),
        ],
        initializers: vec![
            initializer("shape", &[2], &[1, 2]),
            initializer("zero", &[1], &[0]),
            floats("c", &[1], &[7.0]),
            floats("w", &[300, 300], &[0.5; 90_000]),
        ],
        inputs: vec![value("x", 1, &[Some(2)])],
        outputs: ["same", "row", "constant", "once", "twice", "also", "none"]
            .map(|it| value(it, 1, &[]))
            .into(),
    };
    let bytes = model(13, graph);
    on_every_device(|device| {
        let session = session(device, bytes.clone());
        for number in [1.0, 2.0] {
            let given = f32s(&[2], &[number, -number]);
            let expected = session.run(&x(&given)).unwrap();
            for is_bound in [false, true] {
                let mut binding = expected
                    .iter()
                    .fold(IoBinding::new(), |it, output| it.with_output(name(output)));
                let mut inputs = x(&given);
                if is_bound {
                    binding.set_input("x", on(device, &given));
                    inputs = Inputs::new();
                }
                for _ in 0..3 {
                    assert!(session.run_bound(&mut binding, &inputs).unwrap().is_empty());
                    for output in &expected {
                        let found = binding.output(name(output)).unwrap().read().unwrap();
                        assert_eq!(found, output.tensor, "{} {is_bound}", name(output));
                    }
                }
                if is_bound {
                    let mut binding = IoBinding::new().with_input("x", on(device, &given));
                    let found = session.run_bound(&mut binding, &Inputs::new()).unwrap();
                    assert_eq!(tensors(&found), tensors(&expected));
                }
            }
        }
    });
}

/// A state that a model returns unchanged, and a state that becomes two inputs.
#[test]
fn states_may_be_inputs_and_shared() {
    let graph = Graph {
        nodes: vec![
            node("Identity", &["a"], &["a_next"], &[]),
            node("Add", &["b", "c"], &["sum"], &[]),
            node("Add", &["sum", "a"], &["b_next"], &[]),
            node("Identity", &["b_next"], &["y"], &[]),
        ],
        inputs: ["a", "b", "c"].map(|it| value(it, 1, &[Some(1)])).into(),
        outputs: ["y", "a_next", "b_next"].map(|it| value(it, 1, &[])).into(),
        ..Graph::default()
    };
    let bytes = model(13, graph);
    on_every_device(|device| {
        let session = session(device, bytes.clone());
        let one = on(device, &f32s(&[1], &[1.0]));
        let mut binding = IoBinding::new()
            .with_state("a_next", "a", one.clone())
            .with_state("b_next", "b", one.clone())
            .with_state("b_next", "c", one.clone());
        let mut expected = 1.0;
        for _ in 0..6 {
            expected = expected + expected + 1.0;
            let outputs = session.run_bound(&mut binding, &Inputs::new()).unwrap();
            assert_eq!(tensors(&outputs), [f32s(&[1], &[expected])]);
        }
        assert_eq!(one.read().unwrap(), f32s(&[1], &[1.0]));
    });
}

#[test]
fn the_output_of_one_model_is_the_input_of_another() {
    on_every_device(|device| {
        let [first, second] = [(); 2].map(|()| session(device, recurrent()));
        let all = inputs();
        let mut from = states(device).with_output("seen_next");
        let mut to = states(device);
        for given in &all {
            first.run_bound(&mut from, &x(given)).unwrap();
            let seen = from.output("seen_next").unwrap().clone();
            to.set_input("seen", seen.clone());
            let expected = Inputs::new()
                .with_tensor("x", given.clone())
                .with_tensor("h", to.input("h").unwrap().read().unwrap())
                .with_tensor("seen", seen.read().unwrap());
            let expected = tensors(&second.run(&expected).unwrap());
            let found = second.run_bound(&mut to, &x(given)).unwrap();
            assert_eq!(tensors(&found), expected[..1]);
        }
    });
}

#[test]
fn a_tensor_may_be_in_a_callers_buffer() {
    on_every_device(|device| {
        let (session, all) = (session(device, recurrent()), inputs());
        let expected = round_trips(&session, &all[..1]);
        let buffer = device.create_buffer(1024).unwrap();
        device.vulkan().write_buffer(&buffer, 0, all[0].bytes()).unwrap();
        let bound = |shape: &[u64]| {
            DeviceTensor::from_buffer(device, ElementType::FLOAT32, shape, buffer.clone())
        };
        let mut binding = states(device).with_input("x", bound(all[0].shape()).unwrap());
        let found = session.run_bound(&mut binding, &Inputs::new()).unwrap();
        assert_eq!(tensors(&found), expected[0][..1]);
        let error = bound(&[100, 3]).unwrap_err().to_string();
        let message =
            "a buffer of 1024 bytes is given for float32 [100, 3]; accepted: 1200 or more";
        assert_eq!(error, message);
    });
}

#[test]
fn what_does_not_fit_is_named() {
    on_every_device(|device| {
        let session = session(device, recurrent());
        let given = || x(&rows(1, 0));
        let refused = |mut binding: IoBinding, inputs: &Inputs| {
            session.run_bound(&mut binding, inputs).unwrap_err().kind().to_string()
        };
        let [h, _] = initial().map(|initial| on(device, &initial));
        let error = refused(states(device).with_output("z"), &given());
        let message = "unknown output 'z'; the model's outputs are: y, next, seen_next";
        assert_eq!(error, message);
        let error = refused(states(device).with_input("z", h.clone()), &given());
        assert_eq!(error, "unknown input 'z'; the model's inputs are: x, h, seen");
        let error = refused(states(device).with_state("next", "z", h.clone()), &given());
        assert_eq!(error, "unknown input 'z'; the model's inputs are: x, h, seen");
        let error = refused(states(device).with_state("z", "h", h.clone()), &given());
        assert_eq!(error, message);
        let error = refused(states(device), &given().with_tensor("h", initial()[0].clone()));
        let message = "input 'h': must not be given: the input is bound to a device tensor, which \
                       `IoBinding::set_input` replaces";
        assert_eq!(error, message);
        let whole = on(device, &int64(&[1, 5], &[0; 5]));
        let error = refused(states(device).with_input("h", whole), &given());
        let message = "input 'h': int64 [1, 5] is not of the declared type; accepted: float32";
        assert_eq!(error, message);
        // The model declares the shape of h.
        let wide = on(device, &f32s(&[1, 6], &[0.0; 6]));
        let error = refused(states(device).with_input("h", wide), &given());
        assert!(error.starts_with("input 'h': [1, 6] is not"), "{error}");
        // A state with a type that its input does not accept is detected when the next run reads it.
        let mut binding = states(device).with_state("seen_next", "h", h);
        session.run_bound(&mut binding, &given()).unwrap();
        let error = session.run_bound(&mut binding, &given()).unwrap_err().to_string();
        assert!(error.contains("input 'h': [2, 5] is not"), "{error}");
        let executable = session.executable(&states_given()).unwrap();
        let error = executable.run_bound(&mut binding, &given()).unwrap_err().to_string();
        let message = "input 'h': [2, 5] is not the shape that was bound; accepted: [1, 5]";
        assert_eq!(error, message);
    });
}

/// The host inputs of the program for one row.
fn states_given() -> Inputs {
    let [h, seen] = initial();
    x(&rows(1, 0)).with_tensor("h", h).with_tensor("seen", seen)
}

#[test]
fn what_the_host_reads_cannot_be_on_the_device() {
    let graph = Graph {
        nodes: vec![
            node("Expand", &["x", "shape"], &["e"], &[]),
            node("Relu", &["e"], &["y"], &[]),
            node("Cast", &["x"], &["shape_next"], &[("to", 7)]),
        ],
        inputs: vec![value("x", 1, &[None]), value("shape", 7, &[None])],
        outputs: vec![value("y", 1, &[]), value("shape_next", 7, &[])],
        ..Graph::default()
    };
    let bytes = model(13, graph);
    let message = "input 'shape': a tensor on the device cannot be bound: the host needs its values, \
                   since shapes or operators depend on them; accepted: values for each run";
    on_every_device(|device| {
        let session = session(device, bytes.clone());
        let shape = int64(&[1], &[2]);
        let mut binding = IoBinding::new().with_input("shape", on(device, &shape));
        let given = x(&f32s(&[1], &[1.0]));
        let error = session.run_bound(&mut binding, &given).unwrap_err();
        assert_eq!(error.kind().to_string(), message);
        let executable = session.executable(&given.clone().with_tensor("shape", shape)).unwrap();
        let error = executable.run_bound(&mut binding, &given).unwrap_err();
        assert_eq!(error.to_string(), message);
        // A state must have the type of the input that it becomes.
        let state = on(device, &f32s(&[1], &[1.0]));
        let mut binding = IoBinding::new().with_state("shape_next", "x", state);
        let inputs = Inputs::new().with_tensor("shape", int64(&[1], &[1]));
        let error = session.run_bound(&mut binding, &inputs).unwrap_err().to_string();
        let message = "output 'shape_next': int64 is not the type of input 'x', which it becomes; \
                       accepted: float32";
        assert_eq!(error, message);
    });
}

/// Long rows, which are copied, from a caller's buffer without transfer usage.
#[test]
fn a_callers_buffer_may_have_storage_usage_alone() {
    let graph = Graph {
        nodes: vec![
            node("Concat", &["a", "b"], &["c"], &[("axis", 0)]),
            node("Softmax", &["c"], &["y"], &[]),
        ],
        inputs: ["a", "b"].map(|it| value(it, 1, &[None, Some(4096)])).into(),
        outputs: ["c", "y"].map(|it| value(it, 1, &[])).into(),
        ..Graph::default()
    };
    let bytes = model(13, graph);
    on_every_device(|device| {
        let session = session(device, bytes.clone());
        let row = |first: u16| {
            let numbers: Vec<f32> = (0..4096u16).map(|it| f32::from((it + first) % 7)).collect();
            f32s(&[1, 4096], &numbers)
        };
        let [a, b] = [1, 3].map(row);
        let given = Inputs::new().with_tensor("a", a.clone()).with_tensor("b", b.clone());
        let expected = tensors(&session.run(&given).unwrap());
        let desc = BufferDesc {
            size: 4 * 4096,
            usage: BufferUsage::STORAGE,
            location: MemoryLocation::Readback,
            name: "caller's",
        };
        let buffer = device.vulkan().create_buffer(&desc).unwrap();
        device.vulkan().write_buffer(&buffer, 0, a.bytes()).unwrap();
        let tensor = DeviceTensor::from_buffer(device, ElementType::FLOAT32, [1, 4096], buffer);
        let mut binding = IoBinding::new().with_input("a", tensor.unwrap());
        let inputs = Inputs::new().with_tensor("b", b);
        assert_eq!(tensors(&session.run_bound(&mut binding, &inputs).unwrap()), expected);
    });
}
