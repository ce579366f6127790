//! Binding tables: an operator with its buffers, ready to be recorded any number of times.
//!
//! Everything that depends on where buffers are bound is settled here: descriptor sets are
//! allocated and written, push constants patched, copy regions shifted. Recording a table therefore
//! allocates nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ash::vk;
use dml_core::plan::{
    Aliases, CopyRegion, Dispatch, MAX_PUSH_CONSTANT_BYTES, PlacedWindow, Slot, Step,
};

use crate::bind::binding::{Bindings, CheckedBinding, check_bindings};
use crate::bind::compiled::{BoundPhase, CompiledOperator, CompiledPlan, Phase};
use crate::bind::descriptors::{Descriptor, DescriptorSets, SetContent};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::pipeline::kernel::Pipeline;
use crate::record::barrier::Barrier;
use crate::record::recorder::Kept;

/// An operator with the buffers that it works on, for its executions or for its initialization.
///
/// A cheap handle to something immutable: clones share the table, which may be recorded many times
/// and be in flight several times. It owns its descriptor sets and keeps the compiled operator and
/// the buffers alive; it must not be dropped before a command buffer that it was recorded into with
/// [`crate::record_plan`] has completed. A [`crate::Recorder`] sees to that by itself.
#[derive(Clone, Debug)]
pub struct BindingTable {
    shared: Arc<TableShared>,
}

/// What clones of a binding table share.
pub(crate) struct TableShared {
    pub(crate) steps: Vec<BoundStep>,
    phase: Phase,
    is_preferred: bool,
    /// Owns the sets that the steps name.
    _sets: DescriptorSets,
    /// Owns the pipelines and the constants.
    compiled: CompiledOperator,
    buffers: Vec<Buffer>,
}

/// A step that is ready to be recorded.
pub(crate) struct BoundStep {
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

impl Kept for TableShared {
    fn note_submitted(&self, value: u64) {
        self.buffers.iter().for_each(|it| it.shared.note_submitted(value));
    }
}

impl BoundDispatch {
    pub(crate) fn push_constants(&self) -> &[u8] {
        &self.push_constants[..self.push_size]
    }
}

impl BindingTable {
    /// Binds buffers to an operator for its executions.
    ///
    /// The operator's preferred plan is used where the buffers' usages suffice: beside STORAGE that
    /// is TRANSFER_DST for outputs and TRANSFER_SRC for inputs. With STORAGE alone the same bytes
    /// come from a plan made of dispatches, usually more slowly.
    ///
    /// Inputs that are OWNED_BY_DML are not bound. An output shares no byte with anything else that
    /// is bound; the exceptions are those of [`CompiledOperator::in_place`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidBinding`] naming the field where a binding is missing, unexpected,
    /// misaligned, outside its buffer, too small, overlapping what is written, or lacks a usage;
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(compiled: &CompiledOperator, bindings: &Bindings<'_>) -> Result<Self> {
        Self::bind(compiled, bindings, Phase::Execute)
    }

    /// Binds buffers to an operator for its initialization: the inputs that are OWNED_BY_DML and the
    /// resources, no other inputs, no outputs.
    ///
    /// # Errors
    ///
    /// As [`BindingTable::new`].
    pub fn for_initialization(
        compiled: &CompiledOperator,
        bindings: &Bindings<'_>,
    ) -> Result<Self> {
        Self::bind(compiled, bindings, Phase::Initialize)
    }

