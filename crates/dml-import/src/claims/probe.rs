//! A node by itself, where guesses of what is open do not fit its constants: a convolution after values of
//! which nothing is known, for example, has as many channels as its filter.

use std::collections::BTreeSet;

use dml_core::FeatureLevel;

use crate::error::Result;
use crate::graph::{Dimension, GraphInput, fixed};
use crate::onnx::{Source, SourceValue};

use super::Claim;
use super::round::{Round, Verdict};

/// Sizes that are tried, ranks of inputs where they are open, and inputs of which either is.
const MOST_SIZES: usize = 5;
const RANKS: std::ops::RangeInclusive<usize> = 1..=4;
const MOST_OPEN: usize = 4;

/// How the node with this number runs with some shapes that are made of the sizes of its constants; `None`
/// where it does not, or has nothing open.
pub(super) fn claim(source: &Source, index: usize, level: FeatureLevel) -> Result<Option<Claim>> {
    let alone = alone(source, index);
    let round = Round::new(&alone, &[None])?;
    let inputs = &round.graph.inputs;
    let open: Vec<usize> =
        inputs.iter().filter(|it| shape(it).is_none()).map(|it| it.value).collect();
    if open.is_empty() || open.len() > MOST_OPEN || !round.depends_on_shapes() {
        return Ok(None);
    }
    for size in sizes(&alone) {
        for rank in RANKS {
            // Each bit says whether the first open dimension of an input is 1.
            for flat in 0..1usize << open.len() {
                let is_flat = |it: &GraphInput| {
                    open.iter()
                        .position(|value| *value == it.value)
                        .is_some_and(|at| flat >> at & 1 == 1)
                };
                let filled = |it: &GraphInput| filled(it, size, rank, is_flat(it));
                let verdict = round.verdicts_for(level, filled)?.pop();
                if let Some(Verdict::Runs(claim)) = verdict {
                    return Ok(Some(claim));
                }
            }
        }
    }
    Ok(None)
}

/// The node with what it reads.
fn alone(source: &Source, index: usize) -> Source {
    let node = source.nodes[index].clone();
    let is_read = |name: &str| !name.is_empty() && node.inputs.iter().any(|it| it == name);
    let values = source.nodes.iter().flat_map(|it| &it.outputs).chain(&source.inputs);
    let inputs: Vec<SourceValue> = values.filter(|it| is_read(&it.name)).cloned().collect();
    let constants = source.constants.iter().filter(|(name, _)| is_read(name)).cloned().collect();
    Source { opset: source.opset, inputs, constants, nodes: vec![node], outputs: vec![] }
}

/// The sizes of what is known, largest first, and 1.
fn sizes(alone: &Source) -> Vec<u64> {
    let constants = alone.constants.iter().flat_map(|(_, it)| it.shape.iter().copied());
    let inputs =
        alone.inputs.iter().filter_map(|it| it.shape.as_ref()).flatten().flatten().copied();
    let known: BTreeSet<u64> = constants.chain(inputs).filter(|it| *it > 1).collect();
    known.into_iter().rev().take(MOST_SIZES).chain([1]).collect()
}

fn shape(input: &GraphInput) -> Option<Vec<u64>> {
    fixed(input.shape.as_deref()?)
}

fn filled(input: &GraphInput, size: u64, rank: usize, is_flat: bool) -> Vec<u64> {
    let open = vec![Dimension::ANY; rank];
    let mut first = if is_flat { 1 } else { size };
    let mut sizes = Vec::new();
    for dimension in input.shape.as_ref().unwrap_or(&open) {
        sizes.push(match dimension {
            Dimension::Known(size) => *size,
            _ => std::mem::replace(&mut first, size),
        });
    }
    sizes
}
