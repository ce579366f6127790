//! Runs a plan on the CPU, as an executable definition of what each step means.
//!
//! The interpreter keeps every access inside the range that the step declared: a plan or a kernel
//! twin that leaves its window is reported, not executed.

use std::ops::Range;

use crate::plan::kernel::KernelVariant;
use crate::plan::{Access, Copy, Dispatch, Fill, InvalidCopy, Plan, Slot, Step, Update, span};

/// A kernel's computation on the host: the twin of the shader of the same name.
pub type HostKernel = fn(&mut HostDispatch<'_>) -> Result<(), HostError>;

/// What can go wrong while a plan is interpreted. Each is a defect of the plan or of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A step names a slot that is not bound.
    #[error("{slot:?} is used but not bound")]
    NotBound {
        /// The slot.
        slot: Slot,
    },
    /// A step touches no bytes, or some outside its binding, or off the required multiple of 4.
    #[error(
        "{slot:?}: bytes {start}..{end} are none, outside the {size} bytes that are bound, or off a multiple of 4"
    )]
    OutOfBinding {
        /// The slot.
        slot: Slot,
        /// First byte, relative to the binding.
        start: u64,
        /// One past the last byte.
        end: u64,
        /// Size of the binding.
        size: u64,
    },
    /// The regions of a copy touch each other.
    #[error(transparent)]
    Copy(#[from] InvalidCopy),
    /// A kernel touches a word outside the descriptor that it was given, or against its access.
    #[error(
        "{kernel}: word {word} of binding {binding} is outside its descriptor ({words} words) or not declared for {access}"
    )]
    OutOfDescriptor {
        /// The kernel.
        kernel: &'static str,
        /// The binding number.
        binding: usize,
        /// The word's index.
        word: u32,
        /// Size of the descriptor in words.
        words: u64,
        /// `read` or `write`.
        access: &'static str,
    },
    /// A dispatch whose windows, push constants or groups do not fit its kernel.
    #[error("{kernel}: {problem}")]
    Malformed {
        /// The kernel.
        kernel: &'static str,
        /// What is wrong.
        problem: String,
    },
}

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
        &self.bytes[to_index(self.offset)..to_index(self.offset + self.size)]
    }

    /// Where `range` of the binding is in the bytes of the buffer.
    fn check(
        &self,
        slot: Slot,
        range: Range<u64>,
        multiple: u64,
    ) -> Result<Range<usize>, HostError> {
        let Range { start, end } = range;
        let off_multiple = !start.is_multiple_of(multiple) || !end.is_multiple_of(multiple);
        if range.is_empty() || end > self.size || off_multiple {
            return Err(HostError::OutOfBinding { slot, start, end, size: self.size });
        }
        Ok(to_index(self.offset + start)..to_index(self.offset + end))
    }
}

fn to_index(offset: u64) -> usize {
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
}

impl HostMemory {
    /// Memory for `plan` with zeroed bindings of exactly the required sizes.
    pub fn for_plan(plan: &Plan) -> Self {
        let bind = |requirement: &Option<crate::plan::BindingRequirement>| {
            requirement.as_ref().map(|required| HostBuffer::zeroed(to_index(required.size)))
        };
        let constants = plan.constants.clone();
        Self {
            inputs: plan.inputs.iter().map(bind).collect(),
            outputs: plan.outputs.iter().map(bind).collect(),
            temporary: HostBuffer::zeroed(to_index(plan.temporary_size)),
            persistent: HostBuffer::zeroed(to_index(plan.persistent_size)),
            constants: HostBuffer { size: constants.len() as u64, bytes: constants, offset: 0 },
        }
    }

