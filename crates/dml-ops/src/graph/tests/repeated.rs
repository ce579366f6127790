//! Values that several nodes compute alike are computed once.

use dml_core::graph::{GraphBuilder, GraphValue};
use dml_core::operators::{ElementWiseMultiplyDesc, JoinDesc};
use dml_core::{DataType, TensorDesc, ValidatedGraph};
use dml_reference::Random;

use super::{check, sum, tensor, valid};

fn product() -> ElementWiseMultiplyDesc {
    ElementWiseMultiplyDesc { a_tensor: tensor(), b_tensor: tensor(), output_tensor: tensor() }
}

/// Adds two products with each of `values`, so that each is read by several nodes and stored.
fn read_twice(graph: &mut GraphBuilder, values: &[GraphValue], others: [GraphValue; 2]) {
    for value in values {
        for other in others {
            let result = graph.operator(product(), &[*value, other]);
            graph.output(result);
        }
    }
}

/// The numbers of executed parts, and the labels of nodes that an earlier one makes needless.
fn parts_and_repeated(graph: &ValidatedGraph, what: &str) -> (usize, Vec<String>) {
    let explanation = check(graph, &mut Random::new(what), what);
    let is_repeated = |node: &String| explanation.repeated.contains(node);
    assert!(!explanation.not_fused.iter().any(|it| is_repeated(&it.node)), "{explanation}");
    (explanation.parts.len(), explanation.repeated)
}

#[test]
fn chains_of_equal_nodes_are_executed_once() {
    let mut graph = GraphBuilder::new();
    let [a, b, c] = [(); 3].map(|()| graph.input());
    let chain = |graph: &mut GraphBuilder| {
        let first = graph.operator(sum(), &[a, b]);
        let second = graph.operator(sum(), &[first, c]);
        [first, second]
    };
    let chains = [chain(&mut graph), chain(&mut graph)].concat();
    read_twice(&mut graph, &chains, [b, c]);
    let (parts, repeated) = parts_and_repeated(&valid(&graph.finish()), "chains");
    assert_eq!(parts, 2 + 8);
    assert_eq!(repeated, ["Nodes[2]", "Nodes[3]"]);
}

#[test]
fn what_differs_in_an_input_or_is_an_output_is_executed() {
    let mut graph = GraphBuilder::new();
    let [a, b, c] = [(); 3].map(|()| graph.input());
    let sums = [[a, b], [b, a], [a, c], [a, b]].map(|inputs| graph.operator(sum(), &inputs));
    graph.output(sums[3]);
    read_twice(&mut graph, &sums, [b, c]);
    let (parts, repeated) = parts_and_repeated(&valid(&graph.finish()), "different");
    assert_eq!(parts, 4 + 8);
    assert!(repeated.is_empty(), "{repeated:?}");
}

#[test]
fn values_that_several_nodes_write_in_parts_are_made_once() {
    let join = || {
        let joined = TensorDesc::packed(DataType::Float32, &[8, 100]);
        JoinDesc { input_tensors: vec![tensor(), tensor()], output_tensor: joined, axis: 0 }
    };
    let twice = || {
        let joined = || TensorDesc::packed(DataType::Float32, &[8, 100]);
        ElementWiseMultiplyDesc { a_tensor: joined(), b_tensor: joined(), output_tensor: joined() }
    };
    let mut graph = GraphBuilder::new();
    let [a, b, c] = [(); 3].map(|()| graph.input());
    for inputs in [[a, b], [a, b], [a, c]] {
        let joined = graph.operator(join(), &inputs);
        for _ in 0..2 {
            let result = graph.operator(twice(), &[joined, joined]);
            graph.output(result);
        }
    }
    let (_, repeated) = parts_and_repeated(&valid(&graph.finish()), "joined");
    assert_eq!(repeated, ["Nodes[3]"]);
}
