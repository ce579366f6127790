//! Which nodes of a graph run, for a runtime that keeps the others: it cannot take a node back when a
//! shape turns out to be one that is not run.
//!
//! The graph is evaluated for several sizes of what is open. Where a node is refused, its outputs become
//! inputs, of the types that the other reader knows, so that what comes after it is judged as well.

use std::collections::HashMap;

use dml_core::FeatureLevel;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::{
    Dimension, Evaluation, Extent, Graph, GraphInput, Need, Node, demanded, evaluate, topological,
};
use crate::inputs::Inputs;
use crate::inspect::{NodeSupport, Operators, support};
use crate::onnx::{self, Source, SourceNode, SourceValue};
use crate::tensor::{Tensor, element_count};

/// What is open is taken for this: a size, and how many dimensions where that is open as well. What pools
/// needs many elements; what is added to something that is open needs 1.
const GUESSES: [(u64, usize); 3] = [(1, 2), (64, 3), (640, 4)];
/// Elements of an input whose values shapes may depend on: a program is compiled for each of them.
const FEW: u64 = 64;

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
    let mut refused = uncarried(source);
    loop {
        let mut is_new = false;
        let mut verdicts = match refused.iter().any(Option::is_none) {
            true => Round::new(source, &refused)?.verdicts(level)?.into_iter(),
            false => Vec::new().into_iter(),
        };
        let mut claims = Vec::with_capacity(refused.len());
        for reason in &mut refused {
            let claim = match reason {
                Some(reason) => Claim::Refused(reason.clone()),
                None => match verdicts.next() {
                    Some(Verdict::Runs(claim)) => claim,
                    Some(Verdict::Refused(why)) => {
                        is_new = true;
                        *reason = Some(why.clone());
                        Claim::Refused(why)
                    }
                    Some(Verdict::Blocked) | None => {
                        Claim::Refused("that depends on nodes that do not run together".to_owned())
                    }
                },
            };
            claims.push(claim);
        }
        if !is_new {
            return Ok(claims);
        }
    }
}

/// Why nodes are refused whose values no other runtime can hand over as tensors of this one.
fn uncarried(source: &Source) -> Vec<Option<String>> {
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
        Some(format!("{element} is not handed over"))
    };
    source.nodes.iter().map(refused).collect()
}

/// What is found of a node.
enum Verdict {
    Runs(Claim),
    Refused(String),
    /// Whatever is guessed, something before it is refused.
    Blocked,
}

/// The nodes that are not refused yet. They are named by their numbers, so that no two have one name.
struct Round {
    graph: Graph,
    /// The nodes of the graph before those that are asked about: constants.
    first: usize,
    demanded: Vec<bool>,
    /// Whether values follow from shapes, from constants, and from a few integers.
    is_hosted: Vec<bool>,
}

impl Round {
    fn new(source: &Source, refused: &[Option<String>]) -> Result<Self> {
        let all = || source.nodes.iter().zip(refused);
        let mut inputs = source.inputs.clone();
        let cut = all().filter(|(_, it)| it.is_some()).flat_map(|(node, _)| &node.outputs);
        inputs.extend(cut.filter(|it| !it.name.is_empty()).cloned());
        let kept = all().filter(|(_, it)| it.is_none()).zip(0..);
        let named = |((node, _), number): ((&SourceNode, _), usize)| SourceNode {
            name: number.to_string(),
            ..node.clone()
        };
        let nodes: Vec<SourceNode> = kept.map(named).collect();
        let outputs = nodes.iter().flat_map(|node| &node.outputs).chain(&inputs);
        let outputs =
            outputs.map(|it| it.name.clone()).filter(|name| !name.is_empty()).take(1).collect();
        let count = nodes.len();
        let constants = source.constants.clone();
        let graph =
            onnx::graph(&Source { opset: source.opset, inputs, constants, nodes, outputs })?;
        let demanded = demanded(&graph, &[], &[])?;
        let is_hosted = hosted(&graph)?;
        Ok(Self { first: graph.nodes.len() - count, graph, demanded, is_hosted })
    }

