//! Copies of parts: of what they read by nodes that could read the original, and of results that could be written to
//! where they are copied.

use dml_spirv::element_wise::{DIMENSIONS, QUAD};

use super::copies::LocalCopy;
use super::fuse::{origin_of, with_map};
use super::regions::{Sizes, are_disjoint};
use super::uses::Uses;
use crate::Target;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Buffer, Map, Node, Program, Recorded, Stage};

/// Lets Maps read what a slice copies where it was, however many they are. Rows of a slice are whole quads there, so that
/// each Map reads them as before.
pub(super) fn read_originals(program: &Program, uses: &mut Uses, target: &Target<'_>) {
    for number in uses.numbers() {
        let Some(readers) = readers_of_original(program, uses, number, target) else { continue };
        let Some(copy) = uses.remove(number) else { continue };
        for (reader, node) in readers {
            let origin = origin_of(&copy.origin, uses.get(reader));
            uses.replace(reader, Recorded { node, origin });
        }
    }
}

/// All readers of a copy, reading the original.
fn readers_of_original(
    program: &Program,
    uses: &Uses,
    number: usize,
    target: &Target<'_>,
) -> Option<Vec<(usize, Node)>> {
    let LocalCopy { space, from, to } = LocalCopy::made_by(number, program, uses)
        .filter(|copy| copy.space.is_plain() && has_whole_quads(copy.space))?;
    let copy = Map::copying(space);
    let with_copy = |reader: usize| {
        let is_original = reader > number && !uses.is_written_within(from, number + 1..=reader);
        let node = Some(&uses.get(reader)?.node).filter(|_| is_original)?;
        let with_copy = |node: &Node| with_map(&copy, node, uses, target).ok();
        let node = match node {
            Node::Map(_) => with_copy(node)?,
            // A copy of a copy may still be a transfer.
            Node::Move(space) => match with_copy(&Node::Map(Map::copying(space)))? {
                Node::Map(Map { space, .. }) => Node::Move(space),
                other => other,
            },
            _ => return None,
        };
        Some((reader, node))
    };
    uses.readers(to).map(with_copy).collect()
}

/// Whether rows are whole quads, which begin where those of words of several elements do, too.
pub(super) fn has_whole_quads(space: &IterationSpace) -> bool {
    let quad = i64::from(QUAD);
    let is_of_quads = |operand: &Operand| {
        let mut used = (0..DIMENSIONS).filter(|at| space.sizes[*at] > 1);
        let Some(last) = used.next_back() else { return false };
        operand.base % quad == 0
            && operand.strides[last] == 1
            && space.sizes[last].is_multiple_of(QUAD)
            && used.all(|at| operand.strides[at] % quad == 0)
    };
    space.inputs.iter().chain([&space.output]).all(is_of_quads)
}

/// Lets Maps that write a buffer, one or several in parts, write to where its only reader copies it: new rows of a cache.
pub(super) fn write_destinations(program: &Program, uses: &mut Uses) {
    for number in uses.numbers() {
        let Some(writers) = writers_of_destination(program, uses, number) else { continue };
        let Some(copy) = uses.remove(number) else { continue };
        for (writer, node) in writers {
            let Some(recorded) = uses.get(writer) else { continue };
            let origin = origin_of(&recorded.origin, Some(&copy));
            uses.replace(writer, Recorded { node, origin });
        }
    }
}

/// All writers of what is copied, writing to the destination.
fn writers_of_destination(
    program: &Program,
    uses: &Uses,
    number: usize,
) -> Option<Vec<(usize, Node)>> {
    let Node::Move(copy) = &uses.get(number)?.node else { return None };
    let [source] = copy.inputs.as_slice() else { return None };
    let (from, to) = (source.buffer?, copy.output.buffer?);
    let writers: Vec<usize> = uses.writers(from).collect();
    let between = *writers.first()?..=number;
    let mut others = uses.writers(to).filter(|it| between.contains(it) && *it != number);
    let is_elsewhere = |writer: usize| match uses.get(writer).map(|it| &it.node) {
        Some(Node::Map(Map { space, .. }) | Node::Move(space)) => {
            are_disjoint((&space.output, &space.sizes), (&copy.output, &copy.sizes))
        }
        _ => false,
    };
    let is_only_copied = copy.is_plain()
        && matches!(from, Buffer::Local(_))
        && from != to
        && program.stage(from) == Stage::Execution
        && program.stage(to) == Stage::Execution
        && uses.only_reader(from) == Some(number)
        && !uses.readers(to).any(|it| between.contains(&it))
        && others.all(is_elsewhere);
    let redirected = |writer: usize| {
        let Node::Map(map) = &uses.get(writer)?.node else { return None };
        let output = destination(&map.space.output, &map.space.sizes, copy)
            .filter(|_| writer < number && map.space.is_plain())?;
        let space = IterationSpace { output, ..map.space.clone() };
        Some((writer, Node::Map(Map { space, computation: map.computation.clone() })))
    };
    if is_only_copied { writers.into_iter().map(redirected).collect() } else { None }
}

/// Where a copy puts the elements of a view of its source; `None` if that is no view of the destination.
pub(super) fn destination(view: &Operand, sizes: &Sizes, copy: &IterationSpace) -> Option<Operand> {
    let source = &copy.inputs[0];
    let mut along: Vec<usize> = (0..DIMENSIONS).filter(|at| copy.sizes[*at] > 1).collect();
    along.sort_unstable_by_key(|at| std::cmp::Reverse(source.strides[*at]));
    let mut rest = view.base - source.base;
    // The coordinates in the copy's space of the view's first element, and then of its last one.
    let mut last = [0; DIMENSIONS];
    for at in &along {
        let stride = Some(source.strides[*at]).filter(|it| *it > 0 && rest >= 0)?;
        (last[*at], rest) = (rest / stride, rest % stride);
    }
    let offset = |coordinate: &[i64; DIMENSIONS]| -> i64 {
        coordinate.iter().zip(copy.output.strides).map(|(at, stride)| at * stride).sum()
    };
    let base = copy.output.base + offset(&last);
    let mut strides = [0; DIMENSIONS];
    for (dimension, size) in sizes.iter().enumerate().filter(|(_, size)| **size > 1) {
        let stride = view.strides[dimension];
        let at = *along.iter().find(|at| source.strides[**at] <= stride)?;
        let steps =
            Some(stride / source.strides[at]).filter(|it| it * source.strides[at] == stride)?;
        strides[dimension] = steps * copy.output.strides[at];
        last[at] += steps * (i64::from(*size) - 1);
    }
    let is_copied = rest == 0
        && view.width == source.width
        && last.iter().zip(copy.sizes).all(|(at, size)| *at < i64::from(size));
    is_copied.then(|| Operand { buffer: copy.output.buffer, base, strides, ..view.clone() })
}
