//! One operator of a binding table.

use std::sync::Arc;

use dml_core::plan::{Aliases, Step};

use crate::bind::binding::{Bindings, CheckedBinding, check_bindings};
use crate::bind::compiled::{BoundPhase, CompiledOperator, CompiledPlan, Phase};
use crate::bind::descriptors::{DescriptorSets, SetContent};
use crate::bind::places::{BoundStep, Places};
use crate::error::{Error, Result};

/// An operator with its buffers. All handles in its steps are kept alive by it.
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
        Ok(Self {
            steps: steps.collect::<Result<_>>()?,
            is_preferred,
            compiled: compiled.clone(),
            bound,
            _sets: sets,
        })
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
