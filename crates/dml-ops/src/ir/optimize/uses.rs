//! The nodes of a program while it is optimized, and which of them read and write each buffer.

use std::ops::RangeInclusive;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::node_numbers::NodeNumbers;
use crate::ir::space::IterationSpace;
use crate::ir::{Buffer, Buffers, Node, Recorded};

/// Nodes by their number, which is their position in execution order.
pub(super) struct Uses {
    nodes: Vec<Option<Recorded>>,
    readers: FxHashMap<Buffer, NodeNumbers>,
    writers: FxHashMap<Buffer, NodeNumbers>,
}

impl Uses {
    pub(super) fn of(nodes: Vec<Recorded>) -> Self {
        let buffers = || FxHashMap::with_capacity_and_hasher(nodes.len(), FxBuildHasher);
        let (readers, writers) = (buffers(), buffers());
        let mut uses = Self { nodes: Vec::with_capacity(nodes.len()), readers, writers };
        for (number, recorded) in nodes.into_iter().enumerate() {
            uses.nodes.push(None);
            uses.put(number, recorded);
        }
        uses
    }

    /// The remaining nodes, in execution order.
    pub(super) fn into_nodes(self) -> Vec<Recorded> {
        remaining(self.nodes)
    }

    /// The numbers of all nodes, including removed ones.
    pub(super) fn numbers(&self) -> std::ops::Range<usize> {
        0..self.nodes.len()
    }

    /// The node with a number; `None` if it was removed.
    pub(super) fn get(&self, number: usize) -> Option<&Recorded> {
        self.nodes[number].as_ref()
    }

    /// The nodes that read `buffer`.
    pub(super) fn readers(&self, buffer: Buffer) -> impl Iterator<Item = usize> + '_ {
        self.readers.get(&buffer).unwrap_or(NodeNumbers::NONE).iter()
    }

    /// The nodes that write `buffer`.
    pub(super) fn writers(&self, buffer: Buffer) -> impl Iterator<Item = usize> + '_ {
        self.writers.get(&buffer).unwrap_or(NodeNumbers::NONE).iter()
    }

    /// Whether a node with a number in `range` writes `buffer`.
    pub(super) fn is_written_within(&self, buffer: Buffer, range: RangeInclusive<usize>) -> bool {
        self.writers.get(&buffer).is_some_and(|it| it.has_within(range))
    }

    /// Whether `space`, which the node `number` reads, has the same elements still where the node `later` is executed.
    pub(super) fn reads_the_same(
        &self,
        space: &IterationSpace,
        number: usize,
        later: usize,
    ) -> bool {
        let mut read = space.inputs.iter().filter_map(|input| input.buffer);
        read.all(|buffer| !self.is_written_within(buffer, number + 1..=later))
    }

    /// The only node that writes `buffer`.
    pub(super) fn only_writer(&self, buffer: Buffer) -> Option<usize> {
        let mut writers = self.writers(buffer);
        writers.next().filter(|_| writers.next().is_none())
    }

    /// The only node that reads `buffer`.
    pub(super) fn only_reader(&self, buffer: Buffer) -> Option<usize> {
        let mut readers = self.readers(buffer);
        readers.next().filter(|_| readers.next().is_none())
    }

    /// Replaces a node.
    pub(super) fn replace(&mut self, number: usize, recorded: Recorded) {
        self.remove(number);
        self.put(number, recorded);
    }

    fn put(&mut self, number: usize, recorded: Recorded) {
        for buffer in recorded.node.reads() {
            self.readers.entry(buffer).or_default().insert(number);
        }
        for buffer in recorded.node.writes() {
            self.writers.entry(buffer).or_default().insert(number);
        }
        self.nodes[number] = Some(recorded);
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, number: usize) -> Option<Recorded> {
        let recorded = self.nodes[number].take()?;
        let no_more = |of: &mut FxHashMap<Buffer, NodeNumbers>, buffers: Buffers| {
            for buffer in buffers {
                of.entry(buffer).or_default().remove(number);
            }
        };
        no_more(&mut self.readers, recorded.node.reads());
        no_more(&mut self.writers, recorded.node.writes());
        Some(recorded)
    }

    /// Lets every node that reads `from` read `to`, a buffer with the same elements in the same places.
    pub(super) fn read_instead(&mut self, from: Buffer, to: Buffer) {
        for number in self.readers(from).collect::<Vec<_>>() {
            let Some(recorded) = self.remove(number) else { continue };
            let name = |buffer| if buffer == from { to } else { buffer };
            let node: Node = recorded.node.renamed(&name);
            self.put(number, Recorded { node, ..recorded });
        }
    }

    /// Drops the nodes whose results no output needs.
    pub(super) fn drop_unread(&mut self) {
        for number in self.numbers().rev() {
            let Some(recorded) = self.get(number) else { continue };
            let is_needed = |buffer: Buffer| {
                matches!(buffer, Buffer::Output(_)) || self.readers(buffer).any(|it| it != number)
            };
            if !recorded.node.writes().into_iter().any(is_needed) {
                self.remove(number);
            }
        }
    }
}

/// The nodes that were not removed, in their order.
pub(super) fn remaining(nodes: Vec<Option<Recorded>>) -> Vec<Recorded> {
    let mut remaining = Vec::with_capacity(nodes.len());
    remaining.extend(nodes.into_iter().flatten());
    remaining
}
