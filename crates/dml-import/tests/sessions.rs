//! Sessions: models that run with inputs of many shapes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::num::NonZeroUsize;
use std::sync::Arc;

use common::device::on_every_device;
use common::onnx::{Graph, Message, floats, initializer, model, node, repeated, value};
use common::{host, int64, tensors};
use dml::Device;
use dml::vk::Recorder;
use dml_import::program::Step;
use dml_import::{DeviceTensor, ElementType, Inputs, IoBinding, Model, Session, Tensor};

fn f32s(shape: &[u64], first: f32) -> Tensor {
    let count: u64 = shape.iter().product();
    let values = (0..count).map(|it| first + (it % 7) as f32);
    Tensor::new(ElementType::FLOAT32, shape, values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
        .unwrap()
}

/// A network of `nodes` nodes of every kind that a device executes, over matrices of 8 columns.
fn network(nodes: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut last = "x".to_owned();
    for index in 0..nodes {
        let next = format!("v{index}");
        all.push(match index % 8 {
            0 => node("Add", &[&last, "w"], &[&next], &[]),
            1 => node("Relu", &[&last], &[&next], &[]),
            2 => node("Transpose", &[&last], &[&next], &[]),
            3 => node("Div", &[&last, "c"], &[&next], &[]),
            4 => node("Transpose", &[&last], &[&next], &[]),
            5 => node("Concat", &[&last, &last], &[&next], &[("axis", 0)]),
            6 => node("Clip", &[&last], &[&next], &[]),
            _ => node("Split", &[&last], &[&next, ""], &[("axis", 0)]),
        });
        last = next;
    }
    all.push(node("Identity", &[&last], &["y"], &[]));
    let weight: Vec<f32> = (0..8).map(|it| it as f32 / 4.0).collect();
    let initializers = vec![floats("w", &[8], &weight), floats("c", &[], &[2.0])];
    let nodes = all;
    let inputs = vec![value("x", 1, &[None, Some(8)])];
    let outputs = vec![value("y", 1, &[])];
    model(13, Graph { nodes, initializers, inputs, outputs })
}

#[test]
fn a_new_shape_of_a_large_model_makes_no_pipeline() {
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(network(400)).unwrap());
        let run = |rows| {
            let inputs = Inputs::new().with_tensor("x", f32s(&[rows, 8], -2.0));
            let found = tensors(&session.run(&inputs).unwrap());
            let program = session.model().bind(&inputs).unwrap();
            assert_eq!(found, tensors(&host::run(&program)), "{rows}");
        };
        // All classes of strides: even and odd numbers of rows and columns.
        [4, 5, 6, 7].into_iter().for_each(run);
        let made = device.vulkan().pipeline_count();
        [12, 13, 14, 15].into_iter().for_each(run);
        assert_eq!(device.vulkan().pipeline_count(), made);
    });
}

/// The number of submissions to the device while `work` ran.
fn submissions(device: &Device, work: impl FnOnce()) -> u64 {
    let value = || {
        let list = Recorder::new(device.vulkan()).unwrap().finish().unwrap();
        let submission = device.vulkan().submit(list).unwrap();
        submission.wait().unwrap();
        submission.timeline_value()
    };
    let before = value();
    work();
    value() - before - 1
}

#[test]
fn a_run_is_one_submission() {
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(network(40)).unwrap());
        let inputs = |first| Inputs::new().with_tensor("x", f32s(&[3, 8], first));
        session.run(&inputs(0.0)).unwrap();
        for first in [1.0, 2.0] {
            let given = inputs(first);
            let count = submissions(device, || drop(session.run(&given).unwrap()));
            assert_eq!(count, 1);
        }
    });
}