    fn get(&mut self, slot: Slot) -> Result<&mut HostBuffer, HostError> {
        let at = |index: u32| index as usize;
        match slot {
            Slot::Input(index) => self.inputs.get_mut(at(index)).and_then(Option::as_mut),
            Slot::Output(index) => self.outputs.get_mut(at(index)).and_then(Option::as_mut),
            Slot::Temporary => Some(&mut self.temporary),
            Slot::Persistent => Some(&mut self.persistent),
            Slot::Constants => Some(&mut self.constants),
        }
        .ok_or(HostError::NotBound { slot })
    }
}

/// Runs `steps` in order. `alignment` is the device's minStorageBufferOffsetAlignment, a power of
/// two: it decides how descriptors are placed, exactly as on a device.
pub fn interpret(steps: &[Step], memory: &mut HostMemory, alignment: u64) -> Result<(), HostError> {
    for step in steps {
        match step {
            Step::Fill(fill) => run_fill(fill, memory)?,
            Step::Update(update) => run_update(update, memory)?,
            Step::Copy(copy) => run_copy(copy, memory)?,
            Step::Dispatch(dispatch) => run_dispatch(dispatch, memory, alignment)?,
        }
    }
    Ok(())
}

fn run_fill(fill: &Fill, memory: &mut HostMemory) -> Result<(), HostError> {
    let buffer = memory.get(fill.slot)?;
    let filled = buffer.check(fill.slot, fill.range.clone(), 4)?;
    for word in buffer.bytes[filled].chunks_exact_mut(4) {
        word.copy_from_slice(&fill.pattern.to_le_bytes());
    }
    Ok(())
}

fn run_update(update: &Update, memory: &mut HostMemory) -> Result<(), HostError> {
    let buffer = memory.get(update.slot)?;
    let range = span(update.offset, update.data.len() as u64);
    let updated = buffer.check(update.slot, range, 4)?;
    buffer.bytes[updated].copy_from_slice(&update.data);
    Ok(())
}

fn run_copy(copy: &Copy, memory: &mut HostMemory) -> Result<(), HostError> {
    copy.check()?;
    for region in copy.regions.iter().flat_map(|region| region.regions()) {
        let source = memory.get(copy.source)?;
        let from = source.check(copy.source, span(region.source_offset, region.size), 1)?;
        let bytes = source.bytes[from].to_vec();
        let destination = memory.get(copy.destination)?;
        let range = span(region.destination_offset, region.size);
        let to = destination.check(copy.destination, range, 1)?;
        destination.bytes[to].copy_from_slice(&bytes);
    }
    Ok(())
}

fn run_dispatch(
    dispatch: &Dispatch,
    memory: &mut HostMemory,
    alignment: u64,
) -> Result<(), HostError> {
    let variant = dispatch.kernel.variant;
    check_shape(dispatch)?;
    let mut push_constants = dispatch.push_constants.clone();
    let mut descriptors = Vec::with_capacity(dispatch.windows.len());
    for window in &dispatch.windows {
        let buffer = memory.get(window.slot)?;
        buffer.check(window.slot, window.range.clone(), 4)?;
        let placed = window.place(buffer.offset, alignment);
        let at = window.base_word_at as usize;
        push_constants[at..at + 4].copy_from_slice(&placed.base_word.to_le_bytes());
        descriptors.push(HostDescriptor {
            slot: window.slot,
            start: to_index(placed.offset),
            words: placed.size / 4,
            access: window.access,
        });
    }
    let mut context = HostDispatch {
        variant,
        groups: dispatch.groups,
        specialization: &dispatch.kernel.specialization,
        push_constants: &push_constants,
        descriptors: &descriptors,
        memory,
    };
    (variant.host)(&mut context)
}

