//! Which inputs of a graph may be bound to the bytes of its outputs.

use std::collections::HashMap;

use dml_core::plan::{BoundAt, InPlace};

use crate::ir::{Binding, Buffer, Map, Node, Program, Recorded};

/// Beyond so many pairs of an input and an output, only pairs within one node are considered.
const MAX_PAIRS: usize = 1 << 12;

/// The pairs that may be the same bytes with the same steps: inputs that are read last before any node writes the
/// output, or by the Map that does, where each element lies alike.
pub(super) fn in_place(program: &Program) -> Vec<InPlace> {
    let nodes: Vec<&Node> = program.nodes.iter().flat_map(members).collect();
    let (mut last_read, mut first_write) = (HashMap::new(), HashMap::new());
    for (number, node) in nodes.iter().enumerate() {
        last_read.extend(node.reads().into_iter().map(|it| (it, number)));
        for buffer in node.writes() {
            first_write.entry(buffer).or_insert(number);
        }
    }
    let outputs = (0..).zip(&program.outputs);
    let outputs = outputs
        .filter_map(|(at, it)| Some((at, it.as_ref()?, *first_write.get(&Buffer::Output(at))?)));
    let outputs: Vec<(u32, &Binding, usize)> = outputs.collect();
    let is_small = program.inputs.len() * outputs.len() <= MAX_PAIRS;
    let mut pairs = vec![];
    for (output, written, number) in outputs {
        let is_alike = |input: &u32| {
            let binding = program.input(Buffer::Input(*input)).map(|it| &it.requirement);
            binding.is_some_and(|it| {
                it.size == written.requirement.size && it.bound_at == BoundAt::Execution
            })
        };
        let read = |input: &u32| last_read.get(&Buffer::Input(*input)).copied();
        let all = 0..u32::try_from(program.inputs.len()).unwrap_or(u32::MAX);
        let before = all.filter(|it| is_small && read(it).is_some_and(|it| it < number));
        let within = read_where_written(program, nodes[number]);
        let within = within.into_iter().filter(|it| read(it) == Some(number));
        let inputs = before.chain(within).filter(is_alike);
        pairs.extend(inputs.map(|input| InPlace::by_same_steps(input, output)));
    }
    pairs
}

/// The nodes that one is executed as.
fn members(recorded: &Recorded) -> Vec<&Node> {
    match &recorded.node {
        Node::Rows(group) => group.members.iter().map(|it| &it.node).collect(),
        node => vec![node],
    }
}

/// The inputs that a node reads once, each element where it writes.
fn read_where_written(program: &Program, node: &Node) -> Vec<u32> {
    let Node::Map(Map { space, .. }) = node else { return vec![] };
    let is_once = |input: &u32| {
        let buffer = Some(Buffer::Input(*input));
        space.inputs.iter().filter(|it| it.buffer == buffer).count() == 1
    };
    program.inputs_as_output(space).into_iter().filter(is_once).collect()
}