#[test]
fn programs_are_kept_by_shapes_and_by_values_that_count() {
    let nodes =
        vec![node("Expand", &["x", "shape"], &["e"], &[]), node("Relu", &["e"], &["y"], &[])];
    let inputs = vec![value("x", 1, &[None]), value("shape", 7, &[None])];
    let graph = Graph { nodes, inputs, outputs: vec![value("y", 1, &[])], ..Graph::default() };
    let bytes = model(13, graph);
    on_every_device(|device| {
        let model = Model::from_bytes(bytes.clone()).unwrap();
        let session = Session::new(device, model).with_capacity(NonZeroUsize::new(2).unwrap());
        let given = |first, rows| {
            let inputs = Inputs::new().with_tensor("x", f32s(&[2], first));
            inputs.with_tensor("shape", int64(&[2], &[rows, 1]))
        };
        let found = |first, rows| session.executable(&given(first, rows)).unwrap();
        let two = found(0.0, 2);
        assert!(Arc::ptr_eq(&two, &found(5.0, 2)), "values of x do not count");
        let three = found(0.0, 3);
        assert!(!Arc::ptr_eq(&two, &three), "values of shape count");
        assert!(Arc::ptr_eq(&two, &found(0.0, 2)));
        // The least recently used program is evicted.
        found(0.0, 4);
        assert_eq!(session.compiled_count(), 2);
        assert!(Arc::ptr_eq(&two, &found(0.0, 2)));
        assert!(!Arc::ptr_eq(&three, &found(0.0, 3)));
        // Values of an earlier run do not affect a later one.
        let outputs = session.run(&given(7.0, 2)).unwrap();
        assert_eq!(outputs[0].tensor.bytes()[..4], 7f32.to_le_bytes());
        let shapes = Inputs::new().with_shape("x", [2]).with_tensor("shape", int64(&[2], &[2, 1]));
        let error = session.run(&shapes).unwrap_err().to_string();
        assert_eq!(error, "input 'x': not given, and its values are needed");
    });
}

#[test]
fn weights_are_uploaded_once_for_all_shapes() {
    let nodes = vec![node("Add", &["x", "w"], &["y"], &[])];
    let weight: Vec<f32> = vec![1.0; 1 << 16];
    let graph = Graph {
        nodes,
        initializers: vec![floats("w", &[1 << 16], &weight)],
        inputs: vec![value("x", 1, &[None, Some(1)])],
        outputs: vec![value("y", 1, &[])],
    };
    let bytes = model(13, graph);
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(bytes.clone()).unwrap());
        let buffers = || device.vulkan().memory_report().buffers;
        let grows = |rows| {
            let before = buffers();
            let inputs = Inputs::new().with_shape("x", [rows, 1]);
            session.executable(&inputs).unwrap();
            buffers() - before
        };
        let first = grows(1);
        assert_eq!([grows(2), grows(3)], [first - 1; 2]);
    });
}

/// The weights are dequantized (bytes minus 128, times a scale) and multiplied by every input: they are
/// converted to floats and repacked before the first run.
#[test]
fn what_is_made_of_weights_alone_is_made_once() {
    const DEPTH: u32 = 48;
    const WIDTH: u32 = 36;
    let byte = |it: u32| u8::try_from(100 + it * 7 % 56).unwrap();
    let bytes: Vec<u8> = (0..DEPTH * WIDTH).map(byte).collect();
    let weight = Message::default().int(1, DEPTH.into()).int(1, WIDTH.into()).int(2, 2);
    let weight = weight.text(8, "w");
    let zero = Message::default().int(2, 2).text(8, "zero").bytes(9, &[128]);
    let graph = Graph {
        nodes: vec![
            node("DequantizeLinear", &["w", "scale", "zero"], &["dense"], &[]),
            node("MatMul", &["x", "dense"], &["y"], &[]),
        ],
        initializers: vec![weight.bytes(9, &bytes), floats("scale", &[], &[0.25]), zero],
        inputs: vec![value("x", 1, &[None, Some(DEPTH.into())])],
        outputs: vec![value("y", 1, &[])],
    };
    let model = model(13, graph);
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(model.clone()).unwrap());
        for (rows, first) in [(20, -3.0), (20, 1.0), (1, 2.0)] {
            let inputs = Inputs::new().with_tensor("x", f32s(&[rows, DEPTH.into()], first));
            let program = session.model().bind(&inputs).unwrap();
            let once = program.steps().iter().map(|step| match step {
                Step::Dispatch(dispatch) => Some(dispatch.once),
                _ => None,
            });
            assert_eq!(once.flatten().collect::<Vec<bool>>(), [true, false]);
            let found = tensors(&session.run(&inputs).unwrap());
            assert_eq!(found, tensors(&host::run(&program)), "{rows} {first}");
        }
    });
}