fn check_shape(dispatch: &Dispatch) -> Result<(), HostError> {
    let variant = dispatch.kernel.variant;
    let malformed = |problem: String| HostError::Malformed { kernel: variant.name, problem };
    let push_size = dispatch.push_constants.len();
    if push_size != variant.push_constant_size as usize {
        return Err(malformed(format!(
            "{push_size} bytes of push constants, {} declared",
            variant.push_constant_size
        )));
    }
    if dispatch.windows.len() != variant.bindings.len() {
        return Err(malformed(format!(
            "{} windows, {} bindings declared",
            dispatch.windows.len(),
            variant.bindings.len()
        )));
    }
    if dispatch.kernel.specialization.len() != variant.specialization_constants.len() {
        return Err(malformed("wrong number of specialization constants".to_owned()));
    }
    if dispatch.windows.iter().any(|window| window.base_word_at as usize + 4 > push_size) {
        return Err(malformed("a base word lies outside the push constants".to_owned()));
    }
    if dispatch.groups.contains(&0) {
        return Err(malformed("an empty dispatch".to_owned()));
    }
    Ok(())
}

#[derive(Debug)]
struct HostDescriptor {
    slot: Slot,
    start: usize,
    words: u64,
    access: Access,
}

/// What a kernel twin sees of its dispatch: the counterpart of a shader's interface.
#[derive(Debug)]
pub struct HostDispatch<'a> {
    variant: &'static KernelVariant,
    groups: [u32; 3],
    specialization: &'a [u32],
    push_constants: &'a [u8],
    descriptors: &'a [HostDescriptor],
    memory: &'a mut HostMemory,
}

impl HostDispatch<'_> {
    /// `gl_NumWorkGroups`.
    pub fn groups(&self) -> [u32; 3] {
        self.groups
    }

    /// The `index`-th specialization constant's value.
    pub fn specialization(&self, index: usize) -> u32 {
        self.specialization[index]
    }

    /// The `index`-th 32-bit word of the push constants.
    pub fn push_word(&self, index: usize) -> u32 {
        let bytes = &self.push_constants[index * 4..index * 4 + 4];
        u32::from_le_bytes(bytes.try_into().expect("a slice of 4 bytes"))
    }

    /// Reads a word of a storage buffer.
    pub fn load(&mut self, binding: usize, word: u32) -> Result<u32, HostError> {
        let bytes = self.word(binding, word, Access::Read)?;
        Ok(u32::from_le_bytes(*bytes))
    }

    /// Writes a word of a storage buffer.
    pub fn store(&mut self, binding: usize, word: u32, value: u32) -> Result<(), HostError> {
        *self.word(binding, word, Access::Write)? = value.to_le_bytes();
        Ok(())
    }

    /// `atomicAnd`.
    pub fn atomic_and(&mut self, binding: usize, word: u32, value: u32) -> Result<(), HostError> {
        let bytes = self.word(binding, word, Access::ReadWrite)?;
        *bytes = (u32::from_le_bytes(*bytes) & value).to_le_bytes();
        Ok(())
    }

    /// `atomicOr`.
    pub fn atomic_or(&mut self, binding: usize, word: u32, value: u32) -> Result<(), HostError> {
        let bytes = self.word(binding, word, Access::ReadWrite)?;
        *bytes = (u32::from_le_bytes(*bytes) | value).to_le_bytes();
        Ok(())
    }

    fn word(
        &mut self,
        binding: usize,
        word: u32,
        wanted: Access,
    ) -> Result<&mut [u8; 4], HostError> {
        let descriptor = &self.descriptors[binding];
        let allowed = (!wanted.reads() || descriptor.access.reads())
            && (!wanted.writes() || descriptor.access.writes());
        if !allowed || u64::from(word) >= descriptor.words {
            return Err(HostError::OutOfDescriptor {
                kernel: self.variant.name,
                binding,
                word,
                words: descriptor.words,
                access: if wanted.writes() { "write" } else { "read" },
            });
        }
        let start = descriptor.start + word as usize * 4;
        let buffer = self.memory.get(descriptor.slot)?;
        let bytes = &mut buffer.bytes[start..start + 4];
        Ok(bytes.try_into().expect("a slice of 4 bytes"))
    }
}

#[cfg(test)]
mod tests;
