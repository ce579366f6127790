//! Maps of what others have joined: such a Map is divided into one for each part, which computes the part itself. So nothing
//! is stored only to be read in one piece, such as the halves of a vector that is rotated.

use super::copies::copied_space;
use super::fuse::{origin_of, with_map};
use super::moves::{destination, has_whole_quads};
use super::regions::are_disjoint;
use super::uses::Uses;
use crate::Target;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Buffer, Map, Node, Program, Recorded, Stage};

/// The most parts: each takes a dispatch.
const MOST_PARTS: usize = 4;

/// Divides the Maps that read what others have joined, where nothing else reads it, and returns the graph's nodes that became
/// parts of them.
pub(super) fn divide(program: &Program, uses: &mut Uses, target: &Target<'_>) -> Vec<usize> {
    let mut fused = vec![];
    for number in uses.numbers() {
        let Some(parts) = parts_of(program, uses, number, target) else { continue };
        let Some(places) = places(uses, number, &parts) else { continue };
        let Some(whole) = uses.remove(number) else { continue };
        let writers: Vec<_> = parts.iter().filter_map(|part| uses.remove(part.writer)).collect();
        fused.extend(writers.iter().flat_map(|writer| writer.origin.sources.clone()));
        for ((part, writer), place) in parts.into_iter().zip(writers).zip(places) {
            let origin = origin_of(&writer.origin, Some(&whole));
            uses.replace(place, Recorded { node: part.node, origin });
        }
    }
    fused
}

/// A part of a Map, with what writes the elements that it reads.
struct Part {
    writer: usize,
    node: Node,
}

/// The parts of the Map `number`, if all elements of an input are what others have joined.
fn parts_of(
    program: &Program,
    uses: &Uses,
    number: usize,
    target: &Target<'_>,
) -> Option<Vec<Part>> {
    let Node::Map(map) = &uses.get(number)?.node else { return None };
    let is_plain = map.space.is_plain();
    let mut inputs = (0..map.space.inputs.len()).filter(|_| is_plain);
    inputs.find_map(|input| parts_by(program, uses, (number, map), input, target))
}

fn parts_by(
    program: &Program,
    uses: &Uses,
    (number, map): (usize, &Map),
    input: usize,
    target: &Target<'_>,
) -> Option<Vec<Part>> {
    let joined = &map.space.inputs[input];
    let buffer = joined.buffer.filter(|it| matches!(it, Buffer::Local(_)))?;
    let writers: Vec<usize> = uses.writers(buffer).collect();
    let is_read_once = map.space.inputs.iter().filter(|it| it.buffer == Some(buffer)).count() == 1;
    let is_joined = (2..=MOST_PARTS).contains(&writers.len())
        && is_read_once
        && uses.only_reader(buffer) == Some(number)
        && program.stage(buffer) == Stage::Execution
        && writers.iter().all(|it| *it < number);
    if !is_joined {
        return None;
    }
    let maps: Vec<Map> =
        writers.iter().map(|it| writer(uses, *it, number)).collect::<Option<_>>()?;
    let is_whole = maps.iter().map(|it| it.space.elements()).sum::<u64>() == map.space.elements();
    let views: Vec<_> = maps.iter().map(|it| (&it.space.output, &it.space.sizes)).collect();
    let mut pairs = views
        .iter()
        .enumerate()
        .flat_map(|(at, one)| views[..at].iter().map(move |other| (*one, *other)));
    let are_apart = pairs.all(|(one, other)| are_disjoint(one, other));
    if !is_whole || !are_apart {
        return None;
    }
    let parts = writers.into_iter().zip(&maps).map(|(writer, of_part)| {
        let part = part(map, input, of_part)?;
        let node = with_map(of_part, &Node::Map(part), uses, target).ok()?;
        Some(Part { writer, node })
    });
    parts.collect()
}

/// A node that writes a part of what is joined, as a Map; `None` if it cannot be executed where the Map `reader` is.
fn writer(uses: &Uses, number: usize, reader: usize) -> Option<Map> {
    let node = &uses.get(number)?.node;
    let map = match node {
        Node::Map(map) => map.clone(),
        _ => Map::copying(copied_space(node)?),
    };
    let is_movable = map.space.is_plain()
        && has_whole_quads(&map.space)
        && uses.reads_the_same(&map.space, number, reader);
    is_movable.then_some(map)
}

/// The part of a Map that reads, by its input `input`, what `writer` writes.
fn part(map: &Map, input: usize, writer: &Map) -> Option<Map> {
    let IterationSpace { sizes, output: written, .. } = &writer.space;
    let joined = &map.space.inputs[input];
    let of_part = |operand: &Operand| {
        // Where the elements would be if what is joined were copied to the operand.
        let (inputs, output) = (vec![joined.clone()], operand.clone());
        let copy = IterationSpace { sizes: map.space.sizes, inputs, output };
        let Operand { base, strides, .. } = destination(written, sizes, &copy)?;
        (operand.repeats == 0).then(|| Operand { base, strides, ..operand.clone() })
    };
    let inputs = map.space.inputs.iter().map(of_part).collect::<Option<Vec<_>>>()?;
    let space = IterationSpace { sizes: *sizes, inputs, output: of_part(&map.space.output)? };
    Some(Map { space, computation: map.computation.clone() })
}

/// A number for each part of the Map `number`, after everything that it reads is written: numbers of removed nodes, and of those
/// that the parts replace.
fn places(uses: &Uses, number: usize, parts: &[Part]) -> Option<Vec<usize>> {
    let is_replaced = |it: &usize| parts.iter().any(|part| part.writer == *it);
    let reads: Vec<Buffer> = parts.iter().flat_map(|part| part.node.reads()).collect();
    let writes: Vec<Buffer> = parts.iter().flat_map(|part| part.node.writes()).collect();
    if writes.iter().any(|it| reads.contains(it)) {
        return None;
    }
    let needed = reads.iter().chain(&writes).flat_map(|it| uses.writers(*it));
    let needed = needed.chain(writes.iter().flat_map(|it| uses.readers(*it)));
    let before = needed.filter(|it| *it < number && !is_replaced(it)).max();
    let first = before.map_or(0, |it| it + 1);
    let free = (first..number).rev().filter(|it| uses.get(*it).is_none() || is_replaced(it));
    let mut places: Vec<usize> = [number].into_iter().chain(free).take(parts.len()).collect();
    places.reverse();
    (places.len() == parts.len()).then_some(places)
}
