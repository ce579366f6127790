//! If and Loop whose conditions a device computes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::onnx::{Graph, Message, bind, floats, initializer, node, repeated, value};
use common::{f32s, host, int64, run, tensors, truth};
use dml_import::{ElementType, Inputs, Tensor};

/// An If whose condition a device computes from a sum of floats.
fn if_of_a_sum(shapes: [&[i64]; 2]) -> Graph {
    let branch = |name: &str, sign: &str, shape: &[i64]| {
        let rank = i64::try_from(shape.len()).unwrap();
        let graph = Graph {
            nodes: vec![
                node(sign, &["x"], &["signed"], &[]),
                node("Reshape", &["signed", "shape"], &["t"], &[]),
                node("Greater", &["t", "x"], &["u"], &[]),
            ],
            initializers: vec![initializer("shape", &[rank], shape)],
            outputs: vec![value("t", 1, &[]), value("u", 9, &[])],
            ..Graph::default()
        };
        Message::default().text(1, name).message(6, graph.message()).int(20, 5)
    };
    let choose = node("If", &["c"], &["y", "z"], &[])
        .message(5, branch("then_branch", "Neg", shapes[0]))
        .message(5, branch("else_branch", "Identity", shapes[1]));
    Graph {
        nodes: vec![
            node("ReduceSum", &["x"], &["sum"], &[("keepdims", 1)]),
            node("Less", &["sum", "zero"], &["c"], &[]),
            choose,
        ],
        initializers: vec![floats("zero", &[], &[0.0])],
        inputs: vec![value("x", 1, &[Some(2)])],
        outputs: vec![value("y", 1, &[]), value("z", 9, &[])],
    }
}

#[test]
fn a_device_selects_between_branches_by_its_own_condition() {
    for values in [[1.0, -3.0], [-1.0, 3.0]] {
        let inputs = Inputs::new().with_tensor("x", f32s(&[2], &values));
        let program = bind(if_of_a_sum([&[2], &[2]]), &inputs).unwrap();
        assert!(!program.inputs()[0].fixed, "other values are the same program");
        let is_negative = values[0] + values[1] < 0.0;
        let expected = if is_negative { values.map(|value| -value) } else { values };
        let greater = expected.iter().zip(values).map(|(y, x)| u8::from(*y > x));
        let greater = Tensor::new(ElementType::Bool, [2], greater.collect::<Vec<u8>>()).unwrap();
        let expected = [f32s(&[2], &expected), greater];
        assert_eq!(tensors(&host::run(&program)), expected);
        on_every_device(|device| assert_eq!(tensors(&run(device, &program)), expected));
    }
    let inputs = Inputs::new().with_tensor("x", f32s(&[2], &[1.0, 2.0]));
    let error = bind(if_of_a_sum([&[2], &[2, 1]]), &inputs).unwrap_err();
    let message = "If 'y': not supported: its condition is computed by a device, which can select between \
                   outputs of one type and shape; the branches give float32 [2] and float32 [2, 1]";
    assert!(error.contains(message), "{error}");
}

