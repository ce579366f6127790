//! The structure of ONNX models: versions, functions, subgraphs, and external data.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{
    Graph, Message, floats, initializer, model, model_with, node, reference, value,
};
use common::{f32s, host, int64};
use dml_import::{ElementType, Inputs, Model, Program, Tensor};

fn result(program: &Program) -> Tensor {
    host::run(program).remove(0).tensor
}

/// `y = op(x, z)`, of floats.
fn binary(opset: i64, op: &str, attributes: &[(&str, i64)]) -> Model {
    let nodes = vec![node(op, &["x", "z"], &["y"], attributes)];
    let inputs = vec![value("x", 1, &[None; 3]), value("z", 1, &[None])];
    let outputs = vec![value("y", 1, &[])];
    Model::from_bytes(model(opset, Graph { nodes, inputs, outputs, ..Graph::default() })).unwrap()
}

#[test]
fn before_version_7_the_second_input_is_aligned_at_an_axis() {
    let inputs = Inputs::new()
        .with_tensor("x", f32s(&[1, 2, 3], &[0.0; 6]))
        .with_tensor("z", f32s(&[2], &[1.0, 2.0]));
    let add = |attributes: &[(&str, i64)]| binary(6, "Add", attributes).bind(&inputs);
    let rows = f32s(&[1, 2, 3], &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    assert_eq!(result(&add(&[("broadcast", 1), ("axis", 1)]).unwrap()), rows);
    assert_eq!(result(&add(&[("broadcast", 1), ("axis", -2)]).unwrap()), rows);
    let refused = |attributes: &[(&str, i64)], message: &str| {
        let error = add(attributes).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    refused(&[], "B: [2] is another shape; accepted: as in [1, 2, 3]");
    refused(&[("broadcast", 1)], "B: [2] does not fit the dimensions of A");
    refused(&[("broadcast", 1), ("axis", 3)], "attribute axis: 3 is not a dimension");
    // From version 7 on NumPy's rule applies, and the attributes do not exist.
    let error = binary(7, "Add", &[("broadcast", 1)]).bind(&inputs).unwrap_err().to_string();
    assert!(error.contains("attributes: broadcast is not an attribute of Add"), "{error}");
    let error = binary(7, "Add", &[]).bind(&inputs).unwrap_err().to_string();
    assert!(error.contains("inputs: float32 [2] does not fit"), "{error}");
}

#[test]
fn versions_that_are_not_known_are_refused() {
    for opset in 7..=28 {
        let inputs = Inputs::new().with_shape("x", [1, 1, 1]).with_shape("z", [1]);
        assert!(binary(opset, "Add", &[]).bind(&inputs).is_ok(), "{opset}");
    }
    for (opset, message) in
        [(29, "is not known"), (0, "is not a version"), (-1, "is not a version")]
    {
        let graph = Graph { outputs: vec![value("y", 1, &[])], ..Graph::default() };
        let error = Model::from_bytes(model(opset, graph)).unwrap_err().to_string();
        let expected = format!("opset_import: ai.onnx {opset} {message}; accepted: 1 to 28");
        assert!(error.contains(&expected), "{error}");
    }
}

/// A model that imports only other domains is read, so that every node can be reported.
#[test]
fn a_model_without_a_version_of_ai_onnx_is_refused_node_by_node() {
    let other = Message::default().text(1, "ai.onnx.ml").int(2, 3);
    let nodes = vec![
        node("Scaler", &["x"], &["y"], &[]).text(7, "ai.onnx.ml"),
        node("Relu", &["x"], &["z"], &[]),
    ];
    let (inputs, outputs) = (vec![value("x", 1, &[Some(1)])], vec![value("y", 1, &[])]);
    let graph = Graph { nodes, inputs, outputs, ..Graph::default() };
    let bytes = Message::default().message(7, graph.message()).message(8, other).0;
    let report = Model::from_bytes(bytes).unwrap().inspect(&Inputs::new()).unwrap();
    let reasons: Vec<String> =
        report.nodes.iter().map(|node| format!("{:?}", node.support)).collect();
    assert!(reasons[0].contains("no operator of the domain 'ai.onnx.ml' is run"), "{reasons:?}");
    assert!(reasons[1].contains("opset_import: nothing is said of ai.onnx"), "{reasons:?}");
}

/// Attributes of an earlier version are inputs of a later one.
#[test]
fn axes_and_lengths_are_where_their_version_has_them() {
    let bind = |opset, node: Message| {
        let inputs = vec![value("x", 1, &[None, None, None])];
        let initializers = vec![initializer("i", &[1], &[1])];
        let outputs = vec![value("y", 1, &[])];
        let graph = Graph { nodes: vec![node], initializers, inputs, outputs };
        let model = Model::from_bytes(model(opset, graph)).unwrap();
        let bound = model.bind(&Inputs::new().with_tensor("x", f32s(&[2, 1, 3], &[0.5; 6])));
        bound.map(|bound| result(&bound).shape().to_vec()).map_err(|error| error.to_string())
    };
    for op in ["Squeeze", "Unsqueeze"] {
        let old = node(op, &["x"], &["y"], &[]).message(5, common::onnx::ints("axes", &[1]));
        let new = node(op, &["x", "i"], &["y"], &[]);
        let expected = if op == "Squeeze" { vec![2, 3] } else { vec![2, 1, 1, 3] };
        assert_eq!(bind(11, old.clone()), Ok(expected.clone()), "{op}");
        assert_eq!(bind(13, new.clone()), Ok(expected), "{op}");
        assert!(bind(11, new).is_err() && bind(13, old).is_err(), "{op}");
    }
}

#[test]
fn infinities_of_the_signs_that_are_named_are_found() {
    let found = |attributes: &[(&str, i64)]| {
        let nodes = vec![node("IsInf", &["x"], &["y"], attributes)];
        let (inputs, outputs) = (vec![value("x", 1, &[None])], vec![value("y", 9, &[])]);
        let graph = Graph { nodes, inputs, outputs, ..Graph::default() };
        let x = f32s(&[4], &[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0]);
        let model = Model::from_bytes(model(10, graph)).unwrap();
        let bound = model.bind(&Inputs::new().with_tensor("x", x));
        bound.map(|bound| result(&bound).bytes().to_vec()).map_err(|error| error.to_string())
    };
    assert_eq!(found(&[]).unwrap(), [1, 1, 0, 0]);
    assert_eq!(found(&[("detect_negative", 0)]).unwrap(), [1, 0, 0, 0]);
    assert_eq!(found(&[("detect_positive", 0)]).unwrap(), [0, 1, 0, 0]);
    let neither = [("detect_positive", 0), ("detect_negative", 0)];
    assert_eq!(found(&neither).unwrap(), [0, 0, 0, 0]);
}

fn function(name: &str, inputs: &[&str], outputs: &[&str], nodes: Vec<Message>) -> Message {
    let function = Message::default().text(1, name).text(10, "local");
    let function = inputs.iter().fold(function, |it, name| it.text(4, name));
    let function = outputs.iter().fold(function, |it, name| it.text(5, name));
    let function = function.message(9, Message::default().int(2, 18));
    nodes.into_iter().fold(function, |it, node| it.message(7, node))
}

#[test]
fn functions_are_their_nodes_with_the_attributes_of_the_call() {
    let cast = node("Cast", &["a"], &["b"], &[]).message(5, reference("to", "kind", 2));
    // The call leaves out its second input, and thereby the upper bound.
    let clip = node("Clip", &["b", "low", "high"], &["c"], &[]);
    let inner = function("inner", &["a", "low", "high"], &["c"], vec![cast, clip])
        .message(11, Message::default().text(1, "kind").int(3, 6).int(20, 2));
    let call = |attributes: Vec<Message>| {
        let call = node("inner", &["q", "m"], &["r"], &[]).text(7, "local");
        let call = attributes.into_iter().fold(call, |it, attribute| it.message(5, attribute));
        function("outer", &["q", "m"], &["r"], vec![call]).text(6, "kind")
    };
    let run = |outer: Message, attributes: &[(&str, i64)]| {
        let nodes = vec![node("outer", &["x", "low"], &["y"], attributes).text(7, "local")];
        let graph = Graph {
            nodes,
            initializers: vec![
                Message::default().int(2, 6).text(8, "low").bytes(9, &2i32.to_le_bytes()),
            ],
            inputs: vec![value("x", 1, &[None])],
            outputs: vec![value("y", 6, &[])],
        };
        let model = Model::from_bytes(model_with(18, graph, vec![inner.clone(), outer])).unwrap();
        let x = f32s(&[3], &[1.5, 2.5, 3.5]);
        model.bind(&Inputs::new().with_tensor("x", x)).map(|it| result(&it))
    };
    // The attribute's default: int32.
    let int32: Vec<u8> = [2i32, 2, 3].into_iter().flat_map(i32::to_le_bytes).collect();
    assert_eq!(run(call(vec![]), &[]).unwrap().bytes(), int32);
    // Passed from call to call: int64, which is not the bound's type.
    let error = run(call(vec![reference("kind", "kind", 2)]), &[("kind", 7)]).unwrap_err();
    assert!(error.to_string().contains("Clip"), "{error}");
}

#[test]
fn functions_that_call_each_other_without_end_are_refused() {
    let call = |name: &str| node(name, &["a"], &["b"], &[]).text(7, "local");
    let twice = |name: &str, of: &str| {
        let again = node(of, &["b"], &["c"], &[]).text(7, "local");
        function(name, &["a"], &["c"], vec![call(of), again])
    };
    let bind = |functions: Vec<Message>| {
        let nodes = vec![node("f", &["x"], &["y"], &[]).text(7, "local")];
        let inputs = vec![value("x", 1, &[Some(1)])];
        let graph = Graph { nodes, inputs, outputs: vec![value("y", 1, &[])], ..Graph::default() };
        let model = Model::from_bytes(model_with(18, graph, functions));
        model.and_then(|model| model.bind(&Inputs::new())).unwrap_err().to_string()
    };
    let error = bind(vec![twice("f", "g"), twice("g", "f")]);
    assert!(error.contains("functions and subgraphs are nested deeper than 8"), "{error}");
    // Not deeply nested, but a thousand calls of a thousand calls of a thousand nodes.
    let many = |name: &str, of: &str| {
        let nodes = (0..1000).map(|index| {
            let output = format!("b{index}");
            node(of, &["a"], &[&output], &[]).text(7, "local")
        });
        function(name, &["a"], &["b0"], nodes.collect())
    };
    let error = bind(vec![many("f", "g"), many("g", "h"), many("h", "i"), many("i", "j")]);
    assert!(error.contains("its functions are more than 524288 nodes"), "{error}");
}

#[test]
fn the_branch_that_the_condition_names_is_taken() {
    let branch = |name: &str, nodes: Vec<Message>, initializers: Vec<Message>, output: &str| {
        let outputs = vec![value(output, 1, &[])];
        let graph = Graph { nodes, initializers, outputs, ..Graph::default() };
        Message::default().text(1, name).message(6, graph.message()).int(20, 5)
    };
    // Both branches use outer values; the operator of the other branch does not exist.
    let doubled = vec![node("Add", &["x", "two"], &["t"], &[])];
    let two = floats("two", &[], &[2.0]);
    let other = vec![node("NoOperator", &["x"], &["e"], &[])];
    let choose = node("If", &["c"], &["y"], &[])
        .message(5, branch("then_branch", doubled, vec![two], "t"))
        .message(5, branch("else_branch", other, vec![], "e"));
    let graph = Graph {
        nodes: vec![node("Not", &["n"], &["c"], &[]), choose],
        inputs: vec![value("x", 1, &[Some(1)]), value("n", 9, &[])],
        outputs: vec![value("y", 1, &[])],
        ..Graph::default()
    };
    let model = Model::from_bytes(model(16, graph)).unwrap();
    let bind = |condition: u8| {
        let n = Tensor::new(ElementType::Bool, [], vec![condition]).unwrap();
        model.bind(&Inputs::new().with_tensor("x", f32s(&[1], &[1.0])).with_tensor("n", n))
    };
    let program = bind(0).unwrap();
    assert_eq!(result(&program), f32s(&[1], &[3.0]));
    let fixed: Vec<bool> = program.inputs().iter().map(|input| input.fixed).collect();
    assert_eq!(fixed, [false, true]);
    let error = bind(1).unwrap_err().to_string();
    assert!(error.contains("NoOperator 'e': not supported"), "{error}");
}

/// A weight is read only when a device needs it, and never beyond its file.
#[test]
fn weights_in_other_files_are_read_when_they_are_needed() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |key: &str, value: &str| Message::default().text(1, key).text(2, value);
    let weight = Message::default()
        .int(1, 1000)
        .int(2, 1)
        .text(8, "w")
        .message(13, entry("location", "w.bin"))
        .message(13, entry("offset", "16"))
        .message(13, entry("length", "4000"))
        .int(14, 1);
    let graph = Graph {
        nodes: vec![node("Add", &["x", "w"], &["y"], &[])],
        initializers: vec![weight],
        inputs: vec![value("x", 1, &[Some(1)])],
        outputs: vec![value("y", 1, &[])],
    };
    let (path, bin) = (folder.path().join("model.onnx"), folder.path().join("w.bin"));
    std::fs::write(&path, model(13, graph)).unwrap();
    std::fs::write(&bin, vec![0; 4015]).unwrap();
    let error = Model::read(&path).unwrap_err().to_string();
    assert!(error.contains("4000 bytes from byte 16 on reach beyond"), "{error}");
    let bytes = [0u8; 16].into_iter().chain([2.0f32; 1000].into_iter().flat_map(f32::to_le_bytes));
    std::fs::write(&bin, bytes.collect::<Vec<u8>>()).unwrap();
    let inputs = Inputs::new().with_tensor("x", f32s(&[1], &[1.0]));
    let program = Model::read(&path).unwrap().bind(&inputs).unwrap();
    assert_eq!(result(&program), f32s(&[1000], &[3.0; 1000]));
    // The file is truncated after the model was read.
    std::fs::write(&bin, vec![0; 100]).unwrap();
    let program = Model::read(&path).and_then(|it| it.bind(&inputs));
    assert!(program.is_err());
}

#[test]
fn a_weight_that_is_cut_short_after_it_was_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |key: &str, value: &str| Message::default().text(1, key).text(2, value);
    let weight = Message::default().int(1, 1000).int(2, 1).text(8, "w");
    let weight = weight.message(13, entry("location", "w.bin")).int(14, 1);
    let graph = Graph {
        nodes: vec![node("Add", &["w", "w"], &["y"], &[])],
        initializers: vec![weight],
        outputs: vec![value("y", 1, &[])],
        ..Graph::default()
    };
    let (path, bin) = (folder.path().join("model.onnx"), folder.path().join("w.bin"));
    std::fs::write(&path, model(13, graph)).unwrap();
    std::fs::write(&bin, vec![0; 4000]).unwrap();
    let model = Model::read(&path).unwrap();
    std::fs::write(&bin, vec![0; 3999]).unwrap();
    let error = model.bind(&Inputs::new()).unwrap_err().to_string();
    assert!(error.contains("w.bin: was written since the model was read"), "{error}");
}

