//! Sparse tensors: initializers and constants that list only their nonzero elements.

use dml_import::{Inputs, Model, Tensor};

use crate::common::onnx::{Graph, Message, floats, initializer, model, node, value};
use crate::common::single::judged_model;
use crate::common::{f32s, int64, truth};

/// A SparseTensorProto of floats.
fn sparse(name: &str, values: &[f32], indices: (&[i64], &[i64]), dims: &[i64]) -> Message {
    let count = i64::try_from(values.len()).unwrap();
    of(&floats(name, &[count], values), &initializer("", indices.0, indices.1), dims)
}

fn of(values: &Message, indices: &Message, dims: &[i64]) -> Message {
    let message = Message::default().message(1, values.clone()).message(2, indices.clone());
    dims.iter().fold(message, |it, size| it.int(3, *size))
}

/// A graph of opset 20 with sparse initializers.
fn with_sparse(graph: Graph, initializers: &[Message]) -> Vec<u8> {
    let graph = initializers.iter().fold(graph.message(), |it, one| it.message(15, one.clone()));
    let opset = Message::default().int(2, 20);
    Message::default().int(1, 8).message(7, graph).message(8, opset).0
}

/// A graph whose output `y` is the negative of the initializer `s`.
fn negated() -> Graph {
    let nodes = vec![node("Neg", &["s"], &["y"], &[])];
    Graph { nodes, outputs: vec![value("y", 0, &[])], ..Graph::default() }
}

fn check(model: Vec<u8>, inputs: &Inputs, expected: &Tensor) {
    judged_model(model, inputs, |found| assert_eq!(&found[0], expected));
}

fn refusal(initializers: &[Message]) -> String {
    Model::from_bytes(with_sparse(negated(), initializers)).unwrap_err().to_string()
}

#[test]
fn elements_that_a_sparse_initializer_does_not_list_are_zero() {
    let expected = f32s(&[2, 3], &[0.0, -5.0, 0.0, 0.0, -6.0, -7.0]);
    let values = [5.0, 6.0, 7.0];
    let linear = sparse("s", &values, (&[3], &[1, 4, 5]), &[2, 3]);
    let by_coordinates = sparse("s", &values, (&[3, 2], &[0, 1, 1, 1, 1, 2]), &[2, 3]);
    // The negative of 0 has a sign bit.
    let positive = |found: &Tensor| found.bytes().to_vec();
    for initializer in [linear, by_coordinates] {
        judged_model(with_sparse(negated(), &[initializer]), &Inputs::new(), |found| {
            let found = &found[0];
            assert_eq!(found.shape(), [2, 3]);
            for (found, expected) in
                positive(found).chunks_exact(4).zip(positive(&expected).chunks_exact(4))
            {
                let number = |it: &[u8]| f32::from_le_bytes(it.try_into().unwrap());
                assert!(number(found) == number(expected), "{found:?}");
            }
        });
    }
}

#[test]
fn a_sparse_tensor_may_list_nothing_and_have_any_type() {
    let int64s = of(&initializer("s", &[2], &[7, -9]), &initializer("", &[2], &[0, 3]), &[4]);
    check(with_sparse(negated(), &[int64s]), &Inputs::new(), &int64(&[4], &[-7, 0, 0, 9]));
    for shape in [&[0][..], &[0, 3]] {
        let none = of(&initializer("s", &[0], &[]), &initializer("", shape, &[]), &[2, 1, 2]);
        check(with_sparse(negated(), &[none]), &Inputs::new(), &int64(&[2, 1, 2], &[0; 4]));
    }
    // Two 4-bit elements share a byte.
    let raw = Message::default().int(1, 3).int(2, 22).text(8, "s").bytes(9, &[0x7f, 0x08]);
    let int4 = of(&raw, &initializer("", &[3], &[0, 2, 3]), &[5]);
    let nodes = vec![node("Cast", &["s"], &["y"], &[("to", 7)])];
    let graph = Graph { nodes, outputs: vec![value("y", 0, &[])], ..Graph::default() };
    check(with_sparse(graph, &[int4]), &Inputs::new(), &int64(&[5], &[-1, 0, 7, -8, 0]));
}

#[test]
fn a_sparse_initializer_is_the_default_of_an_input_of_its_name() {
    let graph = Graph { inputs: vec![value("s", 1, &[Some(3)])], ..negated() };
    let model = with_sparse(graph, &[sparse("s", &[2.0, 4.0], (&[2], &[0, 1]), &[3])]);
    let given = Inputs::new().with_tensor("s", f32s(&[3], &[1.0, 2.0, 3.0]));
    check(model.clone(), &given, &f32s(&[3], &[-1.0, -2.0, -3.0]));
    check(model, &Inputs::new(), &f32s(&[3], &[-2.0, -4.0, -0.0]));
}

