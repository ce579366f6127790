//! Decides which device nodes are needed, which of them are executed once, and which graph each belongs to.

use std::collections::{BTreeMap, BTreeSet};

use dml_core::operators::DEQUANTIZE;
use dml_core::schema::FieldKind;

use super::Origin;
use crate::graph::DeviceNode;
use crate::graph::value::{Storage, Value};

/// Whether a value is the same in every run. `nodes` tells which nodes are constant.
pub(super) fn is_constant(storage: &Storage, nodes: &[bool]) -> bool {
    match storage {
        Storage::Tensor(_) | Storage::Constant(_) => true,
        Storage::Device { node, .. } => nodes[*node],
        Storage::Input(_) => false,
    }
}

/// The node and the output's index, for a value that a device node writes.
pub(super) fn device_value(storage: &Storage) -> Option<(usize, usize)> {
    match storage {
        Storage::Device { node, output } => Some((*node, *output)),
        _ => None,
    }
}

/// Which of the needed nodes depend only on weights, directly or through other such nodes.
pub(super) fn constants(nodes: &[DeviceNode], is_needed: &[bool]) -> Vec<bool> {
    let mut all: Vec<bool> = Vec::with_capacity(nodes.len());
    for (node, is_needed) in nodes.iter().zip(is_needed) {
        let mut inputs = node.inputs.iter().flatten().peekable();
        let reads_some = inputs.peek().is_some();
        let is_made_once = *is_needed && reads_some && !expands_blocks(node);
        all.push(is_made_once && inputs.all(|input| is_constant(input, &all)));
    }
    all
}

/// Whether a node dequantizes integers with a scale for each block: the kept result would be several times as
/// large, and operators that multiply by it can read the integers instead.
fn expands_blocks(node: &DeviceNode) -> bool {
    node.operator.schema() == &DEQUANTIZE
}

/// The index of each node's graph, and how many graphs are constant: those come before all others. Values have
/// one type along the edges of a graph, so a value that is read as another type than it was written as leaves
/// its graph.
///
/// Constant nodes that do not depend on each other get graphs of their own, so that programs for other shapes
/// share the results that are equal, whatever else they compute.
pub(super) fn divided(nodes: &[DeviceNode], is_constant: &[bool]) -> (Vec<usize>, usize) {
    let mut stages = vec![0; nodes.len()];
    let (constants, others): (Vec<usize>, Vec<usize>) =
        (0..nodes.len()).partition(|index| is_constant[*index]);
    let mut once = 0;
    for index in &constants {
        stages[*index] = stage(nodes, *index, &stages);
        once = once.max(stages[*index] + 1);
    }
    for index in others.iter().copied() {
        stages[index] = stage(nodes, index, &stages).max(once);
    }
    let first_of = connected(nodes, &constants, &stages);
    let parts: BTreeSet<(usize, usize)> =
        constants.iter().map(|index| (stages[*index], first_of[*index])).collect();
    let numbers: BTreeMap<(usize, usize), usize> = parts.into_iter().zip(0..).collect();
    for index in constants {
        stages[index] = numbers[&(stages[index], first_of[index])];
    }
    for index in others {
        stages[index] = stages[index] - once + numbers.len();
    }
    (stages, numbers.len())
}

/// For each constant node, the first node of its stage that it is connected with.
fn connected(nodes: &[DeviceNode], constants: &[usize], stages: &[usize]) -> Vec<usize> {
    let mut first_of: Vec<usize> = (0..nodes.len()).collect();
    for index in constants.iter().copied() {
        let read = nodes[index].inputs.iter().flatten().filter_map(device_value);
        for (earlier, _) in read.filter(|(earlier, _)| stages[*earlier] == stages[index]) {
            let [one, other] = [index, earlier].map(|node| first(&mut first_of, node));
            first_of[one.max(other)] = one.min(other);
        }
    }
    for index in constants.iter().copied() {
        first_of[index] = first(&mut first_of, index);
    }
    first_of
}

/// The representative of the set of `node` (union-find with path halving).
fn first(first_of: &mut [usize], mut node: usize) -> usize {
    while first_of[node] != node {
        first_of[node] = first_of[first_of[node]];
        node = first_of[node];
    }
    node
}

/// The first graph that a node can be in, given the graphs of the nodes that it reads.
fn stage(nodes: &[DeviceNode], index: usize, stages: &[usize]) -> usize {
    let node = &nodes[index];
    let read = node.operator.bindings(FieldKind::Input).map(|(_, tensor)| tensor);
    let after = node.inputs.iter().zip(read).filter_map(|(storage, tensor)| {
        let (from, output) = device_value(storage.as_ref()?)?;
        let written = nodes[from].outputs[output].element.storage();
        Some(stages[from] + usize::from(written != Some(tensor?.data_type)))
    });
    after.max().unwrap_or(0)
}

/// Which nodes the outputs depend on. Nodes only read earlier ones.
pub(super) fn needed(nodes: &[DeviceNode], outputs: &[(Origin, Value)]) -> Vec<bool> {
    let mut needed = vec![false; nodes.len()];
    for (origin, _) in outputs {
        if let Origin::Device((node, _)) = origin {
            needed[*node] = true;
        }
    }
    for (index, node) in nodes.iter().enumerate().rev() {
        if !needed[index] {
            continue;
        }
        for storage in node.inputs.iter().flatten() {
            if let Storage::Device { node, .. } = storage {
                needed[*node] = true;
            }
        }
    }
    needed
}