    fn verdicts(&self, level: FeatureLevel) -> Result<Vec<Verdict>> {
        let guess = |guess| evaluate(&self.graph, &self.inputs(guess), Extent::Nodes);
        let evaluations = GUESSES.into_iter().map(guess).collect::<Result<Vec<_>>>()?;
        let evaluations: Vec<(Operators, Evaluation)> =
            evaluations.into_iter().map(|it| (Operators::of(&it), it)).collect();
        let nodes = self.graph.nodes.iter().enumerate().skip(self.first);
        Ok(nodes.map(|(index, node)| self.verdict(index, node, &evaluations, level)).collect())
    }

    fn verdict(
        &self,
        index: usize,
        node: &Node,
        evaluations: &[(Operators, Evaluation)],
        level: FeatureLevel,
    ) -> Verdict {
        if let Some(input) = self.unknown_to_host(node) {
            let problem = "decides shapes or parameters, and follows from what runs bring";
            return Verdict::Refused(format!("input {input} {problem}"));
        }
        let mut verdict = Verdict::Blocked;
        for (operators, evaluation) in evaluations {
            let found = match support(node, evaluation, operators.of_node(index)) {
                NodeSupport::Host | NodeSupport::Alias => Verdict::Runs(Claim::Host),
                NodeSupport::Operator { level: needed, .. }
                | NodeSupport::Operators { level: needed, .. } => match needed <= level {
                    true => return Verdict::Runs(Claim::Device),
                    false => Verdict::Refused(format!("it needs feature level {needed}")),
                },
                NodeSupport::Unsupported(reason) => {
                    let name = format!("{}: ", node.name);
                    Verdict::Refused(reason.strip_prefix(&name).unwrap_or(&reason).to_owned())
                }
                NodeSupport::Blocked(_) => continue,
            };
            if matches!(verdict, Verdict::Blocked) || matches!(found, Verdict::Runs(_)) {
                verdict = found;
            }
        }
        verdict
    }

    /// The first input that the host has to know and cannot.
    fn unknown_to_host(&self, node: &Node) -> Option<usize> {
        let op = node.op.as_ref().ok()?;
        let mut inputs = node.inputs.iter().enumerate();
        let is_unknown =
            |index, value: usize| op.need(index) == Need::Host && !self.is_hosted[value];
        inputs.find_map(|(index, value)| value.filter(|it| is_unknown(index, *it)).map(|_| index))
    }

    fn inputs(&self, guess: (u64, usize)) -> Inputs {
        self.graph.inputs.iter().fold(Inputs::new(), |inputs, input| {
            let Some(name) = input.names.first() else { return inputs };
            let shape = guessed(input, guess);
            let element = input.element.filter(|it| it.storage().is_some());
            let needs_values = self.demanded[input.value] && self.is_hosted[input.value];
            match element.filter(|_| needs_values).map(|it| Tensor::filled(it, shape.clone(), 1)) {
                Some(Ok(tensor)) => inputs.with_tensor(name, tensor),
                _ => inputs.with_shape(name, shape),
            }
        })
    }
}

fn guessed(input: &GraphInput, (size, rank): (u64, usize)) -> Vec<u64> {
    let known = |it: &Dimension| match it {
        Dimension::Known(size) => *size,
        _ => size,
    };
    input.shape.as_ref().map_or_else(|| vec![size; rank], |it| it.iter().map(known).collect())
}

/// Which values follow from shapes, from constants, and from a few integers that a run brings.
fn hosted(graph: &Graph) -> Result<Vec<bool>> {
    let mut is_hosted = vec![false; graph.value_count];
    for input in &graph.inputs {
        let shape = input.shape.as_deref().and_then(crate::graph::fixed);
        let is_small = shape.and_then(|it| element_count(&it)).is_some_and(|it| it <= FEW);
        is_hosted[input.value] = is_small && input.element.is_some_and(ElementType::is_integer);
    }
    for index in topological(graph)? {
        let node = &graph.nodes[index];
        let Ok(op) = &node.op else { continue };
        let mut inputs = node.inputs.iter().enumerate();
        let known = inputs.all(|(index, value)| {
            value.is_none_or(|value| op.need(index) == Need::Shape || is_hosted[value])
        });
        node.outputs.iter().flatten().for_each(|output| is_hosted[*output] = known);
    }
    Ok(is_hosted)
}
