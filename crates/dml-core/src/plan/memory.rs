//! The buffers that a plan is run on by the host.

use std::ops::Range;

use super::alias::Aliases;
use super::slot::Slot;

/// A buffer of the host with a tensor bound somewhere inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostBuffer {
    /// All bytes of the buffer.
    pub bytes: Vec<u8>,
    /// Where the binding starts.
    pub offset: u64,
    /// How many bytes are bound.
    pub size: u64,
}

impl HostBuffer {
    /// A buffer of zeros, bound as a whole.
    pub fn zeroed(size: usize) -> Self {
        Self { bytes: vec![0; size], offset: 0, size: size as u64 }
    }

    /// The bound bytes.
    pub fn bound(&self) -> &[u8] {
        &self.bytes[self.indices(0..self.size)]
    }

    /// Where `range` of the binding is in the bytes of the buffer.
    pub(crate) fn indices(&self, range: Range<u64>) -> Range<usize> {
        to_index(self.offset + range.start)..to_index(self.offset + range.end)
    }
}

pub(crate) fn to_index(offset: u64) -> usize {
    usize::try_from(offset).expect("an offset inside a Vec<u8> fits usize")
}

/// The buffers that a plan is run on.
#[derive(Clone, Debug, Default)]
pub struct HostMemory {
    /// One for each input binding; `None` where an optional input is absent.
    pub inputs: Vec<Option<HostBuffer>>,
    /// One for each output binding.
    pub outputs: Vec<Option<HostBuffer>>,
    /// The scratch memory.
    pub temporary: HostBuffer,
    /// Written by `init`, read by `exec`.
    pub persistent: HostBuffer,
    /// The plan's constant block.
    pub constants: HostBuffer,
    /// Inputs that are outputs: what is bound to these inputs is not looked at.
    pub aliases: Aliases,
}

impl HostMemory {
    /// What is bound to `slot`.
    pub(crate) fn get(&mut self, slot: Slot) -> Option<&mut HostBuffer> {
        let at = |index: u32| index as usize;
        match self.aliases.slot(slot) {
            Slot::Input(index) => self.inputs.get_mut(at(index))?.as_mut(),
            Slot::Output(index) => self.outputs.get_mut(at(index))?.as_mut(),
            Slot::Temporary => Some(&mut self.temporary),
            Slot::Persistent => Some(&mut self.persistent),
            Slot::Constants => Some(&mut self.constants),
        }
    }
}
