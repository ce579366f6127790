//! Which nodes become one part: element-wise operators, and last steps of others, whose results nothing else
//! reads.

use std::collections::HashMap;

use dml_core::Error;
use dml_core::graph::{Source, ValidatedGraph};
use dml_core::schema::FieldKind;
use dml_spirv::element_wise::{MAX_INPUTS, MAX_PARAMETERS};

use super::program::{Merged, merged};
use super::values::Values;
use super::{Before, Forms};

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
    Fused(Merged<'a>),
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
    values: &Values,
    forms: &'a Forms,
    fuse: bool,
) -> Result<Groups<'a>, Error> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut group_of: HashMap<usize, usize> = HashMap::new();
    let mut refused = Vec::new();
    for node in graph.order().iter().rev().copied() {
        if graph.nodes()[node].operator().is_none() || !values.is_executed(node) {
            continue;
        }
        let reader = match (forms.contains_key(&node), fuse) {
            (true, true) => only_reader(graph, values, node, &group_of, &groups, forms),
            _ => Err(None),
        };
        let joined = reader.and_then(|group| {
            let nodes = [&[node], groups[group].nodes.as_slice()].concat();
            let merged = merged(graph, values, &nodes, forms).map_err(|_| None)?;
            fits(&merged).map(|()| (group, nodes, merged)).map_err(Some)
        });
        let before = forms.get(&node).and_then(|it| it.before.as_ref());
        match joined {
            Ok((group, nodes, merged)) => {
                groups[group] = Group { nodes, work: Work::Fused(merged) };
                group_of.insert(node, group);
                let before = before.map(Work::Before);
                groups.extend(before.map(|work| Group { nodes: vec![node], work }));
            }
            Err(reason) => {
                refused.extend(reason.map(|reason| (node, reason)));
                group_of.insert(node, groups.len());
                let work = match forms.contains_key(&node) && before.is_none() {
                    true => Work::Fused(merged(graph, values, &[node], forms)?),
                    false => Work::Operator,
                };
                groups.push(Group { nodes: vec![node], work });
            }
        }
    }
    // Each stands where its last node does.
    groups.reverse();
    refused.reverse();
    Ok(Groups { all: groups, refused })
}

/// The group that reads the result of `node`, where one alone does and sees it as it was written; else
/// why it cannot be fused, where an element-wise operator reads it.
fn only_reader(
    graph: &ValidatedGraph,
    values: &Values,
    node: usize,
    group_of: &HashMap<usize, usize>,
    groups: &[Group<'_>],
    forms: &Forms,
) -> Result<usize, Option<&'static str>> {
    let result = Source::Node { node, output: 0 };
    let readers = values.readers(result);
    let group = readers.first().and_then(|(reader, _)| group_of.get(reader)).ok_or(None)?;
    // What a node computes before its last step reads what is stored.
    let is_last_step = |reader: &usize| forms.get(reader).is_some_and(|it| it.before.is_some());
    if !matches!(groups[*group].work, Work::Fused(_)) || is_last_step(&readers[0].0) {
        return Err(None);
    }
    if !values.outputs(result).is_empty() {
        return Err(Some("its result is an output of the graph"));
    }
    let is_other = |reader: &usize| group_of.get(reader) != Some(group) || is_last_step(reader);
    if readers.iter().any(|(reader, _)| is_other(reader)) {
        return Err(Some("its result is read by several"));
    }
    let written = &forms[&node].form.space;
    for (reader, input) in readers {
        let space = &forms[reader].form.space;
        let tensor = graph.nodes()[*reader].tensor(FieldKind::Input, *input);
        let alike = space.sizes == written.sizes
            && space.inputs[*input].lies_as(&written.output, &written.sizes);
        if !alike || tensor.is_none() {
            return Err(Some("its result is read with other sizes or strides"));
        }
    }
    Ok(*group)
}

fn fits(merged: &Merged<'_>) -> Result<(), &'static str> {
    if merged.inputs.len() > MAX_INPUTS {
        return Err("one kernel would have too many inputs");
    }
    if merged.form.computation.parameters.len() > MAX_PARAMETERS {
        return Err("one kernel would have too many parameters");
    }
    if merged.estimated_bytes() > MAX_KERNEL_BYTES {
        return Err("one kernel would be too large");
    }
    Ok(())
}