    fn bind(compiled: &CompiledOperator, bindings: &Bindings<'_>, phase: Phase) -> Result<Self> {
        let device = compiled.device();
        device.shared.raw.ensure_alive()?;
        let (bound, aliases) = check_bindings(compiled, bindings, phase)?;
        let (is_preferred, plan) = choose(compiled, &bound, phase, &aliases)?;
        let phase_of_plan = phase_of(plan, phase, &aliases)?;
        let steps = || phase_of_plan.steps.iter().zip(&phase_of_plan.facts.pipelines);
        let places = Places::new(device, plan, &bound);
        let dispatches = steps().filter_map(|it| match it {
            (Step::Dispatch(dispatch), Some(pipeline)) => Some((dispatch, pipeline)),
            _ => None,
        });
        let placed = dispatches
            .map(|(dispatch, pipeline)| {
                let layout = Arc::clone(&pipeline.layout.set);
                Ok(SetContent { layout, descriptors: places.descriptors(dispatch)? })
            })
            .collect::<Result<Vec<_>>>()?;
        let sets = DescriptorSets::new(&device.shared.raw, &placed)?;
        let mut next_set = sets.handles().iter().copied();
        let barriers = phase_of_plan.barriers(device);
        let steps = steps().zip(barriers.iter()).map(|((step, pipeline), barrier)| {
            let command = places.command(step, pipeline.as_ref(), &mut next_set)?;
            Ok(BoundStep { barrier: *barrier, command })
        });
        let shared = TableShared {
            steps: steps.collect::<Result<_>>()?,
            phase,
            is_preferred,
            _sets: sets,
            compiled: compiled.clone(),
            buffers: bound.into_iter().map(|one| one.buffer).collect(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The operator.
    pub fn compiled(&self) -> &CompiledOperator {
        &self.shared.compiled
    }

    /// What it was made for.
    pub fn phase(&self) -> Phase {
        self.shared.phase
    }

    /// Whether the operator's preferred plan is used, not the one for buffers of STORAGE alone.
    pub fn uses_preferred_plan(&self) -> bool {
        self.shared.is_preferred
    }

    pub(crate) fn shared(&self) -> &TableShared {
        &self.shared
    }

    /// Keeps the table alive as long as it lives.
    pub(crate) fn keep_alive(&self) -> Arc<dyn Kept> {
        Arc::clone(&self.shared) as _
    }

    /// The device that everything in the table belongs to.
    pub(crate) fn device(&self) -> &Device {
        self.shared.compiled.device()
    }
}

impl fmt::Debug for TableShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableShared")
            .field("operator", &self.compiled.operator())
            .field("phase", &self.phase)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

/// The preferred plan where every buffer has the usages that it needs, else the one that needs none but
/// storage.
fn choose<'a>(
    compiled: &'a CompiledOperator,
    bound: &[CheckedBinding],
    phase: Phase,
    aliases: &Aliases,
) -> Result<(bool, &'a CompiledPlan)> {
    let preferred = &compiled.shared.preferred;
    let usages = &phase_of(preferred, phase, aliases)?.facts.usages;
    let needed = |one: &CheckedBinding| usages.get(&one.slot).copied().unwrap_or_default();
    let Some(lacking) = bound.iter().find(|one| !one.buffer.usage().contains(needed(one))) else {
        return Ok((true, preferred));
    };
    if let Some(plan) = &compiled.shared.storage_only {
        return Ok((false, plan.get(compiled.device())?));
    }
    Err(Error::InvalidBinding {
        operator: compiled.operator(),
        field: lacking.field.clone(),
        problem: format!("the buffer's usage is {}", lacking.buffer.usage()),
        accepted: format!("a usage with {}", needed(lacking)),
    })
}

fn phase_of<'a>(
    plan: &'a CompiledPlan,
    phase: Phase,
    aliases: &'a Aliases,
) -> Result<BoundPhase<'a>> {
    // All plans allow the same, which was checked.
    let unchecked = || Error::internal("an input is bound to an output that it may not be");
    plan.phase(phase, aliases).ok_or_else(unchecked)
}

/// Turns a plan's slots into places in buffers.
struct Places<'a> {
    device: &'a Device,
    /// The buffer of each slot, and where in it the slot starts.
    slots: HashMap<Slot, (vk::Buffer, u64)>,
}

impl<'a> Places<'a> {
    fn new(device: &'a Device, plan: &CompiledPlan, bound: &[CheckedBinding]) -> Self {
        let constants = plan.constants.as_ref().map(|it| (Slot::Constants, (it.raw(), 0)));
        let bound = bound.iter().map(|it| (it.slot, (it.buffer.raw(), it.offset)));
        Self { device, slots: bound.chain(constants).collect() }
    }

    fn place(&self, slot: Slot) -> Result<(vk::Buffer, u64)> {
        self.slots.get(&slot).copied().ok_or_else(|| unbound(slot))
    }

    fn window(&self, dispatch: &Dispatch, index: usize) -> Result<(vk::Buffer, PlacedWindow)> {
        let window = &dispatch.windows[index];
        let limits = &self.device.shared.capabilities.limits;
        let (buffer, offset) = self.place(window.slot)?;
        let placed = window.place(offset, limits.min_storage_buffer_offset_alignment);
        if placed.size > limits.max_storage_buffer_range {
            return Err(Error::internal(format!(
                "{}: a descriptor of {} bytes exceeds maxStorageBufferRange {}",
                dispatch.kernel.variant.name, placed.size, limits.max_storage_buffer_range
            )));
        }
        Ok((buffer, placed))
    }

    fn descriptors(&self, dispatch: &Dispatch) -> Result<Vec<Descriptor>> {
        let bindings = dispatch.kernel.variant.bindings;
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
            let (buffer, _) = self.place(Slot::Constants)?;
            let info = vk::DescriptorBufferInfo::default()
                .buffer(buffer)
                .offset(range.start)
                .range(range.end - range.start);
            let ty = vk::DescriptorType::UNIFORM_BUFFER;
            descriptors.push(Descriptor { binding, ty, info });
        }
        Ok(descriptors)
    }

    fn command(
        &self,
        step: &Step,
        pipeline: Option<&Arc<Pipeline>>,
        sets: &mut impl Iterator<Item = vk::DescriptorSet>,
    ) -> Result<Command> {
        Ok(match step {
            Step::Fill(fill) => {
                let (buffer, at) = self.place(fill.slot)?;
                let size = fill.range.end - fill.range.start;
                let offset = at + fill.range.start;
                Command::Fill { buffer, offset, size, pattern: fill.pattern }
            }
            Step::Update(update) => {
                let (buffer, at) = self.place(update.slot)?;
                Command::Update { buffer, offset: at + update.offset, data: update.data.clone() }
            }
            Step::Copy(copy) => {
                let (source, from) = self.place(copy.source)?;
                let (destination, to) = self.place(copy.destination)?;
                let shifted = |region: &CopyRegion| CopyRegion {
                    source_offset: from + region.source_offset,
                    destination_offset: to + region.destination_offset,
                    ..*region
                };
                let regions = copy.regions.iter().map(shifted).collect();
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
