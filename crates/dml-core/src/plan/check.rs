//! The validity check of plans, for devices and for the host interpreter.

use std::ops::Range;

use super::alias::Aliases;
use super::invalid::{InvalidDispatch, InvalidPlan, InvalidStep, Phase};
use super::push::PushField;
use super::slot::{Slot, Use};
use super::{
    BindingRequirement, BoundAt, Dispatch, MAX_PUSH_CONSTANT_BYTES, MAX_UNIFORM_BYTES,
    MAX_UPDATE_BYTES, Plan, Step, UNIFORM_ALIGNMENT,
};
use crate::capabilities::{Capabilities, Limits};

impl Plan {
    /// Checks every step against the bindings of its phase, and against the device's limits on descriptors
    /// and group counts. The features and limits that kernels need are not checked.
    ///
    /// # Errors
    /// The first [`InvalidPlan`].
    pub fn check(&self, capabilities: &Capabilities) -> Result<(), InvalidPlan> {
        let resources =
            [(Slot::Temporary, self.temporary_size), (Slot::Persistent, self.persistent_size)];
        if let Some((slot, size)) = resources.into_iter().find(|(_, it)| !it.is_multiple_of(4)) {
            return Err(InvalidPlan::ResourceSize { slot, size });
        }
        let mut phases =
            vec![(Phase::Initialization, &self.init[..]), (Phase::Execution, &self.exec)];
        phases.extend(self.in_place.iter().map(|it| {
            let (input, output) = it.pair();
            (Phase::InPlace { input, output }, it.own_steps())
        }));
        for (phase, steps) in phases {
            for (index, step) in steps.iter().enumerate() {
                step.check(
                    |slot| self.bound_size(phase, slot),
                    &Aliases::NONE,
                    &capabilities.limits,
                )
                .map_err(|reason| InvalidPlan::Step { phase, index, reason })?;
            }
        }
        self.check_in_place()?;
        self.check_divisions()
    }

    /// Checks the pairs of inputs and outputs, and the steps of executions with shared slots.
    fn check_in_place(&self) -> Result<(), InvalidPlan> {
        for (at, it) in self.in_place.iter().enumerate() {
            let (input, output) = it.pair();
            let slots = [Slot::Input(input), Slot::Output(output)];
            let is_bound = |slot: &Slot| self.bound_size(Phase::Execution, *slot).is_some();
            let is_again = self.in_place[..at].iter().any(|before| before.pair() == it.pair());
            let is_within = it.left_out().end <= self.exec.len();
            if is_again || !is_within || !slots.iter().all(is_bound) {
                return Err(InvalidPlan::Pair { input, output });
            }
            let aliases = Aliases::new([it.pair()]);
            let is_executed = |at: &usize| it.is_by_same_steps() && !it.left_out().contains(at);
            for (index, step) in self.exec.iter().enumerate().filter(|(at, _)| is_executed(at)) {
                // Only copies depend on which slots share memory.
                let Step::Copy(copy) = step else { continue };
                copy.check_with(&aliases).map_err(|reason| InvalidPlan::Step {
                    phase: Phase::InPlace { input, output },
                    index,
                    reason: reason.into(),
                })?;
            }
        }
        Ok(())
    }

    /// The least size of `slot` in bytes; `None` if it is not bound in this phase.
    fn bound_size(&self, phase: Phase, slot: Slot) -> Option<u64> {
        fn tensor(list: &[Option<BindingRequirement>], index: u32) -> Option<&BindingRequirement> {
            list.get(usize::try_from(index).ok()?)?.as_ref()
        }
        match slot {
            Slot::Input(index) => {
                let at_initialization = phase == Phase::Initialization;
                let is_output = matches!(phase, Phase::InPlace { input, .. } if input == index);
                tensor(&self.inputs, index)
                    .filter(|it| (it.bound_at == BoundAt::Initialization) == at_initialization)
                    .filter(|_| !is_output)
                    .map(|it| it.size)
            }
            Slot::Output(_) if phase == Phase::Initialization => None,
            Slot::Output(index) => tensor(&self.outputs, index).map(|it| it.size),
            Slot::Temporary => Some(self.temporary_size),
            Slot::Persistent => Some(self.persistent_size),
            Slot::Constants => Some((self.constants.len() as u64).next_multiple_of(4)),
        }
    }
}

