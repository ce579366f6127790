//! The buffers and offsets of a plan's slots, and its steps on them.

use std::collections::HashMap;
use std::sync::Arc;

use ash::vk;
use dml_core::plan::{
    CopyRegion, Dispatch, MAX_PUSH_CONSTANT_BYTES, PlacedWindow, Slot, Step, Window,
};

use crate::bind::binding::CheckedBinding;
use crate::bind::compiled_plan::CompiledPlan;
use crate::bind::descriptors::Descriptor;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::pipeline::kernel::Pipeline;
use crate::record::barrier::Barrier;

/// A step that is ready to be recorded.
pub(crate) struct BoundStep {
    /// In operations, as [`dml_core::plan::Cost::as_operations`] counts them.
    pub(crate) work: u64,
    pub(crate) barrier: Option<Barrier>,
    pub(crate) command: Command,
}

/// The command of a step. All handles are kept alive by the table.
pub(crate) enum Command {
    Fill { buffer: vk::Buffer, offset: u64, size: u64, pattern: u32 },
    Update { buffer: vk::Buffer, offset: u64, data: Vec<u8> },
    Copy { source: vk::Buffer, destination: vk::Buffer, regions: Vec<CopyRegion> },
    Dispatch(BoundDispatch),
}

/// A dispatch with its descriptor set and patched push constants.
pub(crate) struct BoundDispatch {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) set: vk::DescriptorSet,
    pub(crate) groups: [u32; 3],
    push_constants: [u8; MAX_PUSH_CONSTANT_BYTES],
    push_size: usize,
}

impl BoundDispatch {
    pub(crate) fn push_constants(&self) -> &[u8] {
        &self.push_constants[..self.push_size]
    }
}

/// Maps a plan's slots to buffers and offsets.
pub(crate) struct SlotBuffers<'a> {
    device: &'a Device,
    /// The buffers of each slot, in the order of the bytes that they hold.
    slots: HashMap<Slot, Vec<Place>>,
}

/// A buffer with the bytes of a slot from `start` on, up to the next place of the slot.
#[derive(Clone, Copy)]
struct Place {
    start: u64,
    buffer: vk::Buffer,
    /// The offset of byte `start` in the buffer.
    offset: u64,
}

impl Place {
    /// The offset in the buffer of a byte of the slot.
    fn at(&self, byte: u64) -> u64 {
        self.offset + (byte - self.start)
    }
}

impl<'a> SlotBuffers<'a> {
    pub(crate) fn new(device: &'a Device, plan: &CompiledPlan, bound: &[CheckedBinding]) -> Self {
        let mut slots: HashMap<Slot, Vec<Place>> = HashMap::new();
        for CheckedBinding { slot, start, buffer, offset, .. } in bound {
            let place = Place { start: *start, buffer: buffer.raw(), offset: *offset };
            slots.entry(*slot).or_default().push(place);
        }
        if let Some(constants) = &plan.constants {
            let place = Place { start: 0, buffer: constants.raw(), offset: 0 };
            slots.insert(Slot::Constants, vec![place]);
        }
        Self { device, slots }
    }

    /// The place of the byte; all bytes that a step uses with it are in the same buffer.
    fn place(&self, slot: Slot, byte: u64) -> Result<Place> {
        let places = self.slots.get(&slot);
        let place = places.and_then(|all| all.iter().rfind(|place| place.start <= byte));
        place.copied().ok_or_else(|| unbound(slot))
    }

    fn window(&self, dispatch: &Dispatch, index: usize) -> Result<(vk::Buffer, PlacedWindow)> {
        let window = &dispatch.windows[index];
        let limits = &self.device.shared.capabilities.limits;
        let place = self.place(window.slot, window.range.start)?;
        let range = window.range.start - place.start..window.range.end - place.start;
        let window = Window { range, ..window.clone() };
        let placed = window.place(place.offset, limits.min_storage_buffer_offset_alignment);
        if placed.size > limits.max_storage_buffer_range {
            return Err(Error::internal(format!(
                "{}: a descriptor of {} bytes exceeds maxStorageBufferRange {}",
                dispatch.kernel.variant.name, placed.size, limits.max_storage_buffer_range
            )));
        }
        Ok((place.buffer, placed))
    }