/// A loop that doubles `t` while its sum, which a device computes, is below 20; `n` counts the iterations, and
/// `odd` tells whether their number is odd.
fn doubling(collected: &[&str], trips: &str) -> Graph {
    let below = |sum: &str, of: &str, go: &str| {
        let sums = node("ReduceSum", &[of], &[sum], &[("keepdims", 1)]);
        [sums, node("Less", &[sum, "end"], &[go], &[])]
    };
    let carried = ["t", "n", "odd"];
    let next = ["go", "t2", "n2", "odd2"];
    let kinds = [9, 1, 7, 9];
    let mut nodes = vec![
        node("Add", &["t", "t"], &["t2"], &[]),
        node("Add", &["n", "one"], &["n2"], &[]),
        node("Not", &["odd"], &["odd2"], &[]),
    ];
    nodes.extend(below("s", "t2", "go"));
    let inputs = [value("i", 7, &[]), value("on", 9, &[])].into_iter();
    let own = carried.iter().zip(&kinds[1..]).map(|(it, kind)| value(it, *kind, &[]));
    let results = next.iter().zip(&kinds).map(|(it, kind)| value(it, *kind, &[]));
    let body = Graph {
        nodes,
        inputs: inputs.chain(own).collect(),
        outputs: results.chain(collected.iter().map(|it| value(it, 1, &[]))).collect(),
        ..Graph::default()
    };
    let all: Vec<&str> = ["y", "count", "is_odd"].into_iter().chain(collected.to_vec()).collect();
    let mut nodes = below("first", "x", "c").to_vec();
    nodes.push(repeated("Loop", &[trips, "c", "x", "zero", "even"], &all, body, &[]));
    let even = Message::default().int(2, 9).text(8, "even").bytes(9, &[0]);
    let counts = [("m", 5), ("zero", 0), ("one", 1)];
    let counts = counts.map(|(name, count)| initializer(name, &[], &[count]));
    Graph {
        nodes,
        initializers: counts.into_iter().chain([even, floats("end", &[], &[20.0])]).collect(),
        inputs: vec![value("x", 1, &[Some(2)])],
        outputs: vec![value("y", 1, &[]), value("count", 7, &[]), value("is_odd", 9, &[])],
    }
}

#[test]
fn a_device_keeps_what_the_last_iteration_gave_that_its_own_condition_lets_count() {
    for values in [[30.0, 1.0], [15.0, 1.0], [1.5, 1.5], [0.25, 0.0], [f32::NAN, 0.0]] {
        let inputs = Inputs::new().with_tensor("x", f32s(&[2], &values));
        let program = bind(doubling(&[], "m"), &inputs).unwrap();
        assert!(!program.inputs()[0].fixed, "other values are the same program");
        let (mut expected, mut count) = (values, 0);
        while count < 5 && expected[0] + expected[1] < 20.0 {
            expected = expected.map(|expected| expected + expected);
            count += 1;
        }
        let expected = [f32s(&[2], &expected), int64(&[], &[count]), truth(count % 2 == 1)];
        let is_same = |found: &[Tensor]| {
            found
                .iter()
                .zip(&expected)
                .all(|(a, b)| a.bytes() == b.bytes() && a.shape() == b.shape())
        };
        assert!(
            is_same(&tensors(&host::run(&program))),
            "{values:?}: {:?}",
            tensors(&host::run(&program))
        );
        on_every_device(|device| {
            let found = tensors(&run(device, &program));
            assert!(is_same(&found), "{values:?}: {found:?}");
        });
    }
}

#[test]
fn what_a_device_cannot_select_of_a_loop_is_refused() {
    let inputs = Inputs::new().with_shape("x", [2]);
    let refused = |graph: Graph, end: &str| {
        let error = bind(graph, &inputs).unwrap_err();
        let begin = "Loop 'y': not supported: loops are unrolled, the condition of iteration 0 is the \
                     result of Less 'c', computed by a device, and ";
        assert!(error.ends_with(&format!("{begin}{end}")), "{error}");
    };
    refused(doubling(&["t2"], "m"), "the size of what the loop collects would depend on it");
    refused(doubling(&[], ""), "the loop has no trip count");
    let mut growing = doubling(&[], "m");
    let body = Graph {
        nodes: vec![
            node("Concat", &["t", "t"], &["t2"], &[("axis", 0)]),
            node("Identity", &["on"], &["go"], &[]),
        ],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[]), value("t", 1, &[])],
        outputs: vec![value("go", 9, &[]), value("t2", 1, &[])],
        ..Graph::default()
    };
    growing.nodes[2] = repeated("Loop", &["m", "c", "x"], &["y"], body, &[]);
    growing.outputs.truncate(1);
    let error = bind(growing, &inputs).unwrap_err();
    let shape = "body's output 't2': float32 [4] is another type or shape than before the iteration; \
                 accepted: float32 [2]";
    assert!(error.contains(shape), "{error}");
}
