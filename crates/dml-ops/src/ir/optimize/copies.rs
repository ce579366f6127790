//! Copies that store elements as they are in the original: their readers read the original instead.

use super::uses::Uses;
use crate::ir::space::IterationSpace;
use crate::ir::{Binding, Buffer, Map, Node, Program, Stage};

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
    let LocalCopy { space, from, to } = LocalCopy::made_by(number, program, uses)?;
    let (input, output) = (&space.inputs[0], &space.output);
    let lies_alike = input.lies_as(output, &space.sizes) && [input.base, output.base] == [0, 0];
    let is_final = uses.writers(from).all(|it| it < number);
    // Readers of the copy may read all of its bytes.
    let has_room = program.bytes(from)? >= program.bytes(to)?;
    (lies_alike && is_final && has_room).then_some((from, to))
}

/// A copy in each execution to a buffer that nothing else writes.
pub(super) struct LocalCopy<'a> {
    /// Its only input is the original.
    pub(super) space: &'a IterationSpace,
    pub(super) from: Buffer,
    pub(super) to: Buffer,
}

impl<'a> LocalCopy<'a> {
    /// The copy that a node makes; `None` if it makes none, or one of an input that is OWNED_BY_DML, which executions read
    /// where initialization keeps it.
    pub(super) fn made_by(number: usize, program: &Program, uses: &'a Uses) -> Option<Self> {
        let space = copied_space(&uses.get(number)?.node)?;
        let [original] = space.inputs.as_slice() else { return None };
        let (from, to) = (original.buffer?, space.output.buffer?);
        let is_copy = matches!(to, Buffer::Local(_))
            && uses.only_writer(to) == Some(number)
            && program.stage(to) == Stage::Execution
            && !program.input(from).is_some_and(Binding::is_owned);
        is_copy.then_some(Self { space, from, to })
    }
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
