//! Sequences of tensors.

use super::common::onnx::{Graph, Message, initializer, model, node, repeated, value};
use super::common::{f32s, host, int64, name, tensors};
use dml_import::{InputForm, Inputs, Model, Tensor};

fn read(nodes: Vec<Message>, initializers: Vec<Message>) -> Model {
    let inputs = vec![value("x", 1, &[None, None])];
    let outputs = vec![value("y", 1, &[])];
    Model::from_bytes(model(17, Graph { nodes, initializers, inputs, outputs })).unwrap()
}

fn result(nodes: Vec<Message>, initializers: Vec<Message>, x: Tensor) -> Result<Tensor, String> {
    let program = read(nodes, initializers).bind(&Inputs::new().with_tensor("x", x));
    let program = program.map_err(|error| error.to_string())?;
    Ok(tensors(&host::run(&program)).remove(0))
}

fn rows() -> Tensor {
    f32s(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
}

#[test]
fn a_tensor_is_split_changed_and_joined() {
    let nodes = vec![
        node("SplitToSequence", &["x"], &["s"], &[("keepdims", 0)]),
        node("SequenceAt", &["s", "last"], &["row"], &[]),
        node("SequenceErase", &["s", "first"], &["rest"], &[]),
        node("SequenceInsert", &["rest", "row", "first"], &["all"], &[]),
        node("SequenceInsert", &["all", "row"], &["more"], &[]),
        node("ConcatFromSequence", &["more"], &["y"], &[("axis", 1), ("new_axis", 1)]),
    ];
    let initializers = vec![initializer("last", &[], &[-1]), initializer("first", &[], &[0])];
    let found = result(nodes, initializers, rows()).unwrap();
    assert_eq!(found, f32s(&[2, 4], &[5.0, 3.0, 5.0, 5.0, 6.0, 4.0, 6.0, 6.0]));
}

#[test]
fn parts_have_a_length_or_lengths() {
    for (shape, split, lengths) in [(&[][..], &[2][..], vec![2, 1]), (&[2], &[1, 2], vec![1, 2])] {
        let outputs = vec![value("s", 1, &[])];
        let nodes = vec![node("SplitToSequence", &["x", "l"], &["s"], &[])];
        let initializers = vec![initializer("l", shape, split)];
        let inputs = vec![value("x", 1, &[None, None])];
        let graph = Graph { nodes, initializers, inputs, outputs };
        let model = Model::from_bytes(model(17, graph)).unwrap();
        let program = model.bind(&Inputs::new().with_tensor("x", rows())).unwrap();
        let found = host::run(&program);
        let named: Vec<(&str, u64)> =
            found.iter().map(|it| (name(it), it.tensor.shape()[0])).collect();
        assert_eq!(named, [("s[0]", lengths[0]), ("s[1]", lengths[1])]);
    }
    let wrong = vec![
        node("SplitToSequence", &["x", "l"], &["s"], &[]),
        node("ConcatFromSequence", &["s"], &["y"], &[("axis", 0)]),
    ];
    let error = result(wrong, vec![initializer("l", &[2], &[1, 1])], rows()).unwrap_err();
    assert!(error.contains("split: [1, 1] does not fit the dimension; accepted: 3"), "{error}");
}

/// A loop that appends `x * i` to a sequence.
fn growing() -> Vec<Message> {
    let body = Graph {
        nodes: vec![
            node("Cast", &["i"], &["factor"], &[("to", 1)]),
            node("Mul", &["x", "factor"], &["next"], &[]),
            node("SequenceInsert", &["t", "next"], &["grown"], &[]),
        ],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[]), value("t", 1, &[])],
        outputs: vec![value("on", 9, &[]), value("grown", 1, &[])],
        ..Graph::default()
    };
    vec![
        node("SequenceEmpty", &[], &["none"], &[]),
        repeated("Loop", &["count", "", "none"], &["all"], body, &[]),
        node("ConcatFromSequence", &["all"], &["y"], &[("axis", 0)]),
    ]
}

#[test]
fn loops_hand_sequences_on() {
    let x = f32s(&[1, 2], &[1.0, 2.0]);
    let found = result(growing(), vec![initializer("count", &[], &[3])], x.clone()).unwrap();
    assert_eq!(found, f32s(&[3, 2], &[0.0, 0.0, 1.0, 2.0, 2.0, 4.0]));
    let error = result(growing(), vec![initializer("count", &[], &[0])], x).unwrap_err();
    assert!(error.contains("input_sequence: 0 tensors are given"), "{error}");
}

#[test]
fn inputs_that_are_sequences_are_given_tensor_by_tensor() {
    let map = Graph {
        nodes: vec![node("Add", &["a", "b"], &["sum"], &[])],
        inputs: vec![value("a", 1, &[]), value("b", 1, &[])],
        outputs: vec![value("sum", 1, &[])],
        ..Graph::default()
    };
    let sequence = Message::default().message(4, Message::default());
    let named = |name: &str| Message::default().text(1, name).message(2, sequence.clone());
    let graph = Graph {
        nodes: vec![
            repeated("SequenceMap", &["s", "x"], &["y"], map, &[]),
            node("SequenceLength", &["y"], &["n"], &[]),
        ],
        inputs: vec![named("s"), value("x", 1, &[None])],
        outputs: vec![named("y"), value("n", 7, &[])],
        ..Graph::default()
    };
    let bytes = model(17, graph);
    let with = |form| Model::from_bytes(bytes.clone()).unwrap().with_forms(&[("s", form)]);
    let inputs = Inputs::new()
        .with_tensor("s[0]", f32s(&[1], &[1.0]))
        .with_tensor("s[1]", f32s(&[2], &[2.0, 3.0]))
        .with_tensor("x", f32s(&[1], &[10.0]));
    let program = with(InputForm::Sequence(2)).unwrap().bind(&inputs).unwrap();
    let found = tensors(&host::run(&program));
    assert_eq!(found, [f32s(&[1], &[11.0]), f32s(&[2], &[12.0, 13.0]), int64(&[], &[2])]);
    let error = with(InputForm::Absent).unwrap().bind(&Inputs::new().with_shape("x", [1]));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("input_sequence: nothing is given; accepted: a sequence"), "{error}");
    let unknown = Model::from_bytes(bytes.clone()).unwrap().with_forms(&[("t", InputForm::Tensor)]);
    assert!(unknown.unwrap_err().to_string().contains("unknown input 't'"));
}

#[test]
fn a_tensor_is_no_sequence() {
    let nodes = vec![node("ConcatFromSequence", &["x"], &["y"], &[("axis", 0)])];
    let error = result(nodes, vec![], rows()).unwrap_err();
    let message = "input_sequence: a tensor is given; accepted: a sequence of tensors";
    assert!(error.contains(message), "{error}");
    let nodes = vec![
        node("SequenceConstruct", &["x", "x"], &["s"], &[]),
        node("SequenceAt", &["s", "place"], &["y"], &[]),
    ];
    let error = result(nodes, vec![initializer("place", &[], &[2])], rows()).unwrap_err();
    assert!(error.contains("position: 2 is not a dimension"), "{error}");
}
