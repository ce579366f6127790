//! Which nodes become one part: element-wise operators, and last steps of others, whose results nothing else
//! reads.

use std::collections::HashMap;

use dml_core::Error;
use dml_core::graph::{Source, ValidatedGraph};
use dml_core::schema::FieldKind;
use dml_spirv::element_wise::{MAX_INPUTS, MAX_PARAMETERS};

use super::Forms;
use super::fusible::Before;
use super::program::{Merged, merged};
use super::values::Values;
use crate::ir::Buffer;
use crate::ir::space::Operand;

/// SwiftShader's compiler takes longer than in proportion for kernels that are larger.
const MAX_KERNEL_BYTES: usize = 16 << 10;

/// The nodes of one part, in the order of the graph; the last one writes the result.
pub(super) struct Group<'a> {
    pub(super) nodes: Vec<usize>,
    pub(super) work: Work<'a>,
}

/// What a part does.
pub(super) enum Work<'a> {
    /// The one node, as it is lowered by itself.
    Operator,
    /// What the one node computes before its last step.
    Before(&'a Before),
    /// Element by element, what the nodes compute, of the first one maybe only the last step.
    Fused(Box<Merged<'a>>),
}

/// The parts of a graph, in an order in which they can be executed.
pub(super) struct Groups<'a> {
    pub(super) all: Vec<Group<'a>>,
    /// Nodes that were not fused with the one that reads them, and why.
    pub(super) refused: Vec<(usize, &'static str)>,
}

/// Groups the executed nodes of a graph. From its last node to its first, each joins the group that reads
/// it, if one alone does and the kernel stays small; so nothing else can come between them.
pub(super) fn groups<'a>(
    graph: &'a ValidatedGraph,
    values: &'a Values,
    forms: &'a Forms,
    fuse: bool,
) -> Result<Groups<'a>, Error> {
    let mut grouping = Grouping { graph, values, forms, all: vec![], of_node: HashMap::new() };
    let mut refused = Vec::new();
    for node in graph.order().iter().rev().copied() {
        if graph.nodes()[node].operator().is_none() || !values.is_executed(node) {
            continue;
        }
        match if fuse { grouping.join(node) } else { Err(None) } {
            Ok(()) => {}
            Err(reason) => {
                refused.extend(reason.map(|reason| (node, reason)));
                grouping.stand_alone(node)?;
            }
        }
    }
    // Each stands where its last node does.
    grouping.all.reverse();
    refused.reverse();
    Ok(Groups { all: grouping.all, refused })
}

/// Groups while they are made, the last one first.
struct Grouping<'a> {
    graph: &'a ValidatedGraph,
    values: &'a Values,
    forms: &'a Forms,
    all: Vec<Group<'a>>,
    /// The group of each node that has one, by which its result is written.
    of_node: HashMap<usize, usize>,
}

impl<'a> Grouping<'a> {
    /// What a node computes before its last step, where it is fused by that step alone.
    fn before(&self, node: usize) -> Option<&'a Before> {
        self.forms.get(&node)?.before.as_ref()
    }

    /// Puts `node` into the group that reads it, or says why not, where an element-wise operator does.
    fn join(&mut self, node: usize) -> Result<(), Option<&'static str>> {
        let group = self.only_reader(node)?;
        let nodes = [&[node], self.all[group].nodes.as_slice()].concat();
        let merged = merged(self.graph, self.values, &nodes, self.forms).map_err(|_| None)?;
        fits(&merged)?;
        if self.would_hold_more(node, &merged) {
            return Err(Some("what is larger than its result would be kept for longer"));
        }
        self.all[group] = Group { nodes, work: Work::Fused(Box::new(merged)) };
        self.of_node.insert(node, group);
        let before = self.before(node).map(Work::Before);
        self.all.extend(before.map(|work| Group { nodes: vec![node], work }));
        Ok(())
    }

    fn stand_alone(&mut self, node: usize) -> Result<(), Error> {
        let work = match self.forms.contains_key(&node) && self.before(node).is_none() {
            true => Work::Fused(Box::new(merged(self.graph, self.values, &[node], self.forms)?)),
            false => Work::Operator,
        };
        self.of_node.insert(node, self.all.len());
        self.all.push(Group { nodes: vec![node], work });
        Ok(())
    }

    /// The group that reads the result of `node`, where one alone does and sees it as it was written; else
    /// why it cannot be fused, where an element-wise operator reads it.
    fn only_reader(&self, node: usize) -> Result<usize, Option<&'static str>> {
        let Self { graph, values, forms, .. } = self;
        let written = &forms.get(&node).ok_or(None)?.map.space;
        let result = Source::Node { node, output: 0 };
        let readers = values.readers(result);
        let group = readers.first().and_then(|(reader, _)| self.of_node.get(reader)).ok_or(None)?;
        // What a node computes before its last step reads what is stored.
        let is_last_step = |reader: usize| self.before(reader).is_some();
        if !matches!(self.all[*group].work, Work::Fused(_)) || is_last_step(readers[0].0) {
            return Err(None);
        }
        if !values.outputs(result).is_empty() {
            return Err(Some("its result is an output of the graph"));
        }
        let is_other = |reader| self.of_node.get(&reader) != Some(group) || is_last_step(reader);
        if readers.iter().any(|(reader, _)| is_other(*reader)) {
            return Err(Some("its result is read by several"));
        }
        for (reader, input) in readers {
            let space = &forms[reader].map.space;
            let tensor = graph.nodes()[*reader].tensor(FieldKind::Input, *input);
            let of_result = |it: &&Operand| match it.buffer {
                Some(Buffer::Input(at)) => at as usize == *input,
                _ => false,
            };
            // A program may have several views of one input.
            let mut views = space.inputs.iter().filter(of_result);
            let alike = space.sizes == written.sizes
                && views.all(|it| it.lies_as(&written.output, &written.sizes));
            if !alike || tensor.is_none() {
                return Err(Some("its result is read with other sizes or strides"));
            }
        }
        Ok(*group)
    }

    /// Whether what `node` computes first takes more bytes than its result, and would have to wait for something
    /// that is computed later.
    fn would_hold_more(&self, node: usize, merged: &Merged<'_>) -> bool {
        let Some(before) = self.before(node) else { return false };
        let result = self.graph.nodes()[node].tensor(FieldKind::Output, 0);
        let is_larger = result.is_none_or(|it| before.tensor.total_size() > it.total_size());
        let place = |node: usize| self.graph.order().iter().position(|it| *it == node);
        let is_later = |source: &Source| match source {
            Source::Node { node: other, .. } => place(*other) > place(node),
            Source::Input(_) => false,
        };
        is_larger && merged.inputs.iter().any(|(source, _)| is_later(source))
    }
}

fn fits(merged: &Merged<'_>) -> Result<(), Option<&'static str>> {
    if merged.inputs.len() > MAX_INPUTS {
        return Err(Some("one kernel would have too many inputs"));
    }
    if merged.map.computation.parameters.len() > MAX_PARAMETERS {
        return Err(Some("one kernel would have too many parameters"));
    }
    if merged.estimated_bytes() > MAX_KERNEL_BYTES {
        return Err(Some("one kernel would be too large"));
    }
    Ok(())
}
