//! Evaluations for sizes that models are commonly made for.

use std::collections::HashMap;

use crate::graph::{Dimension, Evaluation, Graph, evaluate_as_run};
use crate::inputs::{Input, Inputs};

/// Sizes for the outermost open dimension, such as a batch, and for the other open ones. Networks that halve an
/// image several times need multiples of a power of 2.
const SIZES: [[u64; 2]; 3] = [[1, 64], [1, 224], [1, 640]];

/// The shape of an input whose rank is unknown.
const UNKNOWN: [Dimension; 2] = [Dimension::ANY; 2];

/// Evaluates the graph for each of the sizes, until no node is refused.
pub(super) fn evaluations(graph: &Graph, given: &Inputs) -> Vec<Evaluation> {
    let mut all: Vec<Evaluation> = Vec::new();
    for sizes in SIZES {
        let Ok(evaluation) = evaluate_as_run(graph, &inputs(graph, given, sizes)) else { continue };
        let is_enough = super::refused(graph, &evaluation) == 0;
        all.push(evaluation);
        if is_enough {
            break;
        }
    }
    all
}

/// The inputs given, and all others with these sizes.
fn inputs(graph: &Graph, given: &Inputs, sizes: [u64; 2]) -> Inputs {
    let mut named = graph.named_sizes(given);
    let mut all = given.clone();
    for input in graph.inputs.iter().filter(|input| input.default.is_none()) {
        let Some(name) = input.names.first() else { continue };
        let shape = match input.given(given) {
            Some(Input::Tensor(_)) => continue,
            Some(Input::Shape(shape)) => shape.clone(),
            None => {
                let dimensions = input.shape.as_deref().unwrap_or(&UNKNOWN).iter().enumerate();
                let size = |(index, dimension): (usize, _)| {
                    size(dimension, sizes[index.min(1)], &mut named)
                };
                dimensions.map(size).collect()
            }
        };
        all = super::with(all, input, name, shape, 1);
    }
    all
}

/// The size of a dimension, or `open` where the model leaves it open.
fn size<'a>(dimension: &'a Dimension, open: u64, named: &mut HashMap<&'a str, u64>) -> u64 {
    match dimension {
        Dimension::Known(size) => *size,
        Dimension::Named(name) => *named.entry(name).or_insert(open),
        Dimension::Range(first, last) => open.clamp(*first, *last.max(first)),
    }
}
