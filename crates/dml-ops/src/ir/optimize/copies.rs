//! Copies that store elements as they are in the original: their readers read the original instead.

use std::borrow::Cow;

use super::uses::Uses;
use crate::ir::space::IterationSpace;
use crate::ir::{Binding, Buffer, Computation, Map, Node, Program, Stage};

/// Drops such copies, and returns the graph's nodes that consist of them.
pub(super) fn fold(program: &Program, uses: &mut Uses) -> Vec<usize> {
    let mut folded = vec![];
    for number in uses.numbers() {
        let Some((from, to)) = copied(program, uses, number) else { continue };
        uses.read_instead(to, from);
        if let Some(copy) = uses.remove(number) {
            folded.extend(copy.origin.sources);
        }
    }
    folded
}

/// The source and the destination of a node's copy, if the source can be read instead of the destination.
fn copied(program: &Program, uses: &Uses, number: usize) -> Option<(Buffer, Buffer)> {
    let space = copied_space(&uses.get(number)?.node)?;
    let ([input], output) = (space.inputs.as_slice(), &space.output) else { return None };
    let (from, to) =
        (input.buffer?, output.buffer.filter(|buffer| matches!(buffer, Buffer::Local(_)))?);
    let lies_alike = input.lies_as(output, &space.sizes) && [input.base, output.base] == [0, 0];
    // Executions read an input that is OWNED_BY_DML where initialization keeps it.
    let is_owned = program.input(from).is_some_and(Binding::is_owned);
    let is_only_here = uses.only_writer(to) == Some(number)
        && program.stage(to) == Stage::Execution
        && uses.writers(from).all(|it| it < number);
    // Readers of the copy may read all of its bytes.
    let has_room = program.bytes(from)? >= program.bytes(to)?;
    (lies_alike && !is_owned && is_only_here && has_room).then_some((from, to))
}

/// The space of a node that copies its only input.
pub(super) fn copied_space(node: &Node) -> Option<&IterationSpace> {
    match node {
        Node::Map(Map { space, computation }) if computation.program.steps.is_empty() => {
            Some(space)
        }
        Node::Move(space) => Some(space),
        _ => None,
    }
}

/// A node, which is a Map if it copies elements.
pub(super) fn as_map(node: &Node) -> Cow<'_, Node> {
    match node {
        Node::Move(space) => {
            Cow::Owned(Node::Map(Map { space: space.clone(), computation: Computation::copy() }))
        }
        other => Cow::Borrowed(other),
    }
}
