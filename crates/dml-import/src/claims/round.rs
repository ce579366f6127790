//! Evaluates a graph with guesses for its open sizes.

use dml_core::FeatureLevel;
use dml_core::graph::GRAPHS;

use crate::assemble::assemble;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::{
    Demand, Dimension, Evaluation, Extent, Graph, GraphInput, Need, Node, demanded, evaluate,
    fixed, topological,
};
use crate::inputs::Inputs;
use crate::inspect::{NodeSupport, Operators, support};
use crate::onnx::{self, Source, SourceNode};
use crate::program::{Operator, Work};
use crate::tensor::{Tensor, element_count};

use super::Claim;

/// Guesses for open dimensions, as a size and the rank for inputs of open rank. Pooling needs large sizes;
/// adding a constant to an open value needs size 1.
pub(super) const GUESSES: [(u64, usize); 4] = [(1, 2), (64, 3), (640, 4), (2, 5)];
/// Integer inputs of at most this many elements may determine shapes: a program is compiled for each of their
/// values.
const FEW: u64 = 64;

/// The result of evaluating a node with a guess.
pub(super) enum Verdict {
    Runs(Claim),
    Refused(String),
    /// With some sizes the node needs this higher feature level.
    NeedsLevel(FeatureLevel),
    /// For every guess, an earlier node that it depends on is refused.
    Blocked,
}

impl Verdict {
    /// Combines the verdicts for two guesses. A need for a higher level outweighs success, since any size may
    /// occur; otherwise the node runs if it runs for one guess, on the device if possible; else the first
    /// reason for refusing it remains.
    pub(super) fn or(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::NeedsLevel(a), Self::NeedsLevel(b)) => Self::NeedsLevel(*a.max(b)),
            (Self::NeedsLevel(_), _) => self,
            (_, Self::NeedsLevel(_)) => other,
            (Self::Runs(Claim::Device), _) | (_, Self::Blocked) => self,
            (Self::Runs(_), Self::Runs(Claim::Device)) => other,
            (Self::Runs(_), _) | (Self::Refused(_), Self::Refused(_)) => self,
            _ => other,
        }
    }

    /// Combines the verdicts of two nodes that have to run both.
    fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Refused(_), _) | (Self::Runs(Claim::Device), Self::Runs(_)) => self,
            (Self::Blocked | Self::NeedsLevel(_), Self::Runs(_)) => self,
            _ => other,
        }
    }
}

/// The nodes that are not decided yet, named by their indices, so that names are unique.
pub(super) struct Round {
    pub(super) graph: Graph,
    /// For each undecided node, the nodes of the graph that it was translated to.
    groups: Vec<Vec<usize>>,
    demanded: Vec<Demand>,
    /// For each value, whether it depends only on shapes, constants and inputs of few integers.
    is_hosted: Vec<bool>,
}

impl Round {
    /// The graph of the nodes that are not `decided`.
    pub(super) fn new(source: &Source, decided: &[Option<Claim>]) -> Result<Self> {
        let all = || source.nodes.iter().zip(decided);
        let mut inputs = source.inputs.clone();
        let cut = all().filter(|(_, it)| it.is_some()).flat_map(|(node, _)| &node.outputs);
        inputs.extend(cut.filter(|cut| !cut.name.is_empty()).cloned());
        let kept = all().filter(|(_, it)| it.is_none()).zip(0..);
        let named = |((node, _), number): ((&SourceNode, _), usize)| SourceNode {
            name: number.to_string(),
            ..node.clone()
        };
        let nodes: Vec<SourceNode> = kept.map(named).collect();
        let mut outputs = source.outputs.clone();
        if outputs.is_empty() {
            let values = nodes.iter().flat_map(|node| &node.outputs).chain(&inputs);
            let names = values.map(|value| value.name.clone()).filter(|name| !name.is_empty());
            outputs.extend(names.take(1));
        }
        let count = nodes.len();
        let constants = source.constants.clone();
        let is_input = |name: &String| inputs.iter().any(|input| input.name == *name);
        let first = constants.iter().filter(|(name, _)| !is_input(name)).count();
        let graph =
            onnx::graph(&Source { opset: source.opset, inputs, constants, nodes, outputs })?;
        let demanded = demanded(&graph, (&[], Demand::None), &[])?;
        let is_hosted = hosted(&graph)?;
        let mut groups = vec![vec![]; count];
        for (index, node) in graph.nodes.iter().enumerate().skip(first) {
            let number = node.name.name.parse::<usize>().ok();
            if let Some(group) = number.and_then(|number| groups.get_mut(number)) {
                group.push(index);
            }
        }
        Ok(Self { groups, graph, demanded, is_hosted })
    }

    /// The verdict on each node, over all guesses.
    pub(super) fn verdicts(&self, level: FeatureLevel) -> Result<Vec<Verdict>> {
        let unknown = |group: &Vec<usize>| {
            group.iter().find_map(|index| self.unknown_to_host(&self.graph.nodes[*index]))
        };
        let unknown: Vec<Option<usize>> = self.groups.iter().map(unknown).collect();
        if unknown.iter().any(Option::is_some) {
            // These nodes would make the host read device values, which is not possible here.
            let refused = |input| Verdict::Refused(super::decided_by_a_run(input));
            return Ok(unknown
                .into_iter()
                .map(|it| it.map_or(Verdict::Blocked, refused))
                .collect());
        }
        let mut all: Vec<Verdict> = self.groups.iter().map(|_| Verdict::Blocked).collect();
        for guess in GUESSES {
            let found = self.verdicts_for(level, |input| guessed(input, guess))?;
            all = all.into_iter().zip(found).map(|(before, it)| before.or(it)).collect();
        }
        Ok(all)
    }

