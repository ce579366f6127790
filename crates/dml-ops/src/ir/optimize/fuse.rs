//! Maps whose result a single other node reads element by element become a part of that node, so that the
//! values between them are neither stored nor loaded.

use std::borrow::Cow;

use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, MAX_PARAMETERS, estimated_bytes};

use super::merge::merged;
use super::uses::Uses;
use super::views::{self, Broadcast};
use crate::Target;
use crate::ir::space::IterationSpace;
use crate::ir::{Buffer, Map, Node, Origin, Program, Recorded, Reduce, RowOrder, Stage};

/// The largest kernel of fused nodes: SwiftShader's compiler needs more than proportional time for larger ones.
const MAX_KERNEL_BYTES: usize = 16 << 10;
/// The most bytes that fusing may add to a kernel beyond [`MAX_KERNEL_BYTES`], which has one large function,
/// such as ERF: less than another such function.
pub(super) const MOST_JOINED_BYTES: usize = 6 << 10;
/// The largest kernel of fused nodes that has such a function.
const MAX_BYTES_OF_JOINED: usize = 32 << 10;

/// Fuses each Map, from the last to the first, with the node that reads its result, if there is one such node
/// and the kernel stays small. Returns the graph's nodes that could not be fused, and the reasons.
pub(super) fn fuse(
    program: &Program,
    uses: &mut Uses,
    target: &Target<'_>,
) -> Vec<(usize, &'static str)> {
    let mut refused = vec![];
    for number in uses.numbers().rev() {
        let Some(Recorded { node: Node::Map(map), origin }) = uses.get(number) else { continue };
        match with_reader(program, uses, number, map, target) {
            Ok((reader, node)) => {
                let origin = origin_of(origin, uses.get(reader));
                uses.remove(number);
                uses.replace(reader, Recorded { node, origin });
            }
            Err(reason) => refused.extend(source_of(uses, number).zip(reason)),
        }
    }
    refused.reverse();
    refused
}

/// The graph's node that a Map ends; `None` if the same node of the graph reads the Map's result.
fn source_of(uses: &Uses, number: usize) -> Option<usize> {
    let recorded = uses.get(number)?;
    let source = recorded.origin.sources.last().copied()?;
    let results = recorded.node.writes();
    let mut readers = results.iter().flat_map(|it| uses.readers(*it)).filter_map(|it| uses.get(it));
    readers.all(|reader| !reader.origin.sources.contains(&source)).then_some(source)
}

/// The origin of a fused node: the reader's, with the graph's nodes of both.
pub(super) fn origin_of(first: &Origin, reader: Option<&Recorded>) -> Origin {
    let mut sources = first.sources.clone();
    let Some(Recorded { origin, .. }) = reader else { return first.clone() };
    sources.extend(origin.sources.iter().copied().filter(|it| !first.sources.contains(it)));
    Origin { operator: origin.operator, field: origin.field, sources }
}

/// The node that reads a Map's result, fused with the Map; else the reason why they cannot be fused, `None`
/// if Maps cannot be fused with such a node at all.
fn with_reader(
    program: &Program,
    uses: &Uses,
    number: usize,
    map: &Map,
    target: &Target<'_>,
) -> Result<(usize, Node), Option<&'static str>> {
    let result = map.space.output.buffer.filter(|_| map.space.is_plain()).ok_or(None)?;
    let mut readers = uses.readers(result);
    let reader = readers.next().ok_or(None)?;
    let last = &uses.get(reader).ok_or(None)?.node;
    space_to_fuse(last).ok_or(None)?;
    if matches!(result, Buffer::Output(_)) {
        return Err(Some("its result is an output of the graph"));
    }
    let is_made_once = program.stage(result) != Stage::Execution && !unpacks_a_factor(map, last);
    if uses.only_writer(result) != Some(number) || is_made_once {
        return Err(None);
    }
    if readers.next().is_some() {
        return Err(Some("its result is read by several"));
    }
    let node = with_map(map, last, uses, target)?;
    if !uses.reads_the_same(&map.space, number, reader) {
        return Err(None);
    }
    if would_hold_more(program, uses, number, reader) {
        return Err(Some("what is larger than its result would be kept for longer"));
    }
    Ok((reader, node))
}

