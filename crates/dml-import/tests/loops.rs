//! Loop and its bodies: behaviour that ONNX's node tests do not cover.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{
    Graph, Message, bind, floats, initializer, ints, model_with, node, outputs, repeated, value,
};
use common::{f32s, host, int64, tensors, truth};
use dml_import::{Inputs, Model};

/// A loop that adds `step` to `s` while it is below 7; `all` are the values after each iteration.
fn counting(element: i64) -> Graph {
    let nodes =
        vec![repeated("Loop", &["m", "c", "s"], &["last", "all"], counting_body(element), &[])];
    let inputs = vec![
        value("m", 7, &[]),
        value("c", 9, &[]),
        value("s", element, &[Some(1)]),
        value("step", element, &[Some(1)]),
    ];
    let outputs = vec![value("last", element, &[]), value("all", element, &[])];
    Graph { nodes, inputs, outputs, ..Graph::default() }
}

fn counting_body(element: i64) -> Graph {
    let inputs = vec![value("i", 7, &[]), value("on", 9, &[]), value("t", element, &[Some(1)])];
    let nodes = vec![
        node("Add", &["t", "step"], &["next"], &[]),
        node("Cast", &["next"], &["whole"], &[("to", 7)]),
        node("Less", &["whole", "end"], &["go"], &[]),
        node("Identity", &["next"], &["seen"], &[]),
    ];
    let initializers = vec![initializer("end", &[1], &[7])];
    let outputs = ["go", "next", "seen"].map(|it| value(it, element, &[])).into();
    Graph { nodes, initializers, inputs, outputs }
}

#[test]
fn a_loop_runs_as_often_as_its_trip_count_and_its_condition_say() {
    let run = |trips: i64, condition: bool, step: i64| {
        let inputs = Inputs::new()
            .with_tensor("m", int64(&[], &[trips]))
            .with_tensor("c", truth(condition))
            .with_tensor("s", int64(&[1], &[1]))
            .with_tensor("step", int64(&[1], &[step]));
        let program = bind(counting(7), &inputs).unwrap();
        // Another trip count needs another program.
        assert!(program.inputs()[0].fixed);
        tensors(&host::run(&program))
    };
    for (trips, condition, step) in [
        (0, true, 1),
        (-5, true, 1),
        (3, false, 1),
        (1, true, 1),
        (4, true, 1),
        (9, true, 2),
        (9, true, 9),
    ] {
        let (mut all, mut last, mut go) = (vec![], 1, condition);
        while go && i64::try_from(all.len()).unwrap() < trips {
            last += step;
            go = last < 7;
            all.push(last);
        }
        let count = all.len() as u64;
        let expected = [int64(&[1], &[last]), int64(&[count, 1], &all)];
        assert_eq!(run(trips, condition, step), expected, "{trips} {condition} {step}");
    }
}

/// The device adds the loop-carried floats; the host knows the condition.
#[test]
fn iterations_become_operators_of_one_graph() {
    let body = Graph {
        nodes: vec![node("Add", &["t", "x"], &["next"], &[])],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[]), value("t", 1, &[])],
        outputs: ["on", "next", "next"].map(|it| value(it, 1, &[])).into(),
        ..Graph::default()
    };
    let graph = Graph {
        nodes: vec![repeated("Loop", &["m", "", "x"], &["last", "all"], body, &[])],
        initializers: vec![initializer("m", &[], &[20_000])],
        inputs: vec![value("x", 1, &[Some(1)])],
        outputs: vec![value("last", 1, &[])],
    };
    let program = bind(graph, &Inputs::new()).unwrap();
    assert_eq!(program.operators()[0].operators().len(), 20_000);
    assert!(!program.inputs()[0].fixed);
}

#[test]
fn of_no_iteration_the_kind_of_a_result_is_what_one_would_give() {
    let body = |declared: Message| Graph {
        nodes: vec![
            // There is no row to gather if the loop has no iterations.
            node("Gather", &["table", "i"], &["picked"], &[("axis", 0)]),
            node("Concat", &["x", "x"], &["twice"], &[("axis", 1)]),
        ],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[])],
        outputs: vec![value("on", 9, &[]), declared, value("twice", 0, &[])],
        ..Graph::default()
    };
    let run = |declared: Message| {
        let graph = Graph {
            nodes: vec![repeated("Loop", &["m", ""], &["rows", "y"], body(declared), &[])],
            initializers: vec![initializer("m", &[], &[0]), initializer("table", &[0, 5], &[])],
            inputs: vec![value("x", 1, &[Some(2), Some(3)])],
            outputs: vec![value("rows", 7, &[]), value("y", 1, &[])],
        };
        bind(graph, &Inputs::new()).map(|it| tensors(&host::run(&it)))
    };
    let expected = [int64(&[0, 5], &[]), f32s(&[0, 2, 6], &[])];
    assert_eq!(run(value("picked", 7, &[Some(5)])).unwrap(), expected);
    let error = run(value("picked", 7, &[None])).unwrap_err();
    assert!(error.contains("Gather 'picked': indices: 0 is not a dimension"), "{error}");
}