#[test]
fn a_model_of_100_000_nodes_is_imported() {
    let mut nodes = Vec::new();
    let mut last = "x".to_owned();
    for index in 0..100_000 {
        let next = format!("v{index}");
        nodes.push(match index % 4 {
            0 => node("Add", &[&last, "z"], &[&next], &[]),
            1 => node("Transpose", &[&last], &[&next], &[]),
            2 => node("Shape", &[&last], &[&format!("s{index}")], &[]),
            _ => node("Reshape", &[&last, &format!("s{}", index - 1)], &[&next], &[]),
        });
        if index % 4 != 2 {
            last = next;
        }
    }
    nodes.push(node("Identity", &[&last], &["y"], &[]));
    let inputs = vec![value("x", 1, &[None, None]), value("z", 1, &[])];
    let outputs = vec![value("y", 1, &[])];
    let bytes = model(13, Graph { nodes, inputs, outputs, ..Graph::default() });
    let model = Model::from_bytes(bytes).unwrap();
    let program = model.bind(&Inputs::new().with_shape("x", [2, 3]).with_shape("z", [])).unwrap();
    // The sums, and a copy of the last result, which is transposed.
    assert_eq!(program.operators()[0].operators().len(), 25_001);
}

#[test]
fn truth_values_are_no_numbers() {
    let bind = |op: &str, number: i64| {
        let nodes = vec![node(op, &["x", "x"], &["y"], &[])];
        let inputs = vec![value("x", number, &[Some(1)])];
        let outputs = vec![value("y", number, &[])];
        let bytes = model(13, Graph { nodes, inputs, outputs, ..Graph::default() });
        let bound = Model::from_bytes(bytes).unwrap().bind(&Inputs::new());
        bound.map(|_| ()).map_err(|error| error.to_string())
    };
    let error = bind("Add", 9).unwrap_err();
    assert!(error.contains("inputs: bool is the wrong type; accepted: numbers"), "{error}");
    let error = bind("And", 6).unwrap_err();
    assert!(error.contains("inputs: int32 is the wrong type; accepted: bool"), "{error}");
    assert_eq!(bind("Add", 6), Ok(()));
}