/// A node that reads a Map's result, as one kernel with the Map; else the reason why they cannot be one.
pub(super) fn with_map(
    map: &Map,
    reader: &Node,
    uses: &Uses,
    target: &Target<'_>,
) -> Result<Node, Option<&'static str>> {
    let space = space_to_fuse(reader).ok_or(None)?;
    let (map, reader) = over_one_space(map, reader, space, uses, target)
        .ok_or(Some("its result is read with other sizes or strides"))?;
    let node = merged(&map, &reader).ok_or(None)?;
    let of_map = estimated_bytes(&map.computation.program, map.space.inputs.len());
    fits(&node, of_map.max(kernel_bytes(&reader)))?;
    Ok(node)
}

/// Whether a Map widens a factor of a product, such as from FLOAT16. An owned factor is then converted in
/// each execution, as a larger copy of it would gain nothing.
fn unpacks_a_factor(map: &Map, reader: &Node) -> bool {
    matches!(reader, Node::Reduce(reduce) if reduce.is_product() && widens(map))
}

/// Whether a Map's results are wider than its first input.
pub(super) fn widens(map: &Map) -> bool {
    let first = map.space.inputs.first();
    first.is_some_and(|first| first.width.bits() < map.space.output.width.bits())
}

/// Whether a Map only converts the vector of a product, such as from FLOAT16. On GPUs the product converts it for each
/// row of the matrix, which takes less time than a dispatch.
fn converts_a_vector(map: &Map, reduce: &Reduce) -> bool {
    reduce.is_product() && widens(map) && map.computation.program.steps.len() == 1
}

/// The space of a node that a Map can be fused into: of a Map, or of a Reduce of rows.
fn space_to_fuse(node: &Node) -> Option<&IterationSpace> {
    let space = match node {
        Node::Map(Map { space, .. }) => space,
        // A second result is the last input, and stays there.
        Node::Reduce(Reduce { space, grids: None, reduction, .. })
            if reduction.second.is_none() =>
        {
            space
        }
        _ => return None,
    };
    Some(space).filter(|it| it.is_plain())
}

/// A Map and the node that reads its result, over the same dimensions. A Map may read it reshaped, and a Reduce by any
/// view, such as a transposed matrix or one with blocks. Strided rows are fused only for GPUs, where neighbouring
/// invocations coalesce their reads; on CPU drivers the fused kernel takes 1.6 times as long as a copy and a
/// packed reduction.
fn over_one_space<'a>(
    map: &'a Map,
    reader: &'a Node,
    space: &IterationSpace,
    uses: &Uses,
    target: &Target<'_>,
) -> Option<(Cow<'a, Map>, Cow<'a, Node>)> {
    if reads_as_written(space, &map.space) {
        return Some((Cow::Borrowed(map), Cow::Borrowed(reader)));
    }
    let reduce = match reader {
        Node::Map(last) => return reshaped(map, last, uses),
        // The order of additions follows from the dimensions, which must not be divided.
        Node::Reduce(reduce) if reduce.order != RowOrder::Nested => reduce,
        _ => return None,
    };
    let broadcast = match converts_a_vector(map, reduce) && target.tuning.shared_tiles {
        true => Broadcast::Allowed,
        false => Broadcast::Refused,
    };
    let (space, of_map) = views::over_the_same(space, &map.space, broadcast)?;
    let mut along = (0..DIMENSIONS).rev().filter(|at| space.output.strides[*at] == 0);
    let innermost = along.find(|at| space.sizes[*at] > 1)?;
    let are_neighbours = of_map.inputs.first().is_some_and(|it| it.strides[innermost] == 1);
    if !are_neighbours && !target.tuning.shared_tiles {
        return None;
    }
    let map = Map { space: of_map, computation: map.computation.clone() };
    Some((Cow::Owned(map), Cow::Owned(Node::Reduce(Reduce { space, ..reduce.clone() }))))
}

/// A Map and another one that reads its result in the same order, but with other sizes, over the same dimensions. One
/// that reads a reduction keeps its sizes: those of a row group, which may end with it.
fn reshaped<'a>(map: &Map, reader: &Map, uses: &Uses) -> Option<(Cow<'a, Map>, Cow<'a, Node>)> {
    let (space, of_map) = views::over_the_same(&reader.space, &map.space, Broadcast::Refused)?;
    let leaves_rows = |old: &IterationSpace, new: &IterationSpace| {
        old.sizes != new.sizes && reads_reduction(old, uses)
    };
    if leaves_rows(&map.space, &of_map) || leaves_rows(&reader.space, &space) {
        return None;
    }
    let used = (0..DIMENSIONS).filter(|at| space.sizes[*at] > 1);
    let is_in_order = used.map(|at| of_map.output.strides[at]).is_sorted_by(|a, b| a > b);
    let map = Map { space: of_map, computation: map.computation.clone() };
    let reader = Map { space, computation: reader.computation.clone() };
    is_in_order.then_some((Cow::Owned(map), Cow::Owned(Node::Map(reader))))
}