/// Loops in a function, in a branch, and nested twice: they use names of all enclosing graphs, up to the
/// function.
#[test]
fn loops_are_nested_and_see_the_graphs_around() {
    let inner = Graph {
        nodes: vec![
            node("Mul", &["i", "ten"], &["tens"], &[]),
            node("Add", &["tens", "j"], &["both"], &[]),
            node("Add", &["both", "a"], &["sum"], &[]),
        ],
        initializers: vec![initializer("ten", &[], &[10])],
        inputs: vec![value("j", 7, &[]), value("go", 9, &[])],
        outputs: vec![value("go", 9, &[]), value("sum", 7, &[])],
    };
    let row = repeated("Loop", &["two", ""], &["row"], inner, &[]);
    let branch = |name: &str, nodes: Vec<Message>, output: &str| {
        let graph = Graph { nodes, outputs: vec![value(output, 7, &[])], ..Graph::default() };
        Message::default().text(1, name).message(6, graph.message()).int(20, 5)
    };
    let choose = node("If", &["on"], &["chosen"], &[])
        .message(5, branch("then_branch", vec![row], "row"))
        .message(5, branch("else_branch", vec![], "two"));
    let outer = Graph {
        nodes: vec![choose],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[])],
        outputs: vec![value("on", 9, &[]), value("chosen", 7, &[])],
        ..Graph::default()
    };
    let two = Message::default().text(1, "value_int").int(3, 2).int(20, 2);
    let function = Message::default()
        .text(1, "table")
        .text(10, "local")
        .text(4, "a")
        .text(5, "b")
        .message(9, Message::default().int(2, 16))
        .message(7, node("Constant", &[], &["two"], &[]).message(5, two))
        .message(7, repeated("Loop", &["two", ""], &["b"], outer, &[]));
    let graph = Graph {
        nodes: vec![node("table", &["x"], &["y"], &[]).text(7, "local")],
        inputs: vec![value("x", 7, &[])],
        outputs: vec![value("y", 7, &[])],
        ..Graph::default()
    };
    let model = Model::from_bytes(model_with(16, graph, vec![function])).unwrap();
    let program = model.bind(&Inputs::new().with_tensor("x", int64(&[], &[300]))).unwrap();
    assert_eq!(tensors(&host::run(&program)), [int64(&[2, 2], &[300, 301, 310, 311])]);
}

/// A loop without states, with `nodes` as its body and `go` as its condition.
fn endless(nodes: Vec<Message>, given: &[&str], trips: i64) -> Graph {
    let body = Graph {
        nodes,
        inputs: vec![value("i", 7, &[]), value("on", 9, &[])],
        outputs: vec![value("go", 9, &[]), value("i", 7, &[])],
        ..Graph::default()
    };
    let c = Message::default().int(2, 9).text(8, "c").bytes(9, &[1]);
    Graph {
        nodes: vec![repeated("Loop", given, &["y"], body, &[])],
        initializers: vec![initializer("m", &[], &[trips]), c],
        outputs: outputs(),
        ..Graph::default()
    }
}

#[test]
fn loops_without_an_end_are_refused() {
    let go = || vec![node("Identity", &["on"], &["go"], &[])];
    let refused = |graph: Graph, message: &str| {
        let error = bind(graph, &Inputs::new()).unwrap_err();
        assert!(error.contains(message), "{error}");
    };
    let many = "Loop 'y': not supported: loops are unrolled, and all of their iterations together have \
                more than 1048576 values";
    refused(endless(go(), &["", "c"], 0), many);
    refused(endless(go(), &["m", "c"], i64::MAX), many);
    refused(endless(go(), &["m"], i64::MAX), many);
    refused(endless(go(), &["m"], 1_000_000), many);
    refused(endless(go(), &[], 0), "inputs M and cond: nothing is given");
    // The first iteration's condition is the caller's, and the second one's is computed by the device.
    let eye = || {
        vec![
            node("Unsqueeze", &["i", "axes"], &["row"], &[]),
            node("EyeLike", &["row"], &["eye"], &[("dtype", 9)]),
            node("Trilu", &["eye"], &["go"], &[]),
        ]
    };
    let mut graph = endless(eye(), &["", "c"], 0);
    graph.initializers.push(initializer("axes", &[2], &[0, 1]));
    refused(
        graph,
        "the condition of iteration 1 is the result of Trilu 'go', computed by a device, and the loop has no trip count",
    );
}

