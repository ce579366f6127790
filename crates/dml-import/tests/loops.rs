//! Loop, and the bodies of loops: what the node tests do not show.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::onnx::{
    Graph, Message, floats, initializer, ints, model, model_with, node, outputs, repeated, value,
};
use common::{f32s, host, int64, run, tensors};
use dml_import::{ElementType, Inputs, Model, Program, Tensor};

fn truth(value: bool) -> Tensor {
    Tensor::new(ElementType::Bool, [], vec![value.into()]).unwrap()
}

fn results(program: &Program) -> Vec<Tensor> {
    host::run(program).into_iter().map(|it| it.tensor).collect()
}

fn bind(graph: Graph, inputs: &Inputs) -> Result<Program, String> {
    let model = Model::from_bytes(model(16, graph)).map_err(|error| error.to_string())?;
    model.bind(inputs).map_err(|error| error.to_string())
}

/// `s` is handed on and grows by `step` while it is below 7; `all` are its values after each iteration.
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
        // Another trip count is another program.
        assert!(program.inputs()[0].fixed);
        results(&program)
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

/// Floats that a device adds are handed on; the condition is the host's.
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
            // Without elements there is none to pick.
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
        bind(graph, &Inputs::new()).map(|it| results(&it))
    };
    let expected = [int64(&[0, 5], &[]), f32s(&[0, 2, 6], &[])];
    assert_eq!(run(value("picked", 7, &[Some(5)])).unwrap(), expected);
    let error = run(value("picked", 7, &[None])).unwrap_err();
    assert!(error.contains("Gather 'picked': indices: 0 is no dimension"), "{error}");
}

/// In a function, in a branch, and two deep: names are those of all graphs around, up to the function.
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
    assert_eq!(results(&program), [int64(&[2, 2], &[300, 301, 310, 311])]);
}

/// One loop without states, whose body is `nodes` and whose condition is `go`.
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
    // The condition of the first iteration is the caller's, that of the second one a device's.
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

/// A thousand of a thousand of a thousand: none of them is too many.
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
        outputs: outputs.iter().map(|it| value(it, 1, &[])).collect(),
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
    let no_axis = "attribute scan_input_axes: 0 is no dimension";
    refused("Scan", &["m"], scan_body(), &[count(1)], no_axis);
    let two = "attribute scan_input_axes: 2 is the wrong number; accepted: 1 of them";
    refused("Scan", &["m"], scan_body(), &more("scan_input_axes", &[0, 0]), two);
    let direction = "attribute scan_output_directions: 2 is no direction; accepted: 0, 1";
    refused("Scan", &["m"], scan_body(), &more("scan_output_directions", &[2]), direction);
    refused("Scan", &["m"], scan_body(), &more("directions", &[0]), "is no attribute");
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

/// The condition is a device's: floats are summed and compared.
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
        let expected = if is_negative { values.map(|it| -it) } else { values };
        let greater = expected.iter().zip(values).map(|(y, x)| u8::from(*y > x));
        let greater = Tensor::new(ElementType::Bool, [2], greater.collect::<Vec<u8>>()).unwrap();
        let expected = [f32s(&[2], &expected), greater];
        assert_eq!(results(&program), expected);
        on_every_device(|device| assert_eq!(tensors(&run(device, &program)), expected));
    }
    let inputs = Inputs::new().with_tensor("x", f32s(&[2], &[1.0, 2.0]));
    let error = bind(if_of_a_sum([&[2], &[2, 1]]), &inputs).unwrap_err();
    let message = "If 'y': not supported: its condition is computed by a device, which can select between \
                   outputs of one type and shape; the branches give float32 [2] and float32 [2, 1]";
    assert!(error.contains(message), "{error}");
}

/// `t` is doubled while its sum, which a device adds up, is below 20; `n` counts how often that was, and
/// `odd` whether that is odd.
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
            expected = expected.map(|it| it + it);
            count += 1;
        }
        let expected = [f32s(&[2], &expected), int64(&[], &[count]), truth(count % 2 == 1)];
        let is_same = |found: &[Tensor]| {
            found
                .iter()
                .zip(&expected)
                .all(|(a, b)| a.bytes() == b.bytes() && a.shape() == b.shape())
        };
        assert!(is_same(&results(&program)), "{values:?}: {:?}", results(&program));
        on_every_device(|device| {
            let found = tensors(&run(device, &program));
            assert!(is_same(&found), "{values:?}: {found:?}");
        });
    }
}

#[test]
fn what_a_device_cannot_select_of_a_loop_is_refused() {
    let inputs = Inputs::new().with_shape("x", &[2]);
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