    pub(crate) fn descriptors(&self, dispatch: &Dispatch) -> Result<Vec<Descriptor>> {
        let bindings = &dispatch.kernel.variant.bindings;
        let descriptor = |(index, binding): (usize, &dml_core::kernel::KernelBinding)| {
            let (buffer, placed) = self.window(dispatch, index)?;
            let info = vk::DescriptorBufferInfo::default()
                .buffer(buffer)
                .offset(placed.offset)
                .range(placed.size);
            let ty = vk::DescriptorType::STORAGE_BUFFER;
            Ok(Descriptor { binding: binding.binding, ty, info })
        };
        let mut descriptors =
            bindings.iter().enumerate().map(descriptor).collect::<Result<Vec<_>>>()?;
        if let (Some(binding), Some(range)) =
            (dispatch.kernel.variant.uniform_binding, &dispatch.uniform)
        {
            let Place { buffer, .. } = self.place(Slot::Constants, range.start)?;
            let info = vk::DescriptorBufferInfo::default()
                .buffer(buffer)
                .offset(range.start)
                .range(range.end - range.start);
            let ty = vk::DescriptorType::UNIFORM_BUFFER;
            descriptors.push(Descriptor { binding, ty, info });
        }
        Ok(descriptors)
    }

    pub(crate) fn command(
        &self,
        step: &Step,
        pipeline: Option<&Arc<Pipeline>>,
        sets: &mut impl Iterator<Item = vk::DescriptorSet>,
    ) -> Result<Command> {
        Ok(match step {
            Step::Fill(fill) => {
                let place = self.place(fill.slot, fill.range.start)?;
                let size = fill.range.end - fill.range.start;
                let offset = place.at(fill.range.start);
                Command::Fill { buffer: place.buffer, offset, size, pattern: fill.pattern }
            }
            Step::Update(update) => {
                let place = self.place(update.slot, update.offset)?;
                let (buffer, offset) = (place.buffer, place.at(update.offset));
                Command::Update { buffer, offset, data: update.data.clone() }
            }
            Step::Copy(copy) => {
                let first = copy.regions.first().ok_or_else(|| unbound(copy.source))?;
                let source = self.place(copy.source, first.source_offset)?;
                let destination = self.place(copy.destination, first.destination_offset)?;
                let shifted = |region: &CopyRegion| CopyRegion {
                    source_offset: source.at(region.source_offset),
                    destination_offset: destination.at(region.destination_offset),
                    ..*region
                };
                let regions = copy.regions.iter().map(shifted).collect();
                let (source, destination) = (source.buffer, destination.buffer);
                Command::Copy { source, destination, regions }
            }
            Step::Dispatch(dispatch) => {
                Command::Dispatch(self.dispatch(dispatch, pipeline, sets.next())?)
            }
        })
    }

    fn dispatch(
        &self,
        dispatch: &Dispatch,
        pipeline: Option<&Arc<Pipeline>>,
        set: Option<vk::DescriptorSet>,
    ) -> Result<BoundDispatch> {
        let (Some(pipeline), Some(set)) = (pipeline, set) else {
            return Err(Error::internal("a dispatch has no pipeline or descriptor set"));
        };
        let mut push_constants = [0; MAX_PUSH_CONSTANT_BYTES];
        let push_size = dispatch.push_constants.len();
        // Compiling has checked that everything fits.
        push_constants[..push_size].copy_from_slice(&dispatch.push_constants);
        for (index, window) in dispatch.windows.iter().enumerate() {
            let (_, placed) = self.window(dispatch, index)?;
            let at = window.base_word_at as usize;
            push_constants[at..at + 4].copy_from_slice(&placed.base_word.to_ne_bytes());
        }
        Ok(BoundDispatch {
            pipeline: Arc::clone(pipeline),
            set,
            groups: dispatch.groups,
            push_constants,
            push_size,
        })
    }
}

fn unbound(slot: Slot) -> Error {
    Error::internal(format!("{slot:?} is used by a plan but not bound"))
}