/// Whether an operand of a space is the result of a Reduce, other than a product.
fn reads_reduction(space: &IterationSpace, uses: &Uses) -> bool {
    let writers = space.inputs.iter().filter_map(|it| it.buffer).flat_map(|it| uses.writers(it));
    writers
        .filter_map(|it| uses.get(it))
        .any(|it| matches!(&it.node, Node::Reduce(reduce) if !reduce.is_product()))
}

/// Whether a space reads, at every coordinate, the element that another space writes at that coordinate.
fn reads_as_written(reader: &IterationSpace, written: &IterationSpace) -> bool {
    let output = &written.output;
    let mut views = reader.inputs.iter().filter(|input| input.buffer == output.buffer);
    reader.sizes == written.sizes
        && views.all(|view| view.base == output.base && view.lies_as(output, &written.sizes))
}

/// Checks that `node` can be one kernel, where the larger one of its two parts has `larger` bytes; else the reason.
fn fits(node: &Node, larger: usize) -> Result<(), Option<&'static str>> {
    has_room(node)?;
    match may_join(kernel_bytes(node), larger) {
        true => Ok(()),
        false => Err(Some("one kernel would be too large")),
    }
}

/// Checks that a kernel has enough inputs and parameters for a node; else the reason.
pub(super) fn has_room(node: &Node) -> Result<(), Option<&'static str>> {
    let (space, parameters) = match node {
        Node::Map(Map { space, computation: it }) => (space, &it.parameters),
        Node::Reduce(Reduce { space, reduction: it, .. }) => (space, &it.parameters),
        _ => return Err(None),
    };
    if space.inputs.len() > MAX_INPUTS {
        return Err(Some("one kernel would have too many inputs"));
    }
    if parameters.len() > MAX_PARAMETERS {
        return Err(Some("one kernel would have too many parameters"));
    }
    Ok(())
}

/// Whether two kernels, the larger one of `larger` bytes, may become one of `bytes`.
pub(super) fn may_join(bytes: usize, larger: usize) -> bool {
    let is_little_more = bytes.saturating_sub(larger) <= MOST_JOINED_BYTES;
    bytes <= MAX_KERNEL_BYTES || (bytes <= MAX_BYTES_OF_JOINED && is_little_more)
}

/// The estimated size of the kernel of a Map or a Reduce.
pub(super) fn kernel_bytes(node: &Node) -> usize {
    match node {
        Node::Map(Map { space, computation }) => {
            estimated_bytes(&computation.program, space.inputs.len())
        }
        Node::Reduce(Reduce { space, reduction, .. }) => {
            estimated_bytes(&reduction.program, space.inputs.len())
        }
        _ => 0,
    }
}

/// Whether fusing would keep more memory in use: the Map reads a buffer of its own operator that is larger
/// than its result, such as a product's sums, and the reader has to wait for results that are computed later.
fn would_hold_more(program: &Program, uses: &Uses, number: usize, reader: usize) -> bool {
    let [Some(map), Some(last)] = [number, reader].map(|it| uses.get(it)) else { return false };
    let is_own = |buffer: &Buffer| {
        let maker = uses.writers(*buffer).last().and_then(|it| uses.get(it));
        matches!(buffer, Buffer::Local(_))
            && maker.is_some_and(|maker| maker.origin.sources.last() == map.origin.sources.first())
            && uses.only_reader(*buffer).is_some()
    };
    let results = map.node.writes();
    let bytes = |buffer: &Buffer| program.bytes(*buffer).unwrap_or_default();
    let result: u64 = results.iter().map(bytes).sum();
    let is_larger = map.node.reads().iter().any(|read| is_own(read) && bytes(read) > result);
    let is_later =
        |it: &Buffer| !results.contains(it) && uses.is_written_within(*it, number + 1..=usize::MAX);
    is_larger && last.node.reads().iter().any(is_later)
}
