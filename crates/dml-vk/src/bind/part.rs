//! One operator of a binding table.

use std::collections::BTreeMap;
use std::sync::Arc;

use dml_core::plan::{Aliases, Slot, Step};

use crate::bind::binding::{Bindings, CheckedBinding, check_bindings};
use crate::bind::compiled::CompiledOperator;
use crate::bind::compiled_plan::{BoundPhase, CompiledPlan, Phase};
use crate::bind::descriptors::{DescriptorSets, SetContent};
use crate::bind::slot_buffers::{BoundStep, SlotBuffers};
use crate::error::{Error, Result};
use crate::memory::buffer::BufferUsage;

/// An operator with its buffers, which keeps all handles in its steps alive.
pub(crate) struct TablePart {
    pub(crate) steps: Vec<BoundStep>,
    pub(crate) is_preferred: bool,
    /// Owns the pipelines and the constants.
    pub(crate) compiled: CompiledOperator,
    pub(crate) bound: Vec<CheckedBinding>,
    /// Owns the sets that the steps name.
    _sets: DescriptorSets,
}

impl TablePart {
    pub(crate) fn bind(
        compiled: &CompiledOperator,
        bindings: &Bindings<'_>,
        phase: Phase,
    ) -> Result<Self> {
        let device = compiled.device();
        device.shared.raw.ensure_alive()?;
        let preferred = &compiled.shared.preferred;
        let (mut bound, aliases) = check_bindings(compiled, &preferred.plan, bindings, phase)?;
        let phase_of_preferred = phase_of(preferred, phase, &aliases)?;
        let usages = phase_of_preferred.usages();
        let plan = match lacking(&bound, usages) {
            None => preferred,
            Some(lacking) => {
                let plan = storage_only(compiled, lacking, usages)?;
                // The resources of this plan may be larger.
                (bound, _) = check_bindings(compiled, &plan.plan, bindings, phase)?;
                plan
            }
        };
        let phase_of_plan = phase_of(plan, phase, &aliases)?;
        let steps = || phase_of_plan.steps();
        let places = SlotBuffers::new(device, plan, &bound);
        let dispatches = steps().filter_map(|step| match step {
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
            Ok(BoundStep { work: step.cost().as_operations(), barrier: *barrier, command })
        });
        Ok(Self {
            steps: steps.collect::<Result<_>>()?,
            is_preferred: std::ptr::eq(plan, preferred),
            compiled: compiled.clone(),
            bound,
            _sets: sets,
        })
    }
}

/// The first binding whose buffer lacks a usage that the preferred plan needs.
fn lacking<'a>(
    bound: &'a [CheckedBinding],
    usages: &BTreeMap<Slot, BufferUsage>,
) -> Option<&'a CheckedBinding> {
    bound.iter().find(|one| !one.buffer.usage().contains(needed(one, usages)))
}

fn needed(one: &CheckedBinding, usages: &BTreeMap<Slot, BufferUsage>) -> BufferUsage {
    usages.get(&one.slot).copied().unwrap_or_default()
}

/// The plan that only needs storage usage, because the buffer of this binding lacks another usage.
fn storage_only<'a>(
    compiled: &'a CompiledOperator,
    lacking: &CheckedBinding,
    usages: &BTreeMap<Slot, BufferUsage>,
) -> Result<&'a CompiledPlan> {
    let refused = |reason: &str| Error::InvalidBinding {
        operator: compiled.operator(),
        field: lacking.field.clone(),
        problem: format!("the buffer's usage is {}{reason}", lacking.buffer.usage()),
        accepted: format!("a usage with {}", needed(lacking, usages)),
    };
    let shared = &compiled.shared;
    let lazy = shared.storage_only.as_ref().ok_or_else(|| refused(""))?;
    let plan = lazy.compiled(&shared.device, &shared.preferred.plan);
    plan.map_err(|error| match error {
        Error::LimitExceeded { .. } => {
            refused(&format!(", and without transfers the device cannot execute it: {error}"))
        }
        other => other,
    })
}

fn phase_of<'a>(
    plan: &'a CompiledPlan,
    phase: Phase,
    aliases: &'a Aliases,
) -> Result<BoundPhase<'a>> {
    // All plans allow the same pairs, which was checked.
    let unchecked = || Error::internal("an input is bound to an output that it may not be");
    plan.phase(phase, aliases).ok_or_else(unchecked)
}
