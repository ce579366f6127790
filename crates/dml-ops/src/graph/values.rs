//! The values of a graph: its inputs, and what its nodes write.

use std::collections::{HashMap, HashSet};

use dml_core::graph::{NodeWork, Source, ValidatedGraph};
use dml_core::schema::FieldKind;
use dml_core::{TensorFlags, TensorLayout, Validated};

use super::FusibleNodes;
use super::fusible::Fusible;
use crate::ir::Buffer;

/// What the nodes of a graph read and write.
pub(super) struct Values {
    /// What stands for a value that a folded copy gives: the value that it copies.
    copies: HashMap<Source, Source>,
    /// The nodes that are not executed: folded copies, and those whose results nothing needs.
    pub(super) folded: Vec<usize>,
    pub(super) unneeded: Vec<usize>,
    /// The nodes and input bindings that read a value, in the order of the graph.
    readers: HashMap<Source, Vec<(usize, usize)>>,
    /// The outputs of the graph that are a value.
    outputs: HashMap<Source, Vec<usize>>,
}

impl Values {
    /// Those of `graph`; with `fold` copies are looked through.
    pub(super) fn of(
        graph: &ValidatedGraph,
        needed: &[bool],
        fusible: &FusibleNodes,
        fold: bool,
    ) -> Self {
        let mut values = Self {
            copies: HashMap::new(),
            folded: vec![],
            unneeded: vec![],
            readers: HashMap::new(),
            outputs: HashMap::new(),
        };
        let outputs: HashSet<Source> = graph.outputs().iter().map(|(it, _)| *it).collect();
        for node in graph.order().iter().copied().filter(|_| fold) {
            let result = Source::Node { node, output: 0 };
            // What is an output of the graph has to be written there.
            if let Some(source) =
                copied(graph, fusible, node).filter(|_| !outputs.contains(&result))
            {
                values.copies.insert(result, values.root(source));
                values.folded.push(node);
            }
        }
        for (index, (source, _)) in graph.outputs().iter().enumerate() {
            values.outputs.entry(*source).or_default().push(index);
        }
        values.folded.retain(|it| needed[*it]);
        values.folded.sort_unstable();
        values.unneeded = (0..needed.len()).filter(|it| !needed[*it]).collect();
        for node in
            graph.order().iter().copied().filter(|it| values.is_executed(*it)).collect::<Vec<_>>()
        {
            for (input, source) in graph.nodes()[node].inputs.iter().enumerate() {
                let Some(source) = source else { continue };
                let root = values.root(*source);
                values.readers.entry(root).or_default().push((node, input));
            }
        }
        values
    }

    /// Whether a node is executed: it is neither folded nor without use.
    pub(super) fn is_executed(&self, node: usize) -> bool {
        self.folded.binary_search(&node).is_err() && self.unneeded.binary_search(&node).is_err()
    }

    /// The value that stands for this one.
    pub(super) fn root(&self, source: Source) -> Source {
        self.copies.get(&source).copied().unwrap_or(source)
    }

    /// What reads a value.
    pub(super) fn readers(&self, source: Source) -> &[(usize, usize)] {
        self.readers.get(&source).map_or(&[], Vec::as_slice)
    }

    /// The outputs of the graph that a value is.
    pub(super) fn outputs(&self, source: Source) -> &[usize] {
        self.outputs.get(&source).map_or(&[], Vec::as_slice)
    }
}

/// Which nodes of a graph are needed: from the last to the first, those whose results are outputs or are read by one
/// that is.
pub(super) fn needed(graph: &ValidatedGraph) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes().len()];
    let need = |source: &Source, needed: &mut [bool]| {
        if let Source::Node { node, .. } = source {
            needed[*node] = true;
        }
    };
    graph.outputs().iter().for_each(|(source, _)| need(source, &mut needed));
    for node in graph.order().iter().rev().copied() {
        if needed[node] {
            let sources = graph.nodes()[node].inputs.iter().flatten();
            sources.for_each(|source| need(source, &mut needed));
        }
    }
    needed
}

/// What a node copies where its result lies as what it reads.
fn copied(graph: &ValidatedGraph, fusible: &FusibleNodes, node: usize) -> Option<Source> {
    let Fusible::ElementWise(map) = fusible.get(&node)? else { return None };
    let node = &graph.nodes()[node];
    let operator = node.operator()?;
    let is_copy = map.computation.program.steps.is_empty() && map.space.inputs.len() == 1;
    let input = map.space.inputs.first().filter(|it| it.buffer == Some(Buffer::Input(0)))?;
    let [from, to] = [FieldKind::Input, FieldKind::Output].map(|kind| tensor(operator, kind));
    let (from, to) = (from?, to?);
    let owned = from.flags().contains(TensorFlags::OWNED_BY_DML);
    let lies_alike = input.lies_as(&map.space.output, &map.space.sizes);
    let is_alike = is_copy && !owned && lies_alike && from.data_type() == to.data_type();
    // Whatever reads the result may read all of its bytes.
    let source = node.inputs[0].filter(|_| is_alike)?;
    (bytes(graph, source)? >= to.total_size()).then_some(source)
}

fn tensor(operator: &Validated, kind: FieldKind) -> Option<&TensorLayout> {
    operator.tensors(kind).next()?.1
}

/// The bytes that a value has.
pub(super) fn bytes(graph: &ValidatedGraph, source: Source) -> Option<u64> {
    match source {
        Source::Input(index) => graph.inputs()[index].as_ref().map(|it| it.size),
        Source::Node { node, output } => match &graph.nodes()[node].work {
            NodeWork::Constant(bytes) => Some(bytes.len() as u64),
            NodeWork::Operator(_) => {
                graph.nodes()[node].tensor(FieldKind::Output, output).map(TensorLayout::total_size)
            }
        },
    }
}
