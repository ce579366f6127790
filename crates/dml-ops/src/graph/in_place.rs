//! Inputs of a graph that may be bound to the bytes of its outputs.

use std::ops::Range;

use dml_core::plan::{BoundAt, InPlace};
use rustc_hash::FxHashMap;

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Binding, Buffer, Node, Program, RowGroup};

/// Beyond this number of pairs of an input and an output, only pairs within one node are considered.
const MAX_PAIRS: usize = 1 << 12;

/// Pairs of an input and an output that may share bytes without other steps: the input is last read before
/// any node writes the output, or by the Map that writes it, with equal layouts. Where that Map only copies, as for
/// the elements that a scatter keeps, its steps, which `steps_of` tells, are left out.
pub(super) fn in_place(
    program: &Program,
    steps_of: impl Fn(usize) -> Range<usize>,
) -> Vec<InPlace> {
    let nodes: Vec<&Node> = program.nodes.iter().map(|node| &node.node).collect();
    let (mut last_read, mut first_write) = (FxHashMap::default(), FxHashMap::default());
    for (number, node) in nodes.iter().enumerate() {
        last_read.extend(node.reads().into_iter().map(|read| (read, number)));
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
            binding.is_some_and(|binding| {
                binding.size == written.requirement.size && binding.bound_at == BoundAt::Execution
            })
        };
        let read = |input: &u32| last_read.get(&Buffer::Input(*input)).copied();
        let all = 0..u32::try_from(program.inputs.len()).unwrap_or(u32::MAX);
        let before = all.filter(|it| is_small && read(it).is_some_and(|it| it < number));
        let within = read_where_written(program, nodes[number]);
        let within = within.into_iter().filter(|it| read(it) == Some(number));
        let is_copied = |input: &u32| read(input) == Some(number) && is_copy(nodes[number]);
        let inputs = before.chain(within).filter(is_alike);
        pairs.extend(inputs.map(|input| match is_copied(&input) {
            true => InPlace::by_steps_without(input, output, steps_of(number)),
            false => InPlace::by_same_steps(input, output),
        }));
    }
    pairs
}

/// Whether a node only copies elements.
fn is_copy(node: &Node) -> bool {
    matches!(node, Node::Map(map) if map.computation.program.steps.is_empty())
}

/// The inputs of which a node reads each element where it writes.
fn read_where_written(program: &Program, node: &Node) -> Vec<u32> {
    match node {
        Node::Map(map) => read_once(program, &map.space),
        Node::Rows(group) => read_as_result(program, group),
        _ => vec![],
    }
}

/// The inputs that every member of a group reads with the layout of the result that the last one writes, if
/// that is the group's only result: rows may be computed at the same time.
fn read_as_result(program: &Program, group: &RowGroup) -> Vec<u32> {
    let Some(Node::Map(last)) = group.members.last().map(|it| &it.node) else { return vec![] };
    let output = &last.space.output;
    if group.results.len() != 1 || group.results.first().copied() != output.buffer {
        return vec![];
    }
    let spaces: Vec<_> = group.members.iter().filter_map(|member| member.node.space()).collect();
    // The input is not read after the first member that writes to the output.
    let first = spaces.iter().position(|space| space.output.buffer == output.buffer);
    let lies_alike = |input: &u32| {
        let of_input = |it: &&Operand| it.buffer == Some(Buffer::Input(*input));
        spaces.iter().enumerate().all(|(at, space)| {
            let mut views = space.inputs.iter().filter(of_input);
            views.all(|view| {
                space.sizes == last.space.sizes
                    && view.base == output.base
                    && view.lies_as(output, &space.sizes)
                    && first.is_none_or(|first| at <= first)
            })
        })
    };
    let mut inputs: Vec<u32> = spaces.iter().flat_map(|space| program.inputs_read(space)).collect();
    inputs.sort_unstable();
    inputs.dedup();
    inputs.retain(lies_alike);
    inputs
}

/// The inputs that a Map reads once, each element where it writes.
fn read_once(program: &Program, space: &IterationSpace) -> Vec<u32> {
    let is_once = |input: &u32| {
        let buffer = Some(Buffer::Input(*input));
        space.inputs.iter().filter(|input| input.buffer == buffer).count() == 1
    };
    program.inputs_as_output(space).into_iter().filter(is_once).collect()
}