/// A result that no output needs is not computed before the first run.
#[test]
fn what_is_made_of_weights_for_no_output_is_not_made() {
    let weight = Message::default().int(1, 1 << 17).int(2, 2).text(8, "w").bytes(9, &[7; 1 << 17]);
    let graph = Graph {
        nodes: vec![
            node("DequantizeLinear", &["w", "scale"], &["dense"], &[]),
            node("Shape", &["dense"], &["shape"], &[]),
            node("Expand", &["x", "shape"], &["wide"], &[]),
            node("Relu", &["wide"], &["y"], &[]),
        ],
        initializers: vec![weight, floats("scale", &[], &[0.25])],
        inputs: vec![value("x", 1, &[Some(1)])],
        outputs: vec![value("y", 1, &[])],
    };
    let model = model(13, graph);
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(model.clone()).unwrap());
        let inputs = Inputs::new().with_tensor("x", f32s(&[1], 3.0));
        let program = session.model().bind(&inputs).unwrap();
        assert_eq!(program.operators().len(), 1);
        let found = tensors(&session.run(&inputs).unwrap());
        assert_eq!(found, [common::f32s(&[1 << 17], &vec![3.0; 1 << 17])]);
    });
}

/// Each trip count has a program of its own in the session.
#[test]
fn a_loop_of_another_trip_count_is_another_program() {
    let body = Graph {
        nodes: vec![node("Add", &["t", "x"], &["next"], &[])],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[]), value("t", 1, &[])],
        outputs: ["on", "next", "next"].map(|it| value(it, 1, &[])).into(),
        ..Graph::default()
    };
    let graph = Graph {
        nodes: vec![repeated("Loop", &["m", "", "x"], &["last", "all"], body, &[])],
        inputs: vec![value("x", 1, &[Some(1)]), value("m", 7, &[])],
        outputs: vec![value("last", 1, &[]), value("all", 1, &[])],
        ..Graph::default()
    };
    let bytes = model(16, graph);
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(bytes.clone()).unwrap());
        for (trips, x) in [(3, 2.0f32), (0, 1.0), (3, 0.5), (70, 1.0)] {
            let inputs = Inputs::new()
                .with_tensor("x", f32s(&[1], x))
                .with_tensor("m", int64(&[], &[trips]));
            let found = tensors(&session.run(&inputs).unwrap());
            let steps: Vec<u16> = (2..).take(usize::try_from(trips).unwrap()).collect();
            let all: Vec<f32> = steps.iter().map(|step| f32::from(*step) * x).collect();
            let last = all.last().copied().unwrap_or(x);
            let expected =
                [common::f32s(&[1], &[last]), common::f32s(&[all.len() as u64, 1], &all)];
            assert_eq!(found, expected, "{trips}");
        }
        assert_eq!(session.compiled_count(), 3);
    });
}

/// `y = x · w`, with 8-bit `w`, and `turns`, a table that depends on the number of rows of `x`: both `w` as
/// floats and the table are computed before the first run.
fn with_table() -> Vec<u8> {
    let weight = Message::default().int(1, 2).int(1, 2).int(2, 2).text(8, "w");
    let graph = Graph {
        nodes: vec![
            node("DequantizeLinear", &["w", "scale"], &["dense"], &[]),
            node("MatMul", &["x", "dense"], &["y"], &[]),
            node("Shape", &["x"], &["sizes"], &[]),
            node("Slice", &["sizes", "zero", "one"], &["rows"], &[]),
            node("Squeeze", &["rows", "zero"], &["count"], &[]),
            node("Range", &["first", "count", "step"], &["places"], &[]),
            node("Cast", &["places"], &["angles"], &[("to", 1)]),
            node("Unsqueeze", &["angles", "one"], &["column"], &[]),
            node("MatMul", &["column", "frequencies"], &["turns"], &[]),
        ],
        initializers: vec![
            weight.bytes(9, &[2, 4, 6, 8]),
            floats("scale", &[], &[0.5]),
            floats("frequencies", &[1, 3], &[0.5, 0.25, 1.0]),
            initializer("zero", &[1], &[0]),
            initializer("one", &[1], &[1]),
            initializer("first", &[], &[0]),
            initializer("step", &[], &[1]),
        ],
        inputs: vec![value("x", 1, &[None, Some(2)])],
        outputs: ["y", "dense", "turns"].map(|it| value(it, 1, &[])).into(),
    };
    model(13, graph)
}

