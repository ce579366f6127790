//! Data-dependent shapes and conditions: a session reads them back from the device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::onnx::{Graph, Message, bind, floats, initializer, model, node, repeated, value};
use common::{f32s, int64, tensors};
use dml::Device;
use dml_import::{DeviceTensor, Inputs, IoBinding, Model, NodeSupport, Session, Tensor};

/// A true condition.
fn on() -> Message {
    Message::default().int(2, 9).text(8, "on").bytes(9, &[1])
}

fn read(graph: Graph) -> Model {
    Model::from_bytes(model(22, graph)).unwrap()
}

fn run(session: &Session, x: &[f32]) -> Vec<Tensor> {
    let inputs = Inputs::new().with_tensor("x", f32s(&[x.len() as u64], x));
    tensors(&session.run(&inputs).unwrap())
}

/// The elements of `x` whose square exceeds 4, and their indices.
fn selection() -> Graph {
    Graph {
        nodes: vec![
            node("Mul", &["x", "x"], &["squares"], &[]),
            node("Greater", &["squares", "four"], &["is_far"], &[]),
            node("NonZero", &["is_far"], &["at"], &[]),
            node("Transpose", &["at"], &["places"], &[]),
            node("GatherND", &["x", "places"], &["far"], &[]),
        ],
        initializers: vec![floats("four", &[], &[4.0])],
        inputs: vec![value("x", 1, &[None])],
        outputs: vec![value("at", 7, &[]), value("far", 1, &[])],
    }
}

#[test]
fn an_output_has_as_many_elements_as_the_device_selects() {
    on_every_device(|device| {
        let session = Session::new(device, read(selection()));
        let selected = |x: &[f32], at: &[i64]| {
            let far: Vec<f32> = at.iter().map(|at| x[usize::try_from(*at).unwrap()]).collect();
            let count = at.len() as u64;
            assert_eq!(run(&session, x), [int64(&[1, count], at), f32s(&[count], &far)], "{x:?}");
        };
        selected(&[1.0, 3.0, -5.0, 0.0], &[1, 2]);
        selected(&[1.0, 3.0, -5.0, 2.5], &[1, 2, 3]);
        selected(&[0.0, 0.0, 0.0, 0.0], &[]);
        let compiled = session.compiled_count();
        // A program for these answers exists already.
        selected(&[4.0, 3.0, -2.0, 0.0], &[0, 1]);
        selected(&[4.0, 3.0, -9.0, 0.0], &[0, 1, 2]);
        assert_eq!(session.compiled_count(), compiled);
        selected(&[4.0, 3.0, -9.0], &[0, 1, 2]);
        assert!(session.compiled_count() > compiled);
    });
}

/// A loop without a trip count that doubles `t` until its sum is at least 20, and collects its values.
fn collecting() -> Graph {
    let below = |sum: &str, of: &str, go: &str| {
        let sums = node("ReduceSum", &[of], &[sum], &[("keepdims", 0)]);
        [sums, node("Less", &[sum, "end"], &[go], &[])]
    };
    let mut nodes = vec![node("Add", &["t", "t"], &["t2"], &[])];
    nodes.extend(below("s", "t2", "go"));
    let body = Graph {
        nodes,
        inputs: vec![value("i", 7, &[]), value("on", 9, &[]), value("t", 1, &[])],
        outputs: vec![value("go", 9, &[]), value("t2", 1, &[]), value("t2", 1, &[])],
        ..Graph::default()
    };
    let mut nodes = below("first", "x", "c").to_vec();
    nodes.push(repeated("Loop", &["", "c", "x"], &["y", "all"], body, &[]));
    Graph {
        nodes,
        initializers: vec![floats("end", &[], &[20.0])],
        inputs: vec![value("x", 1, &[Some(1)])],
        outputs: vec![value("y", 1, &[]), value("all", 1, &[])],
    }
}

#[test]
fn a_loop_ends_and_collects_by_a_condition_of_the_device_alone() {
    on_every_device(|device| {
        let session = Session::new(device, read(collecting()));
        for first in [0.01f32, 30.0, 7.0, 0.3, 0.01, f32::NAN] {
            let (mut t, mut all) = (first, vec![]);
            while t < 20.0 {
                t += t;
                all.push(t);
            }
            let found = run(&session, &[first]);
            assert_eq!(found[0].bytes(), t.to_le_bytes(), "{first}");
            assert_eq!(found[1], f32s(&[all.len() as u64, 1], &all), "{first}");
        }
    });
}

