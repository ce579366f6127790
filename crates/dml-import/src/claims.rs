//! Tells which nodes of a graph run, for a runtime that assigns the other nodes elsewhere: it cannot take a
//! node back when a shape turns out to be unsupported.
//!
//! The graph is evaluated for several guesses of open sizes ([`mod@round`]). The outputs of a refused node
//! become inputs of the types that the other reader knows, so that the nodes after it are judged as well. A
//! node that runs with none of these sizes is tried by itself, with sizes taken from the node ([`probe`]). On a
//! device without graphs every node is tried by itself.

mod probe;
mod round;

use std::collections::{HashMap, HashSet};

use dml_core::FeatureLevel;
use dml_core::graph::GRAPHS;

use crate::element::ElementType;
use crate::error::Result;
use crate::onnx::{self, Source, SourceNode, SourceValue};

use round::{Round, Verdict};

/// Whether and where a node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The node runs on the device.
    Device,
    /// The node is evaluated on the host when shapes are found, or only changes how elements are viewed.
    Host,
    /// The node does not run, for this reason.
    Refused(String),
}

/// Whether nodes may be joined to a DirectML graph at this feature level. At lower levels each node runs by
/// itself, and only on the device.
pub fn may_join(level: FeatureLevel) -> bool {
    level >= GRAPHS
}

/// For every node of the graph, whether it runs on a device of this feature level whatever its shapes are:
/// joined with others, or by itself if nodes [may not join](may_join).
///
/// Operators with graphs as attributes are refused, since the source does not have these graphs.
///
/// # Errors
/// [`Error::Malformed`](crate::Error::Malformed): the graph as a whole is wrong.
pub fn claims(source: &Source, level: FeatureLevel) -> Result<Vec<Claim>> {
    // Decided nodes are no longer part of the graph.
    let mut decided = uncarried(source);
    if !may_join(level) {
        return singles(source, decided, level);
    }
    while decided.iter().any(Option::is_none) {
        let mut verdicts = Round::new(source, &decided)?.verdicts(level)?.into_iter();
        let is_open = decided.iter().map(Option::is_none).collect::<Vec<_>>();
        let mut found = Vec::with_capacity(is_open.len());
        for (index, _) in is_open.iter().enumerate().filter(|(_, it)| **it) {
            let claim = match verdicts.next() {
                Some(Verdict::Runs(claim)) => claim,
                Some(Verdict::Refused(why)) => {
                    decided[index] = Some(by_itself(source, index, (level, why))?);
                    continue;
                }
                Some(Verdict::NeedsLevel(needed)) => {
                    decided[index] = Some(claim_of(Verdict::NeedsLevel(needed)));
                    continue;
                }
                Some(Verdict::Blocked) | None => claim_of(Verdict::Blocked),
            };
            found.push((index, claim));
        }
        if found.len() == is_open.iter().filter(|it| **it).count() {
            found.into_iter().for_each(|(index, claim)| decided[index] = Some(claim));
        }
    }
    Ok(decided.into_iter().flatten().collect())
}

/// The claim of a node that runs with none of the guesses for the whole graph; `why` is the reason they gave.
fn by_itself(source: &Source, index: usize, (level, why): (FeatureLevel, String)) -> Result<Claim> {
    Ok(match probe::claim(source, index, level)? {
        probe::ProbeResult::Runs(claim) => claim,
        probe::ProbeResult::Settled => Claim::Refused(why),
        probe::ProbeResult::None(sizes) => {
            let tried: Vec<String> = sizes.iter().rev().map(u64::to_string).collect();
            let tried = tried.join(", ");
            Claim::Refused(format!(
                "its shapes are open, and it runs with none of the sizes that were tried for them \
                 ({tried}); with 1: {why}"
            ))
        }
    })
}

/// The claims of nodes that each run by themselves.
fn singles(
    source: &Source,
    decided: Vec<Option<Claim>>,
    level: FeatureLevel,
) -> Result<Vec<Claim>> {
    // Fails if the graph as a whole is malformed.
    Round::new(source, &decided)?;
    let claim = |(index, decided): (usize, Option<Claim>)| match decided {
        Some(claim) => Ok(claim),
        None => probe::single(source, index, level),
    };
    decided.into_iter().enumerate().map(claim).collect()
}

fn claim_of(verdict: Verdict) -> Claim {
    match verdict {
        Verdict::Runs(claim) => claim,
        Verdict::Refused(why) => Claim::Refused(why),
        Verdict::NeedsLevel(level) => Claim::Refused(format!("it needs feature level {level}")),
        Verdict::Blocked => Claim::Refused("what it depends on does not run together".to_owned()),
    }
}

/// The reason for refusing a node whose input with this number the host would have to know before a run.
fn decided_by_a_run(input: usize) -> String {
    format!("input {input} decides shapes or parameters, and follows from what runs bring")
}

/// Refuses the nodes with values of types that another runtime cannot hand over as tensors of this one.
fn uncarried(source: &Source) -> Vec<Option<Claim>> {
    let wrong = |it: &SourceValue| {
        let element = onnx::element_type(it.element)?;
        let is_wrong = element.packed_bits().is_some()
            || element.small_float().is_some()
            || element.storage().is_none();
        is_wrong.then(|| (it.name.clone(), element))
    };
    let given: HashMap<String, ElementType> = source.inputs.iter().filter_map(wrong).collect();
    let is_of_sequence = of_sequences(source);
    let refused = |(node, is_of_sequence): (&SourceNode, bool)| {
        if is_of_sequence {
            return Some(Claim::Refused("sequences are not handed over".to_owned()));
        }
        let input = node.inputs.iter().find_map(|name| given.get(name).copied());
        let output = || node.outputs.iter().find_map(wrong).map(|(_, element)| element);
        let element = input.or_else(output)?;
        Some(Claim::Refused(format!("{element} is not handed over")))
    };
    source.nodes.iter().zip(is_of_sequence).map(refused).collect()
}

/// The operators that make or read sequences.
const SEQUENCES: [&str; 9] = [
    "ConcatFromSequence",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "SplitToSequence",
];

/// For each node, whether it makes or reads a sequence, as a loop does that hands one on.
fn of_sequences(source: &Source) -> Vec<bool> {
    let mut sequences: HashSet<&str> = HashSet::new();
    let mut found = Vec::with_capacity(source.nodes.len());
    for node in &source.nodes {
        let is_one = SEQUENCES.contains(&node.operator.as_str())
            || node.inputs.iter().any(|input| sequences.contains(input.as_str()));
        if is_one {
            // A value that is no tensor has no element type.
            let made = node.outputs.iter().filter(|output| output.element == 0);
            sequences.extend(made.map(|made| made.name.as_str()));
        }
        found.push(is_one);
    }
    found
}
