//! Slices are read where they are, parts of a joined tensor are written where they belong, and what is computed of a joined
//! tensor is computed of its parts.

use dml_core::graph::{GraphBuilder, GraphValue};
use dml_core::operators::{
    ElementWiseAddDesc, ElementWiseMultiplyDesc, ElementWiseNegateDesc, ElementWiseSubtractDesc,
    JoinDesc, SliceDesc,
};
use dml_core::{DataType, TensorDesc};
use dml_reference::Random;

use super::{Explanation, check, valid};

const HEADS: u32 = 3;
const HALF: u32 = 8;

fn tensor(rows: u32, elements: u32) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[HEADS, rows, elements])
}

/// The elements of each head from `first` on.
fn slice(graph: &mut GraphBuilder, value: GraphValue, first: u32, elements: u32) -> GraphValue {
    let desc = SliceDesc {
        input_tensor: tensor(1, 2 * HALF),
        output_tensor: tensor(1, elements),
        offsets: vec![0, 0, first],
        sizes: vec![HEADS, 1, elements],
        strides: vec![1, 1, 1],
    };
    graph.operator(desc, &[value])
}

/// `one * cos - other * sin`, or the sum of `one * sin` and `other * cos`.
#[derive(Clone, Copy)]
enum Part {
    Real,
    Imaginary,
}

fn rotated(
    graph: &mut GraphBuilder,
    pair: [GraphValue; 2],
    angle: [GraphValue; 2],
    part: Part,
) -> GraphValue {
    let [one, other] = pair;
    let [cos, sin] = angle;
    let all = || tensor(1, HALF);
    let mut times = |a, b| {
        let angle = all().with_strides(&[0, 0, 1]);
        let desc =
            ElementWiseMultiplyDesc { a_tensor: all(), b_tensor: angle, output_tensor: all() };
        graph.operator(desc, &[a, b])
    };
    match part {
        Part::Real => {
            let products = [times(one, cos), times(other, sin)];
            let desc =
                ElementWiseSubtractDesc { a_tensor: all(), b_tensor: all(), output_tensor: all() };
            graph.operator(desc, &products)
        }
        Part::Imaginary => {
            let products = [times(one, sin), times(other, cos)];
            let desc =
                ElementWiseAddDesc { a_tensor: all(), b_tensor: all(), output_tensor: all() };
            graph.operator(desc, &products)
        }
    }
}

fn join(
    graph: &mut GraphBuilder,
    inputs: [(GraphValue, TensorDesc); 2],
    output: TensorDesc,
    axis: u32,
) -> GraphValue {
    let [(a, of_a), (b, of_b)] = inputs;
    graph.operator(
        JoinDesc { input_tensors: vec![of_a, of_b], output_tensor: output, axis },
        &[a, b],
    )
}

/// How a rotary embedding is executed, whose result is appended to `past` rows of each head.
fn explained_rotary(past: Option<u32>) -> Explanation {
    let mut graph = GraphBuilder::new();
    let [x, cos, sin] = [(); 3].map(|()| graph.input());
    let pair = [0, HALF].map(|first| slice(&mut graph, x, first, HALF));
    let parts = [Part::Real, Part::Imaginary];
    let parts = parts.map(|part| (rotated(&mut graph, pair, [cos, sin], part), tensor(1, HALF)));
    let row = join(&mut graph, parts, tensor(1, 2 * HALF), 2);
    match past {
        None => graph.output(row),
        Some(past) => {
            let cache = (graph.input(), tensor(past, 2 * HALF));
            let row = (row, tensor(1, 2 * HALF));
            let all = join(&mut graph, [cache, row], tensor(past + 1, 2 * HALF), 1);
            graph.output(all);
        }
    }
    let what = format!("{past:?}");
    check(&valid(&graph.finish()), &mut Random::new(&what), &what)
}

fn steps(explanation: &Explanation) -> usize {
    explanation.parts.iter().map(|part| part.steps).sum()
}

#[test]
fn a_rotary_embedding_is_one_dispatch() {
    let explanation = explained_rotary(None);
    assert_eq!(steps(&explanation), 1, "{explanation}");
}

