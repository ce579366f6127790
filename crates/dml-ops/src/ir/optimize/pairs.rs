//! Pairs of Maps of which one writes beside the other: the second reads the first one's result, such as the cell for the
//! hidden state of an LSTM, or both are alike, as for pairs of elements that are rotated. Both become one Map with two
//! results.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{MAX_PARAMETERS, Value};

use super::fuse::{MOST_JOINED_BYTES, has_room, kernel_bytes, origin_of};
use super::merge::merged;
use super::regions::are_disjoint;
use super::uses::Uses;
use crate::ir::space::{Operand, SecondResult, bytes_shown};
use crate::ir::{Map, Node, Recorded};

/// Fuses each Map with the next one, if that writes to the same buffer. A descriptor must show
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
    let is_read = last.space.inputs.iter().any(|it| is_result(it, first));
    // A result that is read is computed before, wherever it is.
    let is_after = is_read || first.space.output.base > last.space.output.base;
    let (far, near) = if is_after { (first, last) } else { (last, first) };
    let distance = distance(far, near)
        // Half of what a descriptor shows is left for the elements of a box.
        .filter(|it| bytes_shown(ElementWidth::B32, 2 * u64::from(*it)) <= most_shown)?;
    // Results are those of steps: a copy has none.
    let value = Value::Result(far.computation.program.steps.len().checked_sub(1)?);
    near.computation.program.steps.last()?;
    let Node::Map(mut map) = merged(far, &Node::Map(near.clone()))? else { return None };
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

/// How far the results of `far` are after those of `near`, if no element that either of them reads is written by them,
/// but for results that are read where they are written.
fn distance(far: &Map, near: &Map) -> Option<u32> {
    let sizes = &far.space.sizes;
    let (one, other) = (&far.space.output, &near.space.output);
    let are_beside = one.buffer == other.buffer
        && sizes == &near.space.sizes
        && one.lies_as(other, sizes)
        && one.width == ElementWidth::B32
        && [far, near].iter().all(|it| it.space.is_plain());
    let is_apart = |it: &Operand, from: &Operand| are_disjoint((it, sizes), (from, sizes));
    let is_untouched =
        |it: &Operand| it.buffer != one.buffer || [one, other].iter().all(|by| is_apart(it, by));
    let others = near.space.inputs.iter().filter(|input| !is_result(input, far));
    let mut read = far.space.inputs.iter().chain(others);
    let is_safe = are_beside && is_apart(one, other) && read.all(is_untouched);
    u32::try_from(one.base - other.base).ok().filter(|it| is_safe && *it > 0)
}

/// Whether an operand of the same space is what a Map writes.
fn is_result(operand: &Operand, map: &Map) -> bool {
    let output = &map.space.output;
    let is_there = operand.buffer == output.buffer && operand.base == output.base;
    is_there && operand.lies_as(output, &map.space.sizes)
}
