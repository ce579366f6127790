//! The buffers that the host runs a plan on.

use std::ops::Range;

use super::alias::Aliases;
use super::slot::Slot;

/// A buffer of the host with a tensor bound somewhere inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostBuffer {
    /// All bytes of the buffer.
    pub bytes: Vec<u8>,
    /// The offset of the binding in bytes.
    pub offset: u64,
    /// The size of the binding in bytes.
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

    /// The indices in the bytes of the buffer of `range`, which is relative to the binding.
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
    /// A buffer for each input binding; `None` for an optional input that is left out.
    pub inputs: Vec<Option<HostBuffer>>,
    /// A buffer for each output binding; `None` for an output that is left out.
    pub outputs: Vec<Option<HostBuffer>>,
    /// The scratch memory.
    pub temporary: HostBuffer,
    /// The persistent memory: written by `init`, read by `exec`.
    pub persistent: HostBuffer,
    /// The plan's constant block.
    pub constants: HostBuffer,
    /// Inputs that share the bytes of an output: the buffers of these inputs are ignored.
    pub aliases: Aliases,
}

impl HostMemory {
    /// The buffer of `slot`; `None` if there is none.
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