/// `row * cos + rotated * sin`, where the second half of a row, negated, is rotated before the first one: as exporters write
/// a rotary embedding.
#[test]
fn a_rotary_embedding_of_joined_halves_is_one_dispatch() {
    let mut graph = GraphBuilder::new();
    let [x, cos, sin] = [(); 3].map(|()| graph.input());
    let halves = [0, HALF].map(|first| slice(&mut graph, x, first, HALF));
    let (half, row) = (|| tensor(1, HALF), || tensor(1, 2 * HALF));
    let negated = ElementWiseNegateDesc { input_tensor: half(), output_tensor: half() };
    let negated = graph.operator(negated, &[halves[1]]);
    let rotated = join(&mut graph, [(negated, half()), (halves[0], half())], row(), 2);
    let mut times = |a, b| {
        let angle = row().with_strides(&[0, 0, 1]);
        let desc =
            ElementWiseMultiplyDesc { a_tensor: row(), b_tensor: angle, output_tensor: row() };
        graph.operator(desc, &[a, b])
    };
    let products = [times(x, cos), times(rotated, sin)];
    let sum = ElementWiseAddDesc { a_tensor: row(), b_tensor: row(), output_tensor: row() };
    let sum = graph.operator(sum, &products);
    graph.output(sum);
    let explanation = check(&valid(&graph.finish()), &mut Random::new("joined"), "joined");
    assert_eq!(steps(&explanation), 1, "{explanation}");
    assert!(explanation.not_fused.is_empty(), "{explanation}");
}

/// A sum of what is joined is a sum of each part, in one dispatch for both. What others read too, or whose parts are not
/// whole quads, is stored first, also in one dispatch for both parts.
#[test]
fn what_is_computed_of_a_joined_tensor_is_computed_of_its_parts() {
    for (elements, is_read_again, expected) in [(8, false, 1), (8, true, 3), (6, false, 2)] {
        let mut graph = GraphBuilder::new();
        let [a, b, other] = [(); 3].map(|()| graph.input());
        let (part, all) = (|| tensor(2, elements), || tensor(2, 2 * elements));
        let double = |graph: &mut GraphBuilder, value| {
            let [a_tensor, b_tensor, output_tensor] = [(); 3].map(|()| part());
            graph
                .operator(ElementWiseAddDesc { a_tensor, b_tensor, output_tensor }, &[value, value])
        };
        let parts = [a, b].map(|it| (double(&mut graph, it), part()));
        let joined = join(&mut graph, parts, all(), 2);
        let [a_tensor, b_tensor, output_tensor] = [(); 3].map(|()| all());
        let sum = ElementWiseAddDesc { a_tensor, b_tensor, output_tensor };
        let sum = graph.operator(sum, &[joined, other]);
        if is_read_again {
            let output = graph.operator(
                ElementWiseNegateDesc { input_tensor: all(), output_tensor: all() },
                &[joined],
            );
            graph.output(output);
        }
        graph.output(sum);
        let what = format!("{elements} {is_read_again}");
        let explanation = check(&valid(&graph.finish()), &mut Random::new(&what), &what);
        assert_eq!(steps(&explanation), expected, "{what}: {explanation}");
    }
}

#[test]
fn a_rotated_row_is_written_to_the_cache_that_it_is_appended_to() {
    let explanation = explained_rotary(Some(5));
    assert_eq!(steps(&explanation), 2, "the rotation, and a copy of the past: {explanation}");
}

/// Each Map reads a slice of whole quads where it is; any other slice is copied once for all Maps.
#[test]
fn slices_of_quads_are_read_where_they_are() {
    for (first, elements, steps_of_both) in [(0, 4, 2), (8, 8, 2), (1, 4, 3), (4, 6, 3)] {
        let mut graph = GraphBuilder::new();
        let [x, other] = [(); 2].map(|()| graph.input());
        let part = slice(&mut graph, x, first, elements);
        let all = || tensor(1, elements);
        let sum = ElementWiseAddDesc { a_tensor: all(), b_tensor: all(), output_tensor: all() };
        let sum = graph.operator(sum, &[part, other]);
        let product =
            ElementWiseMultiplyDesc { a_tensor: all(), b_tensor: all(), output_tensor: all() };
        let product = graph.operator(product, &[part, other]);
        graph.output(sum);
        graph.output(product);
        let what = format!("{first} {elements}");
        let explanation = check(&valid(&graph.finish()), &mut Random::new(&what), &what);
        assert_eq!(steps(&explanation), steps_of_both, "{what}: {explanation}");
    }
}
