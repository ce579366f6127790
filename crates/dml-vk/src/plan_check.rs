//! Checks that a plan keeps what plans promise. A violation is a defect of this project, found here
//! and not on the device.

use std::collections::BTreeMap;

use dml_core::capabilities::Capabilities;
use dml_core::plan::{BoundAt, Dispatch, MAX_PUSH_CONSTANT_BYTES, Plan, Slot, Step};

use crate::buffer::BufferUsage;
use crate::error::{Error, Result};

/// vkCmdUpdateBuffer takes at most this many bytes.
const MAX_UPDATE: usize = 65_536;

/// Checks every step of `plan` against its slots, and the device's descriptors and group counts.
pub(crate) fn check_plan(plan: &Plan, capabilities: &Capabilities) -> Result<()> {
    check_resources(plan)
        .and_then(|()| check_steps(plan, capabilities))
        .map_err(|problem| Error::internal(format!("{}: malformed plan: {problem}", plan.operator)))
}

fn check_resources(plan: &Plan) -> Result<(), String> {
    for size in [plan.temporary_size, plan.persistent_size] {
        if !size.is_multiple_of(4) {
            return Err(format!("a resource of {size} bytes"));
        }
    }
    Ok(())
}

fn check_steps(plan: &Plan, capabilities: &Capabilities) -> Result<(), String> {
    let initialized = |slot| match slot {
        Slot::Input(index) => bound_at(plan, index) == Some(BoundAt::Initialization),
        Slot::Output(_) => false,
        _ => true,
    };
    let executed = |slot| match slot {
        Slot::Input(index) => bound_at(plan, index) == Some(BoundAt::Execution),
        _ => true,
    };
    let alias = plan.in_place.as_ref().map(|in_place| Slot::Input(in_place.input));
    let executed_in_place = |slot| executed(slot) && Some(slot) != alias;
    plan.init.iter().try_for_each(|step| check_step(plan, step, capabilities, initialized))?;
    plan.exec.iter().try_for_each(|step| check_step(plan, step, capabilities, executed))?;
    let mut in_place = plan.exec_in_place().iter();
    in_place.try_for_each(|step| check_step(plan, step, capabilities, executed_in_place))
}

fn bound_at(plan: &Plan, input: u32) -> Option<BoundAt> {
    let requirement = plan.inputs.get(usize::try_from(input).ok()?)?;
    requirement.as_ref().map(|requirement| requirement.bound_at)
}

/// `is_bound` tells which slots there are when the step is executed.
fn check_step(
    plan: &Plan,
    step: &Step,
    capabilities: &Capabilities,
    is_bound: impl Fn(Slot) -> bool,
) -> Result<(), String> {
    for used in step.bounds() {
        if !is_bound(used.slot) {
            return Err(format!("{:?} is not bound when it is used", used.slot));
        }
        let size = slot_size(plan, used.slot)
            .ok_or_else(|| format!("{:?} is not part of the operator", used.slot))?;
        if used.range.is_empty() || used.range.end > size {
            return Err(format!("{:?}: {:?} of {size} bytes", used.slot, used.range));
        }
    }
    let of_words = |value: u64| value.is_multiple_of(4);
    match step {
        Step::Fill(fill) if !of_words(fill.range.start) || !of_words(fill.range.end) => {
            Err(format!("fill of {:?}", fill.range))
        }
        Step::Update(update)
            if !of_words(update.offset)
                || !of_words(update.data.len() as u64)
                || update.data.len() > MAX_UPDATE =>
        {
            Err(format!("update of {} bytes at {}", update.data.len(), update.offset))
        }
        // What lies within slots has no more regions than these have bytes.
        Step::Copy(copy) => copy.check().map_err(|problem| problem.to_string()),
        Step::Dispatch(dispatch) => check_dispatch(dispatch, capabilities),
        _ => Ok(()),
    }
}

fn check_dispatch(dispatch: &Dispatch, capabilities: &Capabilities) -> Result<(), String> {
    let variant = dispatch.kernel.variant;
    let push_size = dispatch.push_constants.len();
    if push_size > MAX_PUSH_CONSTANT_BYTES
        || push_size as u64 != u64::from(variant.push_constant_size)
    {
        return Err(format!("{}: {push_size} bytes of push constants", variant.name));
    }
    if dispatch.windows.len() != variant.bindings.len() {
        return Err(format!("{}: {} windows", variant.name, dispatch.windows.len()));
    }
    for window in &dispatch.windows {
        let base_word_end = u64::from(window.base_word_at) + 4;
        let ends = [window.range.start, window.range.end];
        if base_word_end > push_size as u64 || ends.iter().any(|end| !end.is_multiple_of(4)) {
            return Err(format!("{}: misplaced window {window:?}", variant.name));
        }
        // Where the descriptor has to start below the window, binding checks once more.
        let size = window.range.end.saturating_sub(window.range.start);
        let most = capabilities.limits.max_storage_buffer_range;
        if size > most {
            let problem = format!("a window of {size} bytes exceeds maxStorageBufferRange {most}");
            return Err(format!("{}: {problem}", variant.name));
        }
    }
    let limits = capabilities.limits.max_compute_work_group_count;
    let fits = |(count, limit): (&u32, u32)| *count > 0 && *count <= limit;
    if !dispatch.groups.iter().zip(limits).all(fits) {
        return Err(format!("{}: {:?} groups", variant.name, dispatch.groups));
    }
    Ok(())
}

/// Bytes that `slot` has at least.
fn slot_size(plan: &Plan, slot: Slot) -> Option<u64> {
    let tensor = |list: &[Option<dml_core::plan::BindingRequirement>], index: u32| {
        list.get(usize::try_from(index).ok()?)?.as_ref().map(|requirement| requirement.size)
    };
    match slot {
        Slot::Input(index) => tensor(&plan.inputs, index),
        Slot::Output(index) => tensor(&plan.outputs, index),
        Slot::Temporary => Some(plan.temporary_size),
        Slot::Persistent => Some(plan.persistent_size),
        Slot::Constants => Some((plan.constants.len() as u64).next_multiple_of(4)),
    }
}

/// The usage that each slot's buffer needs for `steps`: storage, and what their transfers take.
pub(crate) fn slot_usages(steps: &[Step]) -> BTreeMap<Slot, BufferUsage> {
    let mut usages = BTreeMap::new();
    for step in steps {
        let transfers = match step {
            Step::Fill(fill) => vec![(fill.slot, BufferUsage::TRANSFER_DST)],
            Step::Update(update) => vec![(update.slot, BufferUsage::TRANSFER_DST)],
            Step::Copy(copy) => vec![
                (copy.source, BufferUsage::TRANSFER_SRC),
                (copy.destination, BufferUsage::TRANSFER_DST),
            ],
            Step::Dispatch(_) => Vec::new(),
        };
        for (slot, usage) in transfers {
            let needed = usages.entry(slot).or_insert(BufferUsage::STORAGE);
            *needed = *needed | usage;
        }
    }
    usages
}