#[test]
fn a_constant_and_a_subgraph_may_be_sparse() {
    let value_of = |dims: &[i64]| sparse("", &[3.0], (&[1], &[1]), dims);
    let attribute = Message::default().text(1, "sparse_value").message(22, value_of(&[2]));
    let constant = node("Constant", &[], &["s"], &[]).message(5, attribute.clone().int(20, 11));
    for opset in [11, 13, 24] {
        let nodes = vec![constant.clone(), node("Abs", &["s"], &["y"], &[])];
        let graph = Graph { nodes, outputs: vec![value("y", 0, &[])], ..Graph::default() };
        check(model(opset, graph), &Inputs::new(), &f32s(&[2], &[0.0, 3.0]));
    }
    let branch = |op: &str| {
        let nodes = vec![node(op, &["s"], &["z"], &[])];
        let graph = Graph { nodes, outputs: vec![value("z", 0, &[])], ..Graph::default() };
        graph.message().message(15, sparse("s", &[3.0], (&[1], &[1]), &[2]))
    };
    let attribute = |name, graph| Message::default().text(1, name).message(6, graph).int(20, 5);
    let choice = node("If", &["c"], &["y"], &[])
        .message(5, attribute("then_branch", branch("Abs")))
        .message(5, attribute("else_branch", branch("Exp")));
    let inputs = vec![value("c", 9, &[])];
    let graph = Graph {
        nodes: vec![choice],
        inputs,
        outputs: vec![value("y", 0, &[])],
        ..Graph::default()
    };
    let given = Inputs::new().with_tensor("c", truth(true));
    check(model(20, graph), &given, &f32s(&[2], &[0.0, 3.0]));
}

#[test]
fn what_a_sparse_tensor_lists_has_to_be_in_it_once_and_in_order() {
    let two = |indices: (&[i64], &[i64])| refusal(&[sparse("s", &[1.0, 2.0], indices, &[2, 3])]);
    let of_two = "sparse tensor 's': ";
    for (indices, problem) in [
        ((&[2][..], &[0, 6][..]), "index [6] is out of range; accepted: below [6]"),
        ((&[2], &[-1, 2]), "index [-1] is out of range; accepted: below [6]"),
        ((&[2, 2], &[0, 0, 0, 3]), "index [0, 3] is out of range; accepted: below [2, 3]"),
        (
            (&[2], &[4, 1]),
            "index [1] is not after the one before it; accepted: each once, in rising order",
        ),
        (
            (&[2, 2], &[1, 0, 1, 0]),
            "index [1, 0] is not after the one before it; accepted: each once, in rising order",
        ),
        ((&[1], &[1]), "indices of int64 [1]; accepted: int64 [2] or [2, 2]"),
        ((&[2, 3], &[0; 6]), "indices of int64 [2, 3]; accepted: int64 [2] or [2, 2]"),
    ] {
        assert_eq!(two(indices), format!("{of_two}{problem}"));
    }
    let values = floats("s", &[1], &[1.0]);
    let indices = floats("", &[1], &[0.0]);
    let message = refusal(&[of(&values, &indices, &[2])]);
    assert_eq!(message, "sparse tensor 's': indices of float32 [1]; accepted: int64 [1] or [1, 1]");
    let indices = initializer("", &[1], &[0]);
    let message = refusal(&[of(&floats("s", &[1, 1], &[1.0]), &indices, &[2])]);
    assert_eq!(message, "sparse tensor 's': values of [1, 1]; accepted: one dimension");
    let message = refusal(&[Message::default().message(1, values.clone()).int(3, 2)]);
    assert_eq!(message, "sparse tensor 's': it has no indices");
    let twice = of(&values, &indices, &[2]);
    assert_eq!(refusal(&[twice.clone(), twice]), "initializer 's' is defined twice");
}

#[test]
fn the_zeros_of_a_sparse_tensor_are_limited() {
    let huge = |dims: &[i64]| refusal(&[sparse("s", &[1.0], (&[1], &[0]), dims)]);
    for dims in [&[1 << 29][..], &[i64::MAX, i64::MAX], &[1 << 20, 1 << 20]] {
        let message = huge(dims);
        assert!(message.contains("in at most 1073741824 bytes"), "{message}");
    }
    // More values than the tensor has elements.
    assert!(huge(&[0, 4]).contains("1 values in [0, 4]"), "{}", huge(&[0, 4]));
    assert!(huge(&[-1]).contains("-1 is not a size"));
}