    /// The verdict on each node for inputs of these shapes.
    pub(super) fn verdicts_for(
        &self,
        level: FeatureLevel,
        shape: impl Fn(&GraphInput) -> Vec<u64>,
    ) -> Result<Vec<Verdict>> {
        let evaluation = evaluate(&self.graph, &self.inputs(shape), Extent::Nodes)?;
        Ok(self.verdicts_of(&evaluation, level))
    }

    /// The verdict on the only node for inputs of these shapes, with operators executed one by one.
    pub(super) fn single_operators(
        &self,
        level: FeatureLevel,
        shape: impl Fn(&GraphInput) -> Vec<u64>,
    ) -> Result<Verdict> {
        let evaluation = evaluate(&self.graph, &self.inputs(shape), Extent::Nodes)?;
        let verdict = self.verdicts_of(&evaluation, level).pop().unwrap_or(Verdict::Blocked);
        if !matches!(verdict, Verdict::Runs(Claim::Device) | Verdict::NeedsLevel(_)) {
            return Ok(verdict);
        }
        let program = match assemble(&self.graph, &evaluation) {
            Ok(program) => program,
            Err(error) => return Ok(Verdict::Refused(error.to_string())),
        };
        let needed = |operator: &Operator| match &operator.work {
            Work::Operator(only) => crate::graph::level(only).unwrap_or(FeatureLevel::HIGHEST),
            Work::Graph { .. } => GRAPHS,
        };
        let highest = program.operators.iter().map(needed).max();
        Ok(highest.filter(|highest| *highest > level).map_or(verdict, Verdict::NeedsLevel))
    }

    fn verdicts_of(&self, evaluation: &Evaluation, level: FeatureLevel) -> Vec<Verdict> {
        let operators = Operators::of(evaluation);
        let verdict = |index: &usize| {
            let node = &self.graph.nodes[*index];
            self.verdict(node, support(node, evaluation, operators.of_node(*index)), level)
        };
        let of_group = |group: &Vec<usize>| {
            group.iter().map(verdict).fold(Verdict::Runs(Claim::Host), Verdict::and)
        };
        self.groups.iter().map(of_group).collect()
    }

    fn verdict(&self, node: &Node, support: NodeSupport, level: FeatureLevel) -> Verdict {
        match support {
            NodeSupport::Alias => Verdict::Runs(Claim::Host),
            NodeSupport::Host if self.follows_from_shapes(node) => Verdict::Runs(Claim::Host),
            // The device: the host only evaluates it here because a guess leaves nothing to compute.
            NodeSupport::Host => Verdict::Runs(Claim::Device),
            NodeSupport::Operator { level: needed, .. }
            | NodeSupport::Operators { level: needed, .. } => match needed <= level {
                true => Verdict::Runs(Claim::Device),
                false => Verdict::NeedsLevel(needed),
            },
            NodeSupport::Unsupported(reason) => {
                let name = format!("{}: ", node.name);
                Verdict::Refused(reason.strip_prefix(&name).unwrap_or(&reason).to_owned())
            }
            NodeSupport::Blocked(_) | NodeSupport::AfterReading(_) | NodeSupport::Open => {
                Verdict::Blocked
            }
        }
    }

    /// Whether shapes may decide if the nodes run: all are known, and need no device value on the host.
    pub(super) fn depends_on_shapes(&self) -> bool {
        let is_known = |node: &Node| node.op.is_ok() && self.unknown_to_host(node).is_none();
        self.graph.nodes.iter().all(is_known)
    }

    fn follows_from_shapes(&self, node: &Node) -> bool {
        node.outputs.iter().flatten().all(|output| self.is_hosted[*output])
    }

    /// The number of the first input of the only node that the host would have to read from the device.
    pub(super) fn first_unknown_to_host(&self) -> Option<usize> {
        self.groups
            .iter()
            .flatten()
            .find_map(|group| self.unknown_to_host(&self.graph.nodes[*group]))
    }

    /// The number of the first input of `node` that the host would have to read from the device.
    fn unknown_to_host(&self, node: &Node) -> Option<usize> {
        let op = node.op.as_ref().ok()?;
        let mut inputs = node.inputs.iter().enumerate();
        let is_unknown = |index, value: usize| {
            matches!(op.need(index), Need::Host | Need::Wanted) && !self.is_hosted[value]
        };
        inputs.find_map(|(index, value)| {
            value.filter(|value| is_unknown(index, *value)).map(|_| index)
        })
    }

    fn inputs(&self, shape: impl Fn(&GraphInput) -> Vec<u64>) -> Inputs {
        self.graph.inputs.iter().fold(Inputs::new(), |inputs, input| {
            let Some(name) = input.names.first() else { return inputs };
            let shape = shape(input);
            let element = input.element.filter(|element| element.storage().is_some());
            let needs_values =
                self.demanded[input.value] != Demand::None && self.is_hosted[input.value];
            match element
                .filter(|_| needs_values)
                .map(|element| Tensor::filled(element, shape.clone(), 1))
            {
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

/// For each value, whether it depends only on shapes, constants and inputs of few integers.
fn hosted(graph: &Graph) -> Result<Vec<bool>> {
    let mut is_hosted = vec![false; graph.value_count];
    for input in &graph.inputs {
        let shape = input.shape.as_deref().and_then(fixed);
        let is_small = shape.and_then(|shape| element_count(&shape)).is_some_and(|it| it <= FEW);
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
