//! Which nodes become one part: element-wise operators and epilogues, with the one Map or Reduce that reads their
//! results.

use std::collections::HashMap;

use dml_core::Error;
use dml_core::graph::{Source, ValidatedGraph};
use dml_core::schema::FieldKind;
use dml_spirv::element_wise::{MAX_INPUTS, MAX_PARAMETERS};

use super::FusibleNodes;
use super::fusible::{Body, Fusible};
use super::program::{Consumer, Merged, merged};
use super::values::Values;
use crate::ir::Buffer;
use crate::ir::space::{IterationSpace, Operand};

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
    /// The one node without its epilogue.
    Body(&'a Body),
    /// One Map or Reduce of all nodes: of the first node maybe only the epilogue, of the last node maybe only the body.
    Fused(Consumer, Box<Merged<'a>>),
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
    fusible: &'a FusibleNodes,
    fuse: bool,
) -> Result<Groups<'a>, Error> {
    let (all, of_node, of_rows) = (vec![], HashMap::new(), HashMap::new());
    let mut grouping = Grouping { graph, values, fusible, all, of_node, of_rows };
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
    fusible: &'a FusibleNodes,
    all: Vec<Group<'a>>,
    /// The group of each node that has one, by which its result is written.
    of_node: HashMap<usize, usize>,
    /// The group of the body of a node whose body is one Reduce.
    of_rows: HashMap<usize, usize>,
}

impl<'a> Grouping<'a> {
    /// A node without its epilogue, where it has one.
    fn body(&self, node: usize) -> Option<&'a Body> {
        self.fusible.get(&node)?.body()
    }

    fn merged(&self, nodes: &[usize], consumer: Consumer) -> Result<Work<'a>, Error> {
        let merged = merged(self.graph, self.values, nodes, consumer, self.fusible)?;
        Ok(Work::Fused(consumer, Box::new(merged)))
    }

    /// Puts `node` into the group that reads it, or says why not, where an element-wise operator does.
    fn join(&mut self, node: usize) -> Result<(), Option<&'static str>> {
        let group = self.only_reader(node)?;
        let Work::Fused(consumer, _) = self.all[group].work else { return Err(None) };
        let nodes = [&[node], self.all[group].nodes.as_slice()].concat();
        let work = self.merged(&nodes, consumer).map_err(|_| None)?;
        let Work::Fused(_, merged) = &work else { return Err(None) };
        fits(merged)?;
        if self.would_hold_more(node, merged) {
            return Err(Some("what is larger than its result would be kept for longer"));
        }
        self.all[group] = Group { nodes, work };
        self.of_node.insert(node, group);
        self.add_body(node).map_err(|_| None)
    }

    fn stand_alone(&mut self, node: usize) -> Result<(), Error> {
        let work = match self.fusible.get(&node) {
            Some(Fusible::ElementWise(_)) => self.merged(&[node], Consumer::Map)?,
            Some(Fusible::Rows(_)) => self.merged(&[node], Consumer::Rows)?,
            // Producers may join the body.
            Some(Fusible::Epilogue { body, .. }) if body.rows().is_some() => {
                let last = self.merged(&[node], Consumer::Map)?;
                self.of_node.insert(node, self.all.len());
                self.all.push(Group { nodes: vec![node], work: last });
                return self.add_body(node);
            }
            _ => Work::Operator,
        };
        self.of_node.insert(node, self.all.len());
        self.all.push(Group { nodes: vec![node], work });
        Ok(())
    }

    /// Adds the group of a node's body, where the node has an epilogue.
    fn add_body(&mut self, node: usize) -> Result<(), Error> {
        let Some(body) = self.body(node) else { return Ok(()) };
        let work = match body.rows() {
            Some(_) => {
                self.of_rows.insert(node, self.all.len());
                self.merged(&[node], Consumer::Rows)?
            }
            None => Work::Body(body),
        };
        self.all.push(Group { nodes: vec![node], work });
        Ok(())
    }

    /// The group by which a node reads one of its inputs, if it is fused, and the space in which it does.
    fn reading(&self, reader: usize, input: usize) -> Option<(usize, &'a IterationSpace)> {
        let group = |of: &HashMap<usize, usize>| of.get(&reader).copied();
        match self.fusible.get(&reader)? {
            Fusible::ElementWise(map) => Some((group(&self.of_node)?, &map.space)),
            Fusible::Rows(rows) => Some((group(&self.of_node)?, &rows.space)),
            Fusible::Epilogue { map, body } => {
                let rows = body.rows()?;
                // An input of both is stored.
                let is_read = map.space.inputs.iter().any(|it| is_input(it, input));
                Some((group(&self.of_rows)?, &rows.space)).filter(|_| !is_read)
            }
        }
    }

    /// The group that reads the result of `node`, where one alone does and sees it as it was written; else
    /// why it cannot be fused, where an element-wise operator reads it.
    fn only_reader(&self, node: usize) -> Result<usize, Option<&'static str>> {
        let written = &self.fusible.get(&node).and_then(Fusible::map).ok_or(None)?.space;
        let result = Source::Node { node, output: 0 };
        let readers = self.values.readers(result);
        let (first, input) = *readers.first().ok_or(None)?;
        let (group, _) = self.reading(first, input).ok_or(None)?;
        if !self.values.outputs(result).is_empty() {
            return Err(Some("its result is an output of the graph"));
        }
        let several = Some("its result is read by several");
        for (reader, input) in readers {
            let (other, space) = self.reading(*reader, *input).ok_or(several)?;
            if other != group {
                return Err(several);
            }
            let tensor = self.graph.nodes()[*reader].tensor(FieldKind::Input, *input);
            // A program may have several views of one input.
            let mut views = space.inputs.iter().filter(|it| is_input(it, *input)).peekable();
            let alike = space.sizes == written.sizes
                && views.peek().is_some()
                && views.all(|it| it.lies_as(&written.output, &written.sizes));
            if !alike || tensor.is_none() {
                return Err(Some("its result is read with other sizes or strides"));
            }
        }
        Ok(group)
    }

    /// Whether what `node` computes first takes more bytes than its result, and would have to wait for something
    /// that is computed later.
    fn would_hold_more(&self, node: usize, merged: &Merged<'_>) -> bool {
        let Some(body) = self.body(node) else { return false };
        let result = self.graph.nodes()[node].tensor(FieldKind::Output, 0);
        let is_larger = result.is_none_or(|it| body.tensor.total_size() > it.total_size());
        let place = |node: usize| self.graph.order().iter().position(|it| *it == node);
        let is_later = |source: &Source| match source {
            Source::Node { node: other, .. } => place(*other) > place(node),
            Source::Input(_) => false,
        };
        is_larger && merged.inputs.iter().any(|(source, _)| is_later(source))
    }
}

fn is_input(operand: &Operand, input: usize) -> bool {
    matches!(operand.buffer, Some(Buffer::Input(at)) if at as usize == input)
}

fn fits(merged: &Merged<'_>) -> Result<(), Option<&'static str>> {
    if merged.inputs.len() > MAX_INPUTS {
        return Err(Some("one kernel would have too many inputs"));
    }
    if merged.parameters() > MAX_PARAMETERS {
        return Err(Some("one kernel would have too many parameters"));
    }
    if merged.estimated_bytes() > MAX_KERNEL_BYTES {
        return Err(Some("one kernel would be too large"));
    }
    Ok(())
}
