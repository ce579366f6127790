//! Attention: products whose softmax weighs the sum of other products, as one node.
//!
//! Nodes are found by their computations, whichever operators recorded them: those of MULTIHEAD_ATTENTION, or a GEMM, a
//! softmax and a GEMM of a graph. Their dimensions have different orders, and one node may have two dimensions where another
//! has one. The strides of the buffers that one node writes and another reads tell which dimensions correspond.

mod axes;
mod order;
mod parts;
mod softmax;

use dml_core::Numerics;
use dml_spirv::ElementWidth;
use dml_spirv::attention::{Passes, can_be_online};
use dml_spirv::element_wise::{MAX_INPUTS, MAX_PARAMETERS, estimated_bytes, estimated_bytes_of};

use super::fuse::origin_of;
use super::uses::Uses;
use crate::Target;
use crate::ir::space::Operand;
use crate::ir::{
    Attention, AttentionGroup, Buffer, BufferPosition, Formulas, Map, Node, Program, Recorded,
    SUMS, Stage, Sums,
};
use parts::{Parts, is_last};
use softmax::Softmax;

/// The most bytes of a kernel for a conversion that is a part of an attention: a multiplication, an addition, FLOAT16 as FLOAT32.
const MOST_BYTES_OF_CONVERSION: usize = 9 << 10;
/// The most bytes of a kernel for the functions of an attention.
const MOST_BYTES: usize = 64 << 10;

/// The bytes of a kernel for the functions of scores. A function that several passes call is linked once.
fn bytes(formulas: &Formulas) -> usize {
    let Formulas { score, greatest_epilogue, weight, sum_epilogue, share, .. } = formulas;
    let of_passes = [
        Some(score),
        greatest_epilogue.as_ref(),
        Some(weight),
        sum_epilogue.as_ref(),
        share.as_ref(),
    ];
    let steps = of_passes.into_iter().flatten().flat_map(|of_pass| &of_pass.program.steps);
    estimated_bytes_of(steps.map(|step| step.function), 0)
}

/// Fuses each attention, where a kernel can compute it and the device prefers that.
pub(super) fn fuse(program: &mut Program, target: &Target<'_>) {
    if !target.shares_attention() {
        return;
    }
    let mut uses = Uses::of(std::mem::take(&mut program.nodes));
    for number in uses.numbers() {
        let Some((members, kernel)) = found(program, &uses, number, target) else {
            continue;
        };
        let Some(last) = members.last().copied() else { continue };
        let taken: Vec<Recorded> =
            members.iter().filter_map(|member| uses.remove(*member)).collect();
        let Some(mut origin) = taken.last().map(|it| it.origin.clone()) else { continue };
        for member in taken.iter().rev().skip(1) {
            let reader = Recorded { origin, node: member.node.clone() };
            origin = origin_of(&member.origin, Some(&reader));
        }
        let node = Node::Attention(Box::new(AttentionGroup { members: taken, kernel }));
        uses.replace(last, Recorded { node, origin });
    }
    program.nodes = uses.into_nodes();
}

/// The attention whose softmax has that number, and the numbers of its nodes.
fn found(
    program: &Program,
    uses: &Uses,
    number: usize,
    target: &Target<'_>,
) -> Option<(Vec<usize>, Attention)> {
    // Where there is no room for the inputs of conversions, these are nodes of their own.
    [true, false].into_iter().find_map(|converts| {
        let members = Members::of(program, uses, number, converts)?;
        let mut attention = members.parts().attention()?;
        let Formulas { greatest_epilogue, weight, share, .. } = &attention.formulas;
        if target.numerics() == Numerics::Fast
            && can_be_online(greatest_epilogue.as_ref(), weight, share.as_ref())
        {
            attention.passes = Passes::Once;
        }
        let fits = attention.inputs.len() <= MAX_INPUTS
            && attention.parameters.len() <= MAX_PARAMETERS
            && bytes(&attention.formulas) <= MOST_BYTES
            && members.reads_no_member(uses, &attention)
            && target.can_share(&attention);
        fits.then_some((members.numbers, attention))
    })
}

/// The nodes of an attention.
struct Members<'a> {
    /// Ascending.
    numbers: Vec<usize>,
    scores: &'a Sums,
    /// The Map of the scores that the softmax reads, such as a mask, and the products that it reads.
    before: Option<(&'a Map, &'a Operand)>,
    softmax: Softmax<'a>,
    /// The weighted values.
    found: &'a Sums,
    /// The Map of the weighted values, where they are not written as they are.
    last: Option<&'a Map>,
    /// Maps that convert queries, keys and values, of which there may be any.
    conversions: Vec<&'a Map>,
}

impl<'a> Members<'a> {
    /// The nodes around the softmax with that number.
    fn of(program: &Program, uses: &'a Uses, number: usize, converts: bool) -> Option<Self> {
        let Node::Rows(group) = &uses.get(number)?.node else { return None };
        let softmax = Softmax::of(group, |it| products(uses, it).is_some())?;
        let (scores, weights) = (softmax.scores.buffer?, softmax.written.buffer?);
        let Products { number: first, before } = products(uses, scores)?;
        let mut readers = uses.readers(weights).filter(|it| *it != number);
        let (second, None) = (readers.next()?, readers.next()) else { return None };
        let mut members = Self {
            numbers: vec![first, number, second],
            scores: sums(uses, first)?,
            before: None,
            found: sums(uses, second)?,
            softmax,
            last: None,
            conversions: vec![],
        };
        let mut inside: Vec<Buffer> = members.softmax.inside().chain([scores, weights]).collect();
        if let Some((between, map, product)) = before {
            members.softmax.after(map, product)?;
            members.before = Some((map, product));
            members.numbers.push(between);
            inside.extend(product.buffer);
        }
        let found = members.found.places[SUMS];
        let last = only_reader(uses, found.buffer);
        if let Some((reader, map)) = last.filter(|(_, it)| is_last(it, &found, &members.softmax)) {
            members.last = Some(map);
            members.numbers.push(reader);
            inside.push(found.buffer);
        }
        if !inside.iter().all(|it| members.keeps(uses, *it)) {
            return None;
        }
        let factors = [&members.scores.places[..SUMS], &members.found.places[..SUMS]].concat();
        for place in factors.into_iter().filter(|_| converts) {
            members.add_conversion(program, uses, place);
        }
        members.numbers.sort_unstable();
        members.has_inputs_at_its_end(uses).then_some(members)
    }

