//! The evaluation order of nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::{Error, Result};
use crate::graph::{Graph, ValueId};

/// Node indices in topological order. Of several nodes that are ready, the first in the file comes next, so
/// that results of weights are computed shortly before they are used, and their memory is reused afterwards.
///
/// # Errors
/// [`Error::Malformed`]: nodes depend on each other in a circle, or two write the same value.
pub(crate) fn topological(graph: &Graph) -> Result<Vec<usize>> {
    let producers = producers(graph)?;
    if is_in_order(graph, &producers) {
        return Ok((0..graph.nodes.len()).collect());
    }
    let mut waiting_for = vec![0usize; graph.nodes.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for (index, node) in graph.nodes.iter().enumerate() {
        for input in node.inputs.iter().flatten() {
            if let Some(producer) = producers.get(*input).copied().flatten() {
                users[producer].push(index);
                waiting_for[index] += 1;
            }
        }
    }
    let is_ready = |index: &usize| waiting_for[*index] == 0;
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..graph.nodes.len()).filter(is_ready).map(Reverse).collect();
    let mut order = Vec::with_capacity(graph.nodes.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for user in &users[node] {
            waiting_for[*user] -= 1;
            if waiting_for[*user] == 0 {
                ready.push(Reverse(*user));
            }
        }
    }
    match waiting_for.iter().position(|count| *count > 0) {
        None => Ok(order),
        Some(index) => {
            let name = &graph.nodes[index].name;
            Err(Error::malformed(format!("{name}: nodes use each other's outputs in a circle")))
        }
    }
}

/// Whether each node comes after those whose outputs it reads, as most files have them.
fn is_in_order(graph: &Graph, producers: &[Option<usize>]) -> bool {
    graph.nodes.iter().enumerate().all(|(index, node)| {
        let mut inputs = node.inputs.iter().flatten();
        let producer = |value: &ValueId| producers.get(*value).copied().flatten();
        inputs.all(|input| producer(input).is_none_or(|producer| producer < index))
    })
}

/// The index of the node that writes each value.
///
/// # Errors
/// [`Error::Malformed`]: two nodes write the same value.
pub(crate) fn producers(graph: &Graph) -> Result<Vec<Option<usize>>> {
    let mut producers = vec![None; graph.value_count];
    for (index, node) in graph.nodes.iter().enumerate() {
        for output in node.outputs.iter().flatten() {
            if let Some(slot) = producers.get_mut(*output)
                && slot.replace(index).is_some()
            {
                let problem = format!("{}: another node writes the same value", node.name);
                return Err(Error::Malformed(problem));
            }
        }
    }
    Ok(producers)
}

/// For each node, whether the outputs depend on it.
pub(crate) fn needed(graph: &Graph, order: &[usize]) -> Vec<bool> {
    let mut values = vec![false; graph.value_count];
    let mut mark = |value: ValueId| {
        if let Some(slot) = values.get_mut(value) {
            *slot = true;
        }
    };
    graph.outputs.iter().for_each(|output| mark(output.value));
    let mut nodes = vec![false; graph.nodes.len()];
    for index in order.iter().rev() {
        let node = &graph.nodes[*index];
        if node.outputs.iter().flatten().any(|output| values.get(*output).copied().unwrap_or(false))
        {
            nodes[*index] = true;
            for input in node.inputs.iter().flatten() {
                if let Some(slot) = values.get_mut(*input) {
                    *slot = true;
                }
            }
        }
    }
    nodes
}