#[test]
fn programs_share_what_is_made_of_weights_and_not_what_follows_from_a_shape() {
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(with_table()).unwrap());
        let run = |rows: u16| {
            let mut binding = IoBinding::new().with_output("dense").with_output("turns");
            let x = common::f32s(&[rows.into(), 2], &vec![1.0; usize::from(rows) * 2]);
            let inputs = Inputs::new().with_tensor("x", x);
            let outputs = tensors(&session.run_bound(&mut binding, &inputs).unwrap());
            let y = [4.0, 6.0].repeat(rows.into());
            assert_eq!(outputs, [common::f32s(&[rows.into(), 2], &y)]);
            let [dense, turns] =
                ["dense", "turns"].map(|name| binding.output(name).unwrap().clone());
            assert_eq!(dense.read().unwrap(), common::f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
            let table = (0..rows).flat_map(|it| [0.5, 0.25, 1.0].map(|by| f32::from(it) * by));
            let table: Vec<f32> = table.collect();
            assert_eq!(turns.read().unwrap(), common::f32s(&[rows.into(), 3], &table));
            (dense, turns)
        };
        let [one, two, again] = [2, 5, 2].map(run);
        let raw = |tensor: &DeviceTensor| tensor.buffer().unwrap().raw();
        assert_eq!([raw(&two.0), raw(&again.0)], [raw(&one.0); 2]);
        assert_eq!(raw(&again.1), raw(&one.1), "the program of 2 rows is still there");
        assert_ne!(raw(&two.1), raw(&one.1));
    });
}

/// The bytes of a weight that is converted to floats before the first run are freed afterwards.
#[test]
fn weights_that_runs_do_not_read_are_given_back() {
    const WIDTH: i64 = 512;
    let count = usize::try_from(WIDTH * WIDTH).unwrap();
    let weight = Message::default().int(1, WIDTH).int(1, WIDTH).int(2, 2).text(8, "w");
    let graph = Graph {
        nodes: vec![
            node("DequantizeLinear", &["w", "scale"], &["dense"], &[]),
            node("Add", &["x", "dense"], &["y"], &[]),
        ],
        initializers: vec![weight.bytes(9, &vec![3; count]), floats("scale", &[], &[0.5])],
        inputs: vec![value("x", 1, &[Some(1)])],
        outputs: vec![value("y", 1, &[])],
    };
    let bytes = model(13, graph);
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(bytes.clone()).unwrap());
        let allocated = || device.vulkan().memory_report().allocated;
        let before = allocated();
        session.executable(&Inputs::new().with_shape("x", [1])).unwrap();
        let floats = 4 * count as u64;
        // The remainder is less than the bytes of the weight.
        let more = allocated() - before - floats;
        assert!(more < count as u64, "{more} bytes");
    });
}

/// A mask that tells the number of tokens of each row, as in exported decoders. The device adds it up, so that
/// all masks of one shape share a program.
#[test]
fn masks_of_one_shape_are_one_program() {
    let graph = Graph {
        nodes: vec![
            node("ReduceSum", &["mask", "axes"], &["sum"], &[("keepdims", 1)]),
            node("Sub", &["sum", "axes"], &["last"], &[]),
            node("Cast", &["last"], &["y"], &[("to", 6)]),
        ],
        initializers: vec![initializer("axes", &[1], &[1])],
        inputs: vec![value("mask", 7, &[None, None])],
        outputs: vec![value("y", 6, &[])],
    };
    let bytes = model(17, graph);
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(bytes.clone()).unwrap());
        let masks = [[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1], [0; 6]];
        let lasts: [[i32; 2]; 4] = [[2, 2], [1, 2], [0, 0], [-1, -1]];
        for (mask, expected) in masks.iter().zip(lasts) {
            let inputs = Inputs::new().with_tensor("mask", int64(&[2, 3], mask));
            let found = tensors(&session.run(&inputs).unwrap());
            let bytes: Vec<u8> = expected.iter().flat_map(|it| it.to_le_bytes()).collect();
            assert_eq!(found, [Tensor::new(ElementType::INT32, [2, 1], bytes).unwrap()]);
        }
        assert_eq!(session.compiled_count(), 1);
    });
}
