//! Parts of the temporary resource with different lifetimes share bytes.
//!
//! Consecutive nodes of one operator have the same time, so that sharing adds no barriers within an operator.
//! A Map that is the last reader of a part writes its result to that part, if both have the same layout.

use dml_core::plan::Slot;

use super::memory::{self, Buffer as Block};
use super::relocate::relocated;
use super::resource::Resource;
use super::{Scheduled, ScheduledNode, Temporary};
use crate::ir::{Band, Buffer, Map, Node};

/// Bytes of the temporary resource; its blocks are aligned for descriptors.
pub(crate) struct TemporaryBytes {
    /// Without sharing, except for results that replace the input that a node is the last to read.
    pub(crate) separate: u64,
    /// The size of the resource.
    pub(crate) planned: u64,
    /// The most bytes that are alive at one time.
    pub(crate) lower_bound: u64,
}

/// The uses of each local buffer; `None` where no node uses it.
type Uses = [Option<Use>];

/// The uses of a local buffer, as numbers of scheduled nodes; the last ones are 0 until there is such a use.
#[derive(Clone, Copy)]
struct Use {
    first_write: usize,
    last_write: usize,
    last_read: usize,
}

impl Scheduled<'_> {
    /// Places the parts of the temporary resource. Parts with different lifetimes share bytes.
    pub(crate) fn place_temporaries(&mut self) -> TemporaryBytes {
        let limits = &self.target.capabilities.limits;
        let alignment = limits.min_storage_buffer_offset_alignment.max(16);
        let uses = self.uses();
        let mut blocks = self.blocks(&uses);
        // The block of each part.
        let mut block_of: Vec<usize> = (0..blocks.len()).collect();
        self.write_where_read(&uses, &mut blocks, &mut block_of);
        let lower_bound = memory::lower_bound(&blocks, alignment);
        let separate = blocks.iter().map(|block| block.size.next_multiple_of(alignment)).sum();
        let placement = memory::place(&blocks, alignment, self.target.max_buffer());
        self.move_temporaries(|part| placement.offsets[block_of[part]]);
        let planned = placement.size;
        self.temporary = Resource { size: planned, divisions: placement.divisions };
        TemporaryBytes { separate, planned, lower_bound }
    }

    /// The uses of each local buffer.
    fn uses(&self) -> Vec<Option<Use>> {
        let mut uses = vec![None; self.locals.len()];
        for (number, ScheduledNode { recorded, .. }) in self.nodes.iter().enumerate() {
            let unused = Use { first_write: number, last_write: 0, last_read: 0 };
            for local in recorded.node.writes().iter().filter_map(local) {
                uses[local].get_or_insert(unused).last_write = number;
            }
            for local in recorded.node.reads().iter().filter_map(local) {
                uses[local].get_or_insert(unused).last_read = number;
            }
        }
        uses
    }

    /// The part of the temporary resource that holds a local buffer.
    fn part(&self, buffer: Buffer) -> Option<usize> {
        match self.locals[local(&buffer)?]? {
            (Slot::Temporary, start) => part_at(&self.temporaries, start),
            _ => None,
        }
    }

    /// A block with a lifetime for each part.
    fn blocks(&self, uses: &Uses) -> Vec<Block> {
        let mut times = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate() {
            let before = number.checked_sub(1).map(|it| &self.nodes[it].recorded.origin);
            let is_new = before.is_some_and(|it| !it.is_of_same(&node.recorded.origin));
            times.push(times.last().map_or(0, |time| time + usize::from(is_new)));
        }
        let time = |number: usize| times.get(number).copied().unwrap_or_default();
        let of_node = self.temporaries.iter().map(|temporary| Block {
            size: temporary.range.end - temporary.range.start,
            lives: temporary.node.map_or(0..0, |node| time(node)..time(node) + 1),
        });
        let mut blocks: Vec<Block> = of_node.collect();
        for (local, used) in uses.iter().enumerate() {
            let Some((used, part)) = used.zip(self.part(Buffer::Local(local))) else { continue };
            let last = used.last_read.max(used.last_write);
            blocks[part].lives = time(used.first_write)..time(last) + 1;
        }
        blocks
    }

    /// Lets nodes write their result to the buffer that they are the last to read.
    fn write_where_read(&mut self, uses: &Uses, blocks: &mut [Block], block_of: &mut [usize]) {
        for number in 0..self.nodes.len() {
            let Some((input, output)) = self.last_read(number, uses) else { continue };
            let [Some(from), Some(to)] = [input, output].map(|it| self.part(it)) else { continue };
            let (from, written) = (block_of[from], std::mem::replace(&mut blocks[to].size, 0));
            blocks[from].size = blocks[from].size.max(written);
            blocks[from].lives.end = blocks[from].lives.end.max(blocks[to].lives.end);
            blocks[to].lives = 0..0;
            block_of[to] = from;
            if let Some(steps) = self.nodes[number].in_place.take() {
                self.nodes[number].steps = steps;
            }
        }
    }

    /// A local buffer that a node is the last to read, and a local buffer that it is the first to write, if
    /// both may share bytes.
    fn last_read(&self, number: usize, uses: &Uses) -> Option<(Buffer, Buffer)> {
        let node = &self.nodes[number];
        let reads = node.recorded.node.reads();
        let used_in = |it: &Buffer| uses[local(it)?].filter(|_| self.part(*it).is_some());
        let is_last = |it: &Buffer| {
            used_in(it).is_some_and(|it| it.last_read == number && it.last_write < number)
        };
        let is_once = |it: &Buffer| reads.iter().filter(|other| *other == it).count() == 1;
        let (input, output) = match &node.recorded.node {
            Node::Map(Map { space, .. }) => {
                let output = &space.output;
                let lies_alike = space.inputs.iter().filter(|input| {
                    input.base == output.base && input.lies_as(output, &space.sizes)
                });
                let mut inputs = lies_alike.filter_map(|it| it.buffer);
                (inputs.find(|input| is_last(input) && is_once(input))?, output.buffer?)
            }
            Node::Band(Band { input: Some(input), output, .. }) if node.in_place.is_some() => {
                (Some(input.buffer).filter(is_last)?, output.buffer)
            }
            _ => return None,
        };
        let is_first = used_in(&output).is_some_and(|it| it.first_write == number);
        is_first.then_some((input, output))
    }

    /// Moves all steps to the final places of the parts.
    fn move_temporaries(&mut self, offset: impl Fn(usize) -> u64) {
        let temporaries = &self.temporaries;
        let moved = |slot, byte| match slot {
            Slot::Temporary => {
                let part = part_at(temporaries, byte).expect("steps name bytes of parts alone");
                (slot, offset(part) + byte - temporaries[part].range.start)
            }
            _ => (slot, byte),
        };
        for node in &mut self.nodes {
            let steps = std::mem::take(&mut node.steps);
            node.steps = steps.into_iter().map(|step| relocated(step, &moved)).collect();
        }
    }
}

/// The number of a local buffer.
fn local(buffer: &Buffer) -> Option<usize> {
    match *buffer {
        Buffer::Local(at) => Some(at),
        Buffer::Input(_) | Buffer::Output(_) => None,
    }
}

/// The part that contains a byte.
fn part_at(parts: &[Temporary], byte: u64) -> Option<usize> {
    parts.partition_point(|it| it.range.start <= byte).checked_sub(1)
}