/// Three nested loops of a thousand iterations each, none of which alone is too many.
#[test]
fn the_iterations_of_nested_loops_are_counted_together() {
    let body = |nodes: Vec<Message>, result: &str| Graph {
        nodes,
        inputs: vec![value("i", 7, &[]), value("on", 9, &[])],
        outputs: vec![value("on", 9, &[]), value(result, 7, &[])],
        ..Graph::default()
    };
    let inner = repeated("Loop", &["m", ""], &["a"], body(vec![], "i"), &[]);
    let middle = repeated("Loop", &["m", ""], &["b"], body(vec![inner], "a"), &[]);
    let graph = Graph {
        nodes: vec![repeated("Loop", &["m", ""], &["y"], body(vec![middle], "b"), &[])],
        initializers: vec![initializer("m", &[], &[1000])],
        outputs: outputs(),
        ..Graph::default()
    };
    let error = bind(graph, &Inputs::new()).unwrap_err();
    assert!(error.contains("iterations together have more than 1048576 values"), "{error}");
}

#[test]
fn bodies_of_the_wrong_form_are_refused() {
    let body = |inputs: &[(&str, i64)], outputs: &[&str]| Graph {
        nodes: vec![node("Cast", &["s"], &["t"], &[("to", 1)])],
        inputs: inputs.iter().map(|(name, element)| value(name, *element, &[])).collect(),
        outputs: outputs.iter().map(|output| value(output, 1, &[])).collect(),
        ..Graph::default()
    };
    let refused = |op: &str, given: &[&str], body: Graph, more: &[Message], message: &str| {
        let graph = Graph {
            nodes: vec![repeated(op, given, &["y"], body, more)],
            initializers: vec![initializer("m", &[], &[3]), floats("f", &[], &[1.0])],
            outputs: outputs(),
            ..Graph::default()
        };
        let error = bind(graph, &Inputs::new()).unwrap_err();
        assert!(error.contains(message), "{error}");
    };
    let loop_body = |element| body(&[("i", 7), ("on", 9), ("s", element)], &["on", "t"]);
    let input = "Loop 'y': body's input 's': int64 is the wrong type; accepted: float32";
    refused("Loop", &["m", "", "m"], loop_body(1), &[], input);
    let state = "body's output 't': float32 [] is another type or shape than before the iteration; \
                 accepted: int64 []";
    refused("Loop", &["m", "", "m"], loop_body(7), &[], state);
    refused("Loop", &["f", "", "m"], loop_body(7), &[], "M: float32 is the wrong type");
    refused("Loop", &["m", "f", "m"], loop_body(7), &[], "body's input 'on': float32 is the wrong");
    refused("Loop", &["m", ""], loop_body(7), &[], "inputs: 2 is the wrong number; accepted: 3");
    let short = body(&[("i", 7)], &["i"]);
    refused("Loop", &["m"], short, &[], "attribute body: inputs: 1 is the wrong number");
    let none = body(&[("i", 7), ("on", 9)], &[]);
    refused("Loop", &["m"], none, &[], "attribute body: outputs: 0 is the wrong number");
    let count = |count: i64| Message::default().text(1, "num_scan_inputs").int(3, count).int(20, 2);
    let scan_body = || body(&[("s", 7)], &["t"]);
    for wrong in [0, -1, 2] {
        let message = format!("num_scan_inputs: {wrong} is the wrong number; accepted: 1 to 1");
        refused("Scan", &["m"], scan_body(), &[count(wrong)], &message);
    }
    let more = |name, values: &[i64]| [count(1), ints(name, values)];
    let no_axis = "attribute scan_input_axes: 0 is not a dimension";
    refused("Scan", &["m"], scan_body(), &[count(1)], no_axis);
    let two = "attribute scan_input_axes: 2 is the wrong number; accepted: 1 of them";
    refused("Scan", &["m"], scan_body(), &more("scan_input_axes", &[0, 0]), two);
    let direction = "attribute scan_output_directions: 2 is not a direction; accepted: 0, 1";
    refused("Scan", &["m"], scan_body(), &more("scan_output_directions", &[2]), direction);
    refused("Scan", &["m"], scan_body(), &more("directions", &[0]), "is not an attribute");
    let circle = Graph {
        nodes: vec![node("Neg", &["b"], &["a"], &[]), node("Neg", &["a"], &["b"], &[])],
        ..loop_body(7)
    };
    let circle = Graph { outputs: ["on", "a"].map(|it| value(it, 7, &[])).into(), ..circle };
    refused("Loop", &["m", "", "m"], circle, &[], "nodes use each other's outputs in a circle");
    let unknown =
        Graph { outputs: ["on", "zz"].map(|it| value(it, 7, &[])).into(), ..loop_body(7) };
    refused("Loop", &["m", "", "m"], unknown, &[], "'zz' is neither an input nor a node's output");
}