impl Step {
    /// Checks a single step. `bound_size` gives the size of a slot's binding in bytes; `aliases` states which
    /// slots share memory.
    pub(crate) fn check(
        &self,
        mut bound_size: impl FnMut(Slot) -> Option<u64>,
        aliases: &Aliases,
        limits: &Limits,
    ) -> Result<(), InvalidStep> {
        let multiple = if matches!(self, Self::Copy(_)) { 1 } else { 4 };
        for Use { slot, range, .. } in self.bounds() {
            let size = bound_size(slot).ok_or(InvalidStep::NotBound { slot })?;
            let Range { start, end } = range;
            let is_off = [start, end].iter().any(|it| !it.is_multiple_of(multiple));
            if range.is_empty() || end > size || is_off {
                return Err(InvalidStep::OutOfBinding { slot, range, size });
            }
        }
        match self {
            Self::Update(update) if update.data.len() as u64 > MAX_UPDATE_BYTES => {
                Err(InvalidStep::Update { size: update.data.len() })
            }
            Self::Fill(_) | Self::Update(_) => Ok(()),
            // A copy within its slots has at most as many regions as these have bytes.
            Self::Copy(copy) => Ok(copy.check_with(aliases)?),
            Self::Dispatch(dispatch) => dispatch.check(limits).map_err(|reason| {
                InvalidStep::Dispatch { kernel: dispatch.kernel.variant.name.to_string(), reason }
            }),
        }
    }
}

impl Dispatch {
    fn check(&self, limits: &Limits) -> Result<(), InvalidDispatch> {
        let variant = &self.kernel.variant;
        let size = self.push_constants.len();
        let push_constants = (variant.push_constant_size() as usize).min(MAX_PUSH_CONSTANT_BYTES);
        for (what, given, accepted) in [
            ("bytes of push constants", size, push_constants),
            ("windows", self.windows.len(), variant.bindings.len()),
            (
                "specialization constants",
                self.kernel.specialization.len(),
                variant.specialization_constants.len(),
            ),
        ] {
            if given != accepted {
                return Err(InvalidDispatch::Count { what, given, accepted });
            }
        }
        self.check_uniform(limits)?;
        for (index, window) in self.windows.iter().enumerate() {
            let at = window.base_word_at;
            let is_taken = self.windows[..index].iter().any(|it| it.base_word_at == at);
            let takes = |it: &&PushField| it.takes_base_words();
            let mut fields = variant.push_fields.iter().filter(takes);
            if is_taken || !fields.any(|field| field.has_word_at(at)) {
                return Err(InvalidDispatch::BaseWord { at, fields: variant.push_fields });
            }
            // Where the descriptor has to start below the window, binding checks once more.
            check_window_size(window.range.end.saturating_sub(window.range.start), limits)?;
        }
        let (groups, limit) = (self.groups, limits.max_compute_work_group_count);
        if groups.iter().zip(limit).any(|(count, limit)| *count == 0 || *count > limit) {
            return Err(InvalidDispatch::Groups { groups, limit });
        }
        Ok(())
    }
}

impl Dispatch {
    fn check_uniform(&self, limits: &Limits) -> Result<(), InvalidDispatch> {
        let most = limits.max_uniform_buffer_range.min(MAX_UNIFORM_BYTES);
        let is_right = |range: &Range<u64>| {
            range.start.is_multiple_of(UNIFORM_ALIGNMENT)
                && range.end.saturating_sub(range.start) <= most
        };
        let is_wanted = self.kernel.variant.uniform_binding.is_some();
        if self.uniform.is_some() != is_wanted || !self.uniform.iter().all(is_right) {
            let given = self.uniform.clone();
            return Err(InvalidDispatch::Uniform { given, most: is_wanted.then_some(most) });
        }
        Ok(())
    }
}

/// Checks the bytes that a descriptor shows.
pub(crate) fn check_window_size(size: u64, limits: &Limits) -> Result<(), InvalidDispatch> {
    let limit = limits.max_storage_buffer_range;
    if size > limit { Err(InvalidDispatch::WindowSize { size, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
