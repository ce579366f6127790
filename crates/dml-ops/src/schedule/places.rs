//! Places of buffers: parts of the temporary and the persistent resource, and constants.

use dml_core::plan::Slot;
use dml_spirv::ElementWidth;

use super::resource::Resource;
use super::{Schedule, Temporary};
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Buffer, BufferPosition, Content, Stage, ZeroPoints};

/// The temporary memory that was reserved at some time while a program is scheduled.
pub(super) struct Reserved {
    resource: Resource,
    parts: usize,
}

impl Schedule<'_> {
    /// The temporary memory that is reserved now.
    pub(super) fn reserved(&self) -> Reserved {
        Reserved { resource: self.temporary.clone(), parts: self.temporaries.len() }
    }

    /// Gives back the temporary memory that was reserved later than `before`.
    pub(super) fn give_back(&mut self, before: Reserved) {
        self.temporary = before.resource;
        self.temporaries.truncate(before.parts);
    }

    /// Places the local buffers that have no place yet.
    pub(super) fn place_locals(&mut self, buffers: impl IntoIterator<Item = Buffer>) {
        let without_place = |buffer: Buffer| match buffer {
            Buffer::Local(at) if self.locals[at].is_none() => Some(at),
            _ => None,
        };
        let mut used: Vec<usize> = buffers.into_iter().filter_map(without_place).collect();
        // In the order of their declaration, each once.
        used.sort_unstable();
        used.dedup();
        for at in used {
            self.locals[at] = Some(match &self.program.locals[at] {
                Content::Constant { bytes, alignment } => {
                    (Slot::Constants, self.constants.add_shared(bytes.clone(), *alignment).start)
                }
                Content::Computed { width, count, stage } => {
                    self.reserve(*width, *count, *stage, None)
                }
            });
        }
    }

    /// The resource of a buffer, and the buffer's first byte in it.
    pub(super) fn place(&self, buffer: Buffer) -> (Slot, u64) {
        match buffer {
            Buffer::Input(at) => (Slot::Input(at), 0),
            Buffer::Output(at) => (Slot::Output(at), 0),
            Buffer::Local(at) => self.locals[at].expect("every local buffer of a node has a place"),
        }
    }

    pub(super) fn placed_operand(&self, operand: &Operand) -> Operand<Slot> {
        let bits = u64::from(operand.width.bits());
        match operand.buffer.map(|buffer| self.place(buffer)) {
            Some((slot, start)) => operand.moved(Some(slot), (8 * start / bits).cast_signed()),
            None => operand.moved(None, 0),
        }
    }

    pub(super) fn placed(&self, space: &IterationSpace) -> IterationSpace<Slot> {
        IterationSpace {
            sizes: space.sizes,
            inputs: space.inputs.iter().map(|input| self.placed_operand(input)).collect(),
            output: self.placed_operand(&space.output),
        }
    }

    pub(super) fn placed_words(&self, words: BufferPosition) -> BufferPosition<Slot> {
        let (slot, start) = self.place(words.buffer);
        BufferPosition {
            buffer: slot,
            base: words.base + (start / 4).cast_signed(),
            has_slack: words.has_slack,
        }
    }

    pub(super) fn placed_zeros(&self, zeros: ZeroPoints) -> ZeroPoints<Slot> {
        let (slot, start) = self.place(zeros.buffer);
        ZeroPoints { buffer: slot, base: zeros.base + start.cast_signed(), stride: zeros.stride }
    }

    /// Reserves `count` elements for a scheduled node, or for a local buffer; returns the resource and the
    /// first byte.
    pub(super) fn reserve(
        &mut self,
        width: ElementWidth,
        count: u64,
        stage: Stage,
        node: Option<usize>,
    ) -> (Slot, u64) {
        let (slot, resource) = match stage {
            Stage::Execution => (Slot::Temporary, &mut self.temporary),
            Stage::Compilation | Stage::Initialization => {
                (Slot::Persistent, &mut self.kept.resource)
            }
        };
        // No two parts begin at the same byte.
        let bytes = count.max(1).saturating_mul(width.bytes().into());
        let bytes = bytes.checked_next_multiple_of(4).unwrap_or(bytes);
        let start = resource.add(bytes, self.target.max_buffer());
        if slot == Slot::Temporary {
            self.temporaries.push(Temporary { range: start..resource.size, node });
        }
        (slot, start)
    }

    /// `count` adjacent elements of the temporary resource, for the node being scheduled.
    pub(super) fn temporary(&mut self, width: ElementWidth, count: u64) -> Operand<Slot> {
        self.made(width, count, Stage::Execution)
    }

    /// `count` adjacent elements of the resource that is written at `stage`, for the node being scheduled.
    pub(super) fn made(&mut self, width: ElementWidth, count: u64, stage: Stage) -> Operand<Slot> {
        let (slot, start) = self.reserve(width, count, stage, Some(self.nodes.len()));
        Operand::at(slot, width, (start / u64::from(width.bytes())).cast_signed())
    }

    /// `count` words for the parts of sums, until these are added up.
    pub(super) fn place_of_parts(&mut self, count: u64) -> Operand<Slot> {
        let (place, length) = match self.parts.take().filter(|(_, length)| *length >= count) {
            Some(known) => known,
            None => (self.temporary(ElementWidth::B32, count), count),
        };
        self.parts = Some((place.clone(), length));
        place
    }

    /// When the contents of a slot are available.
    pub(super) fn stage(&self, slot: Slot) -> Stage {
        match slot {
            Slot::Input(at) => self.program.stage(Buffer::Input(at)),
            Slot::Persistent => Stage::Initialization,
            Slot::Constants => Stage::Compilation,
            Slot::Output(_) | Slot::Temporary => Stage::Execution,
        }
    }
}