/// Shape arithmetic as exporters write it for the padding of a convolution.
#[test]
fn shapes_in_any_order_are_known_to_the_host() {
    let nodes = vec![
        node("Transpose", &["pairs"], &["t"], &[]),
        node("Reshape", &["t", "flat"], &["s"], &[]),
        node("Expand", &["one", "s"], &["y"], &[]),
    ];
    let inputs = vec![value("pairs", 7, &[None, None])];
    let initializers = vec![initializer("flat", &[1], &[-1]), initializer("one", &[1], &[1])];
    let outputs = vec![value("y", 7, &[])];
    let bytes = model(13, Graph { nodes, initializers, inputs, outputs });
    let pairs = Inputs::new().with_tensor("pairs", int64(&[2, 2], &[2, 1, 3, 1]));
    let program = Model::from_bytes(bytes).unwrap().bind(&pairs).unwrap();
    assert_eq!(result(&program).shape(), [2, 3, 1, 1]);
    assert!(program.inputs()[0].fixed);
}

#[test]
fn ranges_and_sizes_are_computed_on_the_host() {
    let nodes = vec![
        node("Size", &["x"], &["n"], &[]),
        node("Range", &["zero", "n", "two"], &["r"], &[]),
        node("ReduceProd", &["shape"], &["p"], &[("keepdims", 0)]),
        node("Add", &["r", "p"], &["s"], &[]),
        node("Where", &["c", "s", "zero"], &["y"], &[]),
        node("GreaterOrEqual", &["s", "limit"], &["c"], &[]),
    ];
    let initializers = vec![
        initializer("zero", &[], &[0]),
        initializer("two", &[], &[2]),
        initializer("limit", &[], &[14]),
        initializer("shape", &[2], &[3, 4]),
    ];
    let inputs = vec![value("x", 1, &[None, None])];
    let outputs = vec![value("y", 7, &[])];
    let bytes = model(13, Graph { nodes, initializers, inputs, outputs });
    let model = Model::from_bytes(bytes).unwrap();
    let program = model.bind(&Inputs::new().with_shape("x", [2, 3])).unwrap();
    assert!(!program.needs_device());
    let outputs = program.run_on_host(&Inputs::new()).unwrap();
    assert_eq!(outputs[0].tensor, int64(&[3], &[0, 14, 16]));
}