/// A state that grows until the device's condition says that it is long enough.
#[test]
fn what_a_loop_hands_on_may_grow() {
    let body = Graph {
        nodes: vec![
            node("Concat", &["t", "t"], &["t2"], &[("axis", 0)]),
            node("ReduceSum", &["t2"], &["s"], &[("keepdims", 0)]),
            node("Less", &["s", "end"], &["go"], &[]),
        ],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[]), value("t", 1, &[])],
        outputs: vec![value("go", 9, &[]), value("t2", 1, &[])],
        ..Graph::default()
    };
    let graph = Graph {
        nodes: vec![repeated("Loop", &["m", "on", "x"], &["y"], body, &[])],
        initializers: vec![floats("end", &[], &[20.0]), initializer("m", &[], &[100]), on()],
        inputs: vec![value("x", 1, &[Some(1)])],
        outputs: vec![value("y", 1, &[])],
    };
    on_every_device(|device| {
        let session = Session::new(device, read(graph.clone()));
        assert_eq!(run(&session, &[3.0]), [f32s(&[8], &[3.0; 8])]);
        assert_eq!(run(&session, &[8.0]), [f32s(&[4], &[8.0; 4])]);
    });
}

/// Branches of different shapes: errors of the branch that is not taken do not matter.
#[test]
fn branches_of_different_shapes_are_chosen_by_what_the_device_computes() {
    let branch = |name: &str, op: &str, inputs: &[&str]| {
        let graph = Graph {
            nodes: vec![node(op, inputs, &["t"], &[])],
            outputs: vec![value("t", 1, &[])],
            ..Graph::default()
        };
        Message::default().text(1, name).message(6, graph.message()).int(20, 5)
    };
    let choose = node("If", &["c"], &["y"], &[])
        .message(5, branch("then_branch", "Unknown", &["x"]))
        .message(5, branch("else_branch", "Unsqueeze", &["x", "axes"]));
    let graph = Graph {
        nodes: vec![
            node("ReduceSum", &["x"], &["sum"], &[("keepdims", 0)]),
            node("Less", &["sum", "zero"], &["c"], &[]),
            choose,
        ],
        initializers: vec![floats("zero", &[], &[0.0]), initializer("axes", &[1], &[0])],
        inputs: vec![value("x", 1, &[None])],
        outputs: vec![value("y", 1, &[])],
    };
    on_every_device(|device| {
        let session = Session::new(device, read(graph.clone()));
        assert_eq!(run(&session, &[1.0, 2.0]), [f32s(&[1, 2], &[1.0, 2.0])]);
        let inputs = Inputs::new().with_tensor("x", f32s(&[2], &[1.0, -2.0]));
        let error = session.run(&inputs).unwrap_err().to_string();
        assert!(error.ends_with("this runtime has no operator for it"), "{error}");
        assert_eq!(run(&session, &[3.0, 2.0]), [f32s(&[1, 2], &[3.0, 2.0])]);
    });
}

/// A Range up to a limit that the device computes, and a slice of `x` that starts there.
#[test]
fn sizes_and_bounds_may_be_what_a_device_computes() {
    let graph = Graph {
        nodes: vec![
            node("ReduceSum", &["x"], &["sum"], &[("keepdims", 0)]),
            node("Cast", &["sum"], &["n"], &[("to", 7)]),
            node("Range", &["zero", "n", "one"], &["numbers"], &[]),
            node("Unsqueeze", &["n", "axes"], &["from"], &[]),
            node("Slice", &["x", "from", "end"], &["rest"], &[]),
        ],
        initializers: vec![
            initializer("zero", &[], &[0]),
            initializer("one", &[], &[1]),
            initializer("axes", &[1], &[0]),
            initializer("end", &[1], &[100]),
        ],
        inputs: vec![value("x", 1, &[None])],
        outputs: vec![value("numbers", 7, &[]), value("rest", 1, &[])],
    };
    on_every_device(|device| {
        let session = Session::new(device, read(graph.clone()));
        assert_eq!(run(&session, &[1.0, 1.5, 0.0]), [int64(&[2], &[0, 1]), f32s(&[1], &[0.0])]);
        assert_eq!(run(&session, &[1.0, -1.0]), [int64(&[0], &[]), f32s(&[2], &[1.0, -1.0])]);
    });
}

#[test]
fn a_state_on_the_device_is_what_it_was_until_a_run_is_right() {
    let state = |device: &Device, values: &[f32]| {
        DeviceTensor::new(device, &f32s(&[values.len() as u64], values)).unwrap()
    };
    on_every_device(|device| {
        let session = Session::new(device, read(collecting()));
        let mut binding = IoBinding::new().with_state("y", "x", state(device, &[3.0]));
        let all = |binding: &mut IoBinding| {
            tensors(&session.run_bound(binding, &Inputs::new()).unwrap()).remove(0)
        };
        assert_eq!(all(&mut binding), f32s(&[3, 1], &[6.0, 12.0, 24.0]));
        assert_eq!(all(&mut binding), f32s(&[0, 1], &[]));
        binding.reset();
        assert_eq!(all(&mut binding), f32s(&[3, 1], &[6.0, 12.0, 24.0]));
        assert_eq!(binding.output("y").unwrap().read().unwrap(), f32s(&[1], &[24.0]));
    });
}

