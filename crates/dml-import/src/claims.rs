//! Which nodes of a graph run, for a runtime that keeps the others: it cannot take a node back when a
//! shape turns out to be one that is not run.
//!
//! The graph is evaluated for several sizes of what is open ([`mod@round`]). Where a node is refused, its
//! outputs become inputs, of the types that the other reader knows, so that what comes after it is judged as
//! well. A node that no such sizes fit is tried by itself ([`probe`]).

mod probe;
mod round;

use std::collections::HashMap;

use dml_core::FeatureLevel;

use crate::element::ElementType;
use crate::error::Result;
use crate::onnx::{self, Source, SourceNode, SourceValue};

use round::{Round, Verdict};

/// Whether a node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// On the device.
    Device,
    /// It is computed when shapes are found, or only says how elements are seen.
    Host,
    /// It does not run, for this reason.
    Refused(String),
}

/// Says of every node of the graph whether it runs with any shapes on a device of this level.
///
/// Graphs that are attributes are not read: operators with such attributes are refused.
///
/// # Errors
/// [`Error::Malformed`](crate::Error::Malformed): the graph as a whole is wrong.
pub fn claims(source: &Source, level: FeatureLevel) -> Result<Vec<Claim>> {
    // What is decided is no part of the graph any more.
    let mut decided = uncarried(source);
    while decided.iter().any(Option::is_none) {
        let mut verdicts = Round::new(source, &decided)?.verdicts(level)?.into_iter();
        let is_open = decided.iter().map(Option::is_none).collect::<Vec<_>>();
        let mut found = Vec::with_capacity(is_open.len());
        for (index, _) in is_open.iter().enumerate().filter(|(_, it)| **it) {
            let claim = match verdicts.next() {
                Some(Verdict::Runs(claim)) => claim,
                Some(Verdict::Refused(why)) => {
                    let claim = probe::claim(source, index, level)?.unwrap_or(Claim::Refused(why));
                    decided[index] = Some(claim);
                    continue;
                }
                Some(Verdict::Blocked) | None => {
                    Claim::Refused("what it depends on does not run together".to_owned())
                }
            };
            found.push((index, claim));
        }
        if found.len() == is_open.iter().filter(|it| **it).count() {
            found.into_iter().for_each(|(index, claim)| decided[index] = Some(claim));
        }
    }
    Ok(decided.into_iter().flatten().collect())
}

/// The nodes with values that no other runtime can hand over as tensors of this one.
fn uncarried(source: &Source) -> Vec<Option<Claim>> {
    let wrong = |it: &SourceValue| {
        let element = onnx::element_type(it.element)?;
        let is_wrong = element.half_byte().is_some() || element.storage().is_none();
        is_wrong.then(|| (it.name.clone(), element))
    };
    let given: HashMap<String, ElementType> = source.inputs.iter().filter_map(wrong).collect();
    let refused = |node: &SourceNode| {
        let input = node.inputs.iter().find_map(|name| given.get(name).copied());
        let output = || node.outputs.iter().find_map(wrong).map(|(_, element)| element);
        let element = input.or_else(output)?;
        Some(Claim::Refused(format!("{element} is not handed over")))
    };
    source.nodes.iter().map(refused).collect()
}
