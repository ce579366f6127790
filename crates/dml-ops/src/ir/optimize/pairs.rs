//! Pairs of Maps, of which the second reads the first one's result and writes beside it: the cell and the hidden state of
//! an LSTM. Both become one Map with two results.

use std::ops::RangeInclusive;

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{MAX_PARAMETERS, Value};

use super::fuse::{MOST_JOINED_BYTES, has_room, kernel_bytes, origin_of};
use super::merge::merged;
use super::uses::Uses;
use crate::ir::space::{IterationSpace, Operand, SecondResult, bytes_shown};
use crate::ir::{Buffer, Map, Node, Recorded};

/// Fuses each Map with the next one, if that reads its result and writes to the same buffer. A descriptor must show
/// both results: it covers `most_shown` bytes.
pub(super) fn fuse(uses: &mut Uses, most_shown: u64) {
    for number in uses.numbers() {
        let Some((next, node)) = with_next(uses, number, most_shown) else { continue };
        let Some(Recorded { origin, .. }) = uses.remove(number) else { continue };
        let origin = origin_of(&origin, uses.get(next));
        uses.replace(next, Recorded { node, origin });
    }
}

/// The next Map, and both as one with two results.
fn with_next(uses: &Uses, number: usize, most_shown: u64) -> Option<(usize, Node)> {
    let Node::Map(first) = &uses.get(number)?.node else { return None };
    let next = (number + 1..uses.numbers().end).find(|it| uses.get(*it).is_some())?;
    let Node::Map(last) = &uses.get(next)?.node else { return None };
    let distance = distance(first, last)
        // Half of what a descriptor shows is left for the elements of a box.
        .filter(|it| bytes_shown(ElementWidth::B32, 2 * u64::from(*it)) <= most_shown)?;
    let value = Value::Result(first.computation.program.steps.len().checked_sub(1)?);
    let Node::Map(mut map) = merged(first, &Node::Map(last.clone()))? else { return None };
    map.space.output.second = Some(SecondResult { value, distance });
    // The distance is one more parameter.
    let has_parameter = map.computation.parameters.len() < MAX_PARAMETERS;
    let node = Node::Map(map);
    // Functions such as a sigmoid and TANH are large, and mostly those of one of the two.
    let larger = [first, last].map(|it| kernel_bytes(&Node::Map(it.clone())));
    let most = larger[0].max(larger[1]) + MOST_JOINED_BYTES;
    let is_one_kernel = has_parameter && has_room(&node).is_ok() && kernel_bytes(&node) <= most;
    is_one_kernel.then_some((next, node))
}

/// How far the results of `first` are after those of `last`, if `last` reads them where they are written, and if no
/// other element that either of them reads is written by them.
fn distance(first: &Map, last: &Map) -> Option<u32> {
    let (one, other) = (&first.space.output, &last.space.output);
    let are_beside = matches!(one.buffer, Some(Buffer::Local(_)))
        && one.buffer == other.buffer
        && first.space.sizes == last.space.sizes
        && one.lies_as(other, &first.space.sizes)
        && one.width == ElementWidth::B32
        && [first, last].iter().all(|it| it.space.is_plain());
    let is_result = |it: &Operand| {
        it.buffer == one.buffer && it.base == one.base && it.lies_as(one, &first.space.sizes)
    };
    let written = [one, other].map(|it| elements(it, &first.space));
    let is_untouched = |it: &Operand| {
        let read = elements(it, &first.space);
        it.buffer != one.buffer
            || it.width == one.width && written.iter().all(|it| are_apart(it, &read))
    };
    let others = || last.space.inputs.iter().filter(|input| !is_result(input));
    let is_read = others().count() < last.space.inputs.len();
    let mut read = first.space.inputs.iter().chain(others());
    let is_safe =
        are_beside && are_apart(&written[0], &written[1]) && is_read && read.all(is_untouched);
    u32::try_from(one.base - other.base).ok().filter(|it| is_safe && *it > 0)
}

/// The first and the last element of an operand.
fn elements(operand: &Operand, space: &IterationSpace) -> RangeInclusive<i64> {
    let (mut least, mut greatest) = (operand.base, operand.base);
    for (size, stride) in space.sizes.into_iter().zip(operand.strides) {
        let along = stride.saturating_mul(i64::from(size) - 1);
        least = least.saturating_add(along.min(0));
        greatest = greatest.saturating_add(along.max(0));
    }
    least..=greatest
}

fn are_apart(one: &RangeInclusive<i64>, other: &RangeInclusive<i64>) -> bool {
    one.end() < other.start() || other.end() < one.start()
}
