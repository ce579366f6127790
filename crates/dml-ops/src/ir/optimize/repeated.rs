//! Values that nodes compute as earlier ones did, from the same buffers: the earlier value is read instead. Language
//! models have a mask and positions in each layer that depend on the lengths alone, and are the same in all layers.

use rustc_hash::FxHashMap;

use super::uses::Uses;
use crate::ir::{Buffer, Content, Node, Program, Recorded, Stage};

/// Drops the nodes of such values, and returns the graph's nodes that they were of.
///
/// Values inside of row groups and attentions are left alone: nothing stores them.
pub(super) fn merge(program: &Program, uses: &mut Uses) -> Vec<usize> {
    merge_constants(program, uses);
    let mut known: FxHashMap<Vec<Buffer>, Vec<Definition>> = FxHashMap::default();
    let mut dropped = vec![];
    for number in uses.numbers() {
        let Some(definition) = Definition::that_ends_with(number, program, uses) else { continue };
        let of_same_inputs = known.entry(definition.reads(uses).collect()).or_default();
        let Some(first) = of_same_inputs.iter().find(|it| it.is_equal(&definition, program, uses))
        else {
            of_same_inputs.push(definition);
            continue;
        };
        uses.read_instead(definition.buffer, first.buffer);
        let removed = definition.writers.into_iter().filter_map(|writer| uses.remove(writer));
        dropped.extend(removed.flat_map(|it| it.origin.sources));
    }
    dropped
}

/// Lets nodes read the first of several constants with the same bytes.
fn merge_constants(program: &Program, uses: &mut Uses) {
    let mut known: FxHashMap<(&[u8], u64), Buffer> = FxHashMap::default();
    for (at, content) in program.locals.iter().enumerate() {
        let Content::Constant { bytes, alignment } = content else { continue };
        let buffer = Buffer::Local(at);
        let first = *known.entry((bytes, *alignment)).or_insert(buffer);
        if first != buffer {
            uses.read_instead(buffer, first);
        }
    }
}

/// How a buffer's value is computed.
struct Definition {
    buffer: Buffer,
    /// The nodes that write the buffer, which write no other one and do not read it.
    writers: Vec<usize>,
}

impl Definition {
    /// The definition of a buffer that has its value from that node on; `None` where another value could not be read
    /// instead: outputs, and what is made by initialization, read before it is whole or computed from buffers that
    /// are written again later.
    fn that_ends_with(number: usize, program: &Program, uses: &Uses) -> Option<Self> {
        let [buffer @ Buffer::Local(_)] = uses.get(number)?.node.writes()[..] else { return None };
        let writers: Vec<usize> = uses.writers(buffer).collect();
        let definition = Self { buffer, writers };
        let (first, last) = (*definition.writers.first()?, *definition.writers.last()?);
        let is_whole = last == number
            && program.stage(buffer) == Stage::Execution
            && uses.readers(buffer).all(|reader| reader > last);
        let is_plain = |recorded: &Recorded| {
            let may_be_shared = matches!(
                recorded.node,
                Node::Map(_) | Node::Reduce(_) | Node::Move(_) | Node::Fill(_)
            );
            may_be_shared && recorded.node.writes()[..] == [buffer]
        };
        let stays = |read: Buffer| uses.writers(read).all(|writer| writer < first);
        let is_shared =
            is_whole && definition.nodes(uses).all(is_plain) && definition.reads(uses).all(stays);
        is_shared.then_some(definition)
    }

    fn nodes<'a>(&'a self, uses: &'a Uses) -> impl Iterator<Item = &'a Recorded> {
        self.writers.iter().filter_map(|writer| uses.get(*writer))
    }

    fn reads<'a>(&'a self, uses: &'a Uses) -> impl Iterator<Item = Buffer> + 'a {
        self.nodes(uses).flat_map(|it| it.node.reads())
    }

    /// Whether both compute the same value, and store it in the same way.
    fn is_equal(&self, other: &Self, program: &Program, uses: &Uses) -> bool {
        let content = |it: &Self| match it.buffer {
            Buffer::Local(at) => program.locals.get(at),
            _ => None,
        };
        let to_own = |it| if it == other.buffer { self.buffer } else { it };
        let of_other = other.nodes(uses).map(|it| it.node.renamed(&to_own));
        self.writers.len() == other.writers.len()
            && content(self) == content(other)
            && self.nodes(uses).zip(of_other).all(|(own, other)| are_equal(&own.node, &other))
    }
}

fn are_equal(one: &Node, other: &Node) -> bool {
    match (one, other) {
        (Node::Map(one), Node::Map(other)) => one == other,
        (Node::Reduce(one), Node::Reduce(other)) => one == other,
        (Node::Move(one), Node::Move(other)) => one == other,
        (Node::Fill(one), Node::Fill(other)) => one == other,
        _ => false,
    }
}
