//! The host interpreter: runs a plan on the CPU, as an executable definition of the steps.
//!
//! The interpreter keeps every access inside the range that the step declared: an access of a plan or a
//! kernel twin outside of its window is reported, not executed.

pub use crate::plan::memory::{HostBuffer, HostMemory};
pub use crate::plan::twin::{HostDispatch, HostError, HostKernel};

use crate::capabilities::Capabilities;
use crate::plan::memory::to_index;
use crate::plan::twin::HostDescriptor;
use crate::plan::{
    Aliases, BindingRequirement, Copy, Dispatch, Fill, InvalidStep, Plan, Slot, Step, Update,
    check_window_size, span,
};

impl HostMemory {
    /// Memory for `plan` with zeroed bindings of exactly the required sizes.
    pub fn for_plan(plan: &Plan) -> Self {
        let bind = |requirement: &Option<BindingRequirement>| {
            requirement.as_ref().map(|required| HostBuffer::zeroed(to_index(required.size)))
        };
        let constants = plan.constants.clone();
        Self {
            inputs: plan.inputs.iter().map(bind).collect(),
            outputs: plan.outputs.iter().map(bind).collect(),
            temporary: HostBuffer::zeroed(to_index(plan.temporary_size)),
            persistent: HostBuffer::zeroed(to_index(plan.persistent_size)),
            constants: HostBuffer { size: constants.len() as u64, bytes: constants, offset: 0 },
            aliases: Aliases::NONE,
        }
    }
}

/// Runs `steps` in order, like a device with these capabilities, which determine the placement of descriptors
/// and the refused steps.
///
/// # Errors
/// The first step that is refused, or whose kernel accesses words outside of its descriptors. The steps before
/// it have been run.
pub fn interpret(
    steps: &[Step],
    memory: &mut HostMemory,
    capabilities: &Capabilities,
) -> Result<(), HostError> {
    let aliases = memory.aliases.clone();
    for step in steps {
        let bound_size = |slot| memory.get(slot).map(|buffer| buffer.size);
        step.check(bound_size, &aliases, &capabilities.limits)?;
        match step {
            Step::Fill(fill) => run_fill(fill, memory)?,
            Step::Update(update) => run_update(update, memory)?,
            Step::Copy(copy) => run_copy(copy, memory)?,
            Step::Dispatch(dispatch) => run_dispatch(dispatch, memory, capabilities)?,
        }
    }
    Ok(())
}

fn bound(memory: &mut HostMemory, slot: Slot) -> Result<&mut HostBuffer, InvalidStep> {
    memory.get(slot).ok_or(InvalidStep::NotBound { slot })
}

fn run_fill(fill: &Fill, memory: &mut HostMemory) -> Result<(), HostError> {
    let buffer = bound(memory, fill.slot)?;
    let filled = buffer.indices(fill.range.clone());
    for word in buffer.bytes[filled].chunks_exact_mut(4) {
        word.copy_from_slice(&fill.pattern.to_le_bytes());
    }
    Ok(())
}

fn run_update(update: &Update, memory: &mut HostMemory) -> Result<(), HostError> {
    let buffer = bound(memory, update.slot)?;
    let updated = buffer.indices(span(update.offset, update.data.len() as u64));
    buffer.bytes[updated].copy_from_slice(&update.data);
    Ok(())
}

fn run_copy(copy: &Copy, memory: &mut HostMemory) -> Result<(), HostError> {
    for region in copy.regions.iter().flat_map(|region| region.regions()) {
        let source = bound(memory, copy.source)?;
        let from = source.indices(span(region.source_offset, region.size));
        let bytes = source.bytes[from].to_vec();
        let destination = bound(memory, copy.destination)?;
        let to = destination.indices(span(region.destination_offset, region.size));
        destination.bytes[to].copy_from_slice(&bytes);
    }
    Ok(())
}

fn run_dispatch(
    dispatch: &Dispatch,
    memory: &mut HostMemory,
    capabilities: &Capabilities,
) -> Result<(), HostError> {
    let variant = &dispatch.kernel.variant;
    let limits = &capabilities.limits;
    let kernel = || variant.name.to_string();
    let is_missing = |it: &&_| !capabilities.features.has(**it);
    if let Some(feature) = variant.required_features.iter().find(is_missing) {
        return Err(HostError::MissingFeature { kernel: kernel(), feature: *feature });
    }
    for (limit, needed) in variant.needed_limits() {
        let available = limits.get(limit);
        if needed > available {
            return Err(HostError::Limit { kernel: kernel(), limit, needed, available });
        }
    }
    let mut push_constants = dispatch.push_constants.clone();
    let mut descriptors = Vec::with_capacity(dispatch.windows.len());
    for window in &dispatch.windows {
        let buffer = bound(memory, window.slot)?;
        let placed = window.place(buffer.offset, limits.min_storage_buffer_offset_alignment);
        check_window_size(placed.size, limits)
            .map_err(|reason| InvalidStep::Dispatch { kernel: kernel(), reason })?;
        let at = window.base_word_at as usize;
        push_constants[at..at + 4].copy_from_slice(&placed.base_word.to_le_bytes());
        descriptors.push(HostDescriptor {
            slot: window.slot,
            start: to_index(placed.offset),
            words: placed.size / 4,
            access: window.access,
        });
    }
    let constants = bound(memory, Slot::Constants)?;
    let uniform = dispatch.uniform.clone().map(|it| constants.indices(it));
    let uniform = uniform.map_or(Vec::new(), |it| constants.bytes[it].to_vec());
    let names = variant
        .specialization_constants
        .iter()
        .map(|specialization_constant| specialization_constant.name);
    let specialization: Vec<_> =
        names.zip(dispatch.kernel.specialization.iter().copied()).collect();
    let mut context = HostDispatch {
        kernel: &variant.name,
        groups: dispatch.groups,
        specialization: &specialization,
        push_constants: &push_constants,
        uniform: &uniform,
        descriptors: &descriptors,
        memory,
    };
    (variant.host)(&mut context)
}

#[cfg(test)]
mod tests;