#[test]
fn a_program_alone_is_refused_and_one_that_is_outdated_says_so() {
    let inputs = |x: &[f32]| Inputs::new().with_tensor("x", f32s(&[3], x));
    let device_only = Graph {
        nodes: vec![
            node("ReduceSum", &["x"], &["sum"], &[("keepdims", 1)]),
            node("NonZero", &["sum"], &["y"], &[]),
        ],
        inputs: vec![value("x", 1, &[None])],
        outputs: vec![value("y", 7, &[])],
        ..Graph::default()
    };
    let error = bind(device_only.clone(), &inputs(&[1.0, 2.0, 3.0])).unwrap_err();
    let reason =
        "ReduceSum 'sum': not supported: shapes depend on it, and only a device computes it";
    assert!(error.ends_with(reason), "{error}");
    assert!(read(device_only.clone()).needs_session(&inputs(&[1.0, 2.0, 3.0])));
    on_every_device(|device| {
        let session = Session::new(device, read(device_only.clone()));
        session.run(&inputs(&[1.0, 2.0, 3.0])).unwrap();
        let executable = session.executable(&inputs(&[0.0, 0.0, 0.0])).unwrap();
        assert!(executable.run(&inputs(&[4.0, 2.0, -5.0])).is_ok());
        let error = executable.run(&inputs(&[0.0, 0.0, 0.0])).unwrap_err().to_string();
        assert!(error.starts_with("NonZero 'y': input: "), "{error}");
        assert!(error.ends_with("or a session"), "{error}");
    });
}

/// A loop that never ends is refused by the limit on iterations.
#[test]
fn a_loop_without_an_end_is_refused() {
    let body = Graph {
        nodes: vec![
            node("Mul", &["t", "t"], &["t2"], &[]),
            node("Less", &["t2", "end"], &["go"], &[]),
        ],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[]), value("t", 1, &[])],
        outputs: vec![value("go", 9, &[]), value("t2", 1, &[])],
        ..Graph::default()
    };
    let graph = Graph {
        nodes: vec![repeated("Loop", &["", "on", "x"], &["y"], body, &[])],
        initializers: vec![floats("end", &[], &[20.0]), on()],
        inputs: vec![value("x", 1, &[])],
        outputs: vec![value("y", 1, &[])],
    };
    let x = Inputs::new().with_tensor("x", f32s(&[], &[0.5]));
    on_every_device(|device| {
        let error = Session::new(device, read(graph.clone())).run(&x).unwrap_err().to_string();
        assert!(
            error.ends_with("the host has to know more than 1024 values of the device"),
            "{error}"
        );
    });
}

/// Fifty independent selections, and one that depends on all of them.
#[test]
fn what_does_not_depend_on_each_other_is_read_together() {
    let limit = |at: i32| f32::from(i16::try_from(at).unwrap());
    let [limits, masks, places, sizes] =
        ["limit", "mask", "at", "size"].map(|it| (0..50).map(move |at| format!("{it}{at}")));
    let names: Vec<[String; 4]> = limits
        .zip(masks)
        .zip(places.zip(sizes))
        .map(|((limit, mask), (place, size))| [limit, mask, place, size])
        .collect();
    let mut nodes = vec![];
    for [limit, mask, place, size] in &names {
        nodes.push(node("Greater", &["x", limit], &[mask], &[]));
        nodes.push(node("NonZero", &[mask], &[place], &[]));
        nodes.push(node("Size", &[place], &[size], &[]));
    }
    let sizes: Vec<&str> = names.iter().map(|name| name[3].as_str()).collect();
    nodes.push(node("Sum", &sizes, &["y"], &[]));
    let graph = Graph {
        nodes,
        initializers: (0..).zip(&names).map(|(at, it)| floats(&it[0], &[], &[limit(at)])).collect(),
        inputs: vec![value("x", 1, &[None])],
        outputs: vec![value("y", 7, &[])],
    };
    on_every_device(|device| {
        let session = Session::new(device, read(graph.clone()));
        assert_eq!(run(&session, &[0.5, 10.5, 70.0]), [int64(&[], &[1 + 11 + 50])]);
        assert_eq!(session.compiled_count(), 2);
        assert_eq!(run(&session, &[0.5, 20.5, 70.0]), [int64(&[], &[1 + 21 + 50])]);
        assert_eq!(session.compiled_count(), 3);
    });
}

#[test]
fn a_report_says_what_only_a_run_knows() {
    let inputs = Inputs::new().with_shape("x", [3]);
    let report = read(selection()).inspect(&inputs).unwrap();
    let support = |operator: &str| {
        let node = report.nodes.iter().find(|node| node.node.operator == operator).unwrap();
        &node.support
    };
    assert!(matches!(support("Greater"), NodeSupport::Operator { .. }));
    for after in ["NonZero", "GatherND"] {
        let NodeSupport::AfterReading(reader) = support(after) else {
            panic!("{after}: {:?}", support(after))
        };
        assert_eq!(reader.operator, "NonZero");
    }
}