    /// Whether a buffer is written once, and read by members alone.
    fn keeps(&self, uses: &Uses, buffer: Buffer) -> bool {
        let is_member = |it: usize| self.numbers.contains(&it);
        matches!(buffer, Buffer::Local(_))
            && uses.only_writer(buffer).is_some_and(is_member)
            && uses.readers(buffer).all(is_member)
    }

    /// Adds the Map that writes a factor for the members alone.
    fn add_conversion(&mut self, program: &Program, uses: &'a Uses, factor: BufferPosition) {
        let Some(writer) = uses.only_writer(factor.buffer) else { return };
        let Some(Recorded { node: Node::Map(map), .. }) = uses.get(writer) else { return };
        let is_plain =
            map.space.operands().all(|operand| operand.is_plain() && operand.repeats == 0);
        let is_new = !self.numbers.contains(&writer);
        // Weights are converted once.
        if !is_plain || !is_new || program.stage(factor.buffer) != Stage::Execution {
            return;
        }
        // A conversion is computed by each work group, and of queries and keys in each pass.
        if estimated_bytes(&map.computation.program, 1) > MOST_BYTES_OF_CONVERSION {
            return;
        }
        self.numbers.push(writer);
        match self.keeps(uses, factor.buffer) && parts::is_conversion(map, factor) {
            true => self.conversions.push(map),
            false => self.numbers.truncate(self.numbers.len() - 1),
        }
    }

    /// Whether every input still has the same contents where the last member is executed.
    fn has_inputs_at_its_end(&self, uses: &Uses) -> bool {
        let Some(end) = self.numbers.last().copied() else { return false };
        let keeps_inputs = |number: usize| {
            let mut read = uses.get(number).into_iter().flat_map(|it| it.node.reads());
            read.all(|buffer| {
                let mut later = uses.writers(buffer).filter(|it| (number + 1..=end).contains(it));
                later.all(|it| self.numbers.contains(&it))
            })
        };
        self.numbers.iter().all(|number| keeps_inputs(*number))
    }

    /// Whether the kernel reads nothing that a member writes.
    fn reads_no_member(&self, uses: &Uses, attention: &Attention) -> bool {
        let nodes = self.numbers.iter().filter_map(|number| uses.get(*number));
        let written: Vec<Buffer> = nodes.flat_map(|node| node.node.writes()).collect();
        let mut read = attention.inputs.iter().filter_map(|input| input.operand.buffer);
        read.all(|it| !written.contains(&it))
    }

    fn parts(&self) -> Parts<'_, 'a> {
        let Self { scores, before, softmax, found, last, conversions, .. } = self;
        Parts { scores, before: *before, softmax, found, last: *last, conversions }
    }
}

/// The products that scores are computed of.
struct Products<'a> {
    /// The node that adds them up.
    number: usize,
    /// The Map of the products that writes scores, with its number and the products that it reads; `None` where they are the
    /// scores.
    before: Option<(usize, &'a Map, &'a Operand)>,
}

/// The products that a buffer has, or that a Map has made it of.
fn products(uses: &Uses, scores: Buffer) -> Option<Products<'_>> {
    let adds = |buffer: Buffer| uses.only_writer(buffer).filter(|it| sums(uses, *it).is_some());
    if let Some(number) = adds(scores) {
        return Some(Products { number, before: None });
    }
    let writer = uses.only_writer(scores)?;
    let Node::Map(map) = &uses.get(writer)?.node else { return None };
    let is_plain = |it: &Operand| it.is_plain() && it.repeats == 0;
    let are_words = map.space.output.width == ElementWidth::B32;
    let product = map.space.inputs.iter().find(|input| input.buffer.and_then(adds).is_some())?;
    let number = product.buffer.and_then(adds)?;
    let reads = map.space.inputs.iter().filter(|input| input.buffer == product.buffer).count();
    let fits = are_words
        && reads == 1
        && product.width == ElementWidth::B32
        && map.space.operands().all(is_plain);
    fits.then_some(Products { number, before: Some((writer, map, product)) })
}

/// The products of a node, if it has no others and adds them in the order of their depths.
fn sums(uses: &Uses, number: usize) -> Option<&Sums> {
    let Node::Contract(all) = &uses.get(number)?.node else { return None };
    let [sums] = all.as_slice() else { return None };
    (!sums.numbers.are_integers() && sums.are_in_order()).then_some(sums)
}

/// The Map that reads a buffer, where that is all that does.
fn only_reader(uses: &Uses, buffer: Buffer) -> Option<(usize, &Map)> {
    let reader = uses.only_reader(buffer)?;
    let Node::Map(map) = &uses.get(reader)?.node else { return None };
    matches!(buffer, Buffer::Local(_)).then_some((reader, map))
}
