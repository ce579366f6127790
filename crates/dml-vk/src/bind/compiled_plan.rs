//! Plans with the pipelines, barriers and constants that they have on a device.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use dml_core::plan::{Aliases, BoundAt, InPlace, Plan, Slot, Step};

use crate::device::{Device, DeviceShared};
use crate::error::Result;
use crate::memory::buffer::{Buffer, BufferDesc, BufferUsage};
use crate::memory::types::MemoryLocation;
use crate::pipeline::kernel::Pipeline;
use crate::pipeline::plan_check::slot_usages;
use crate::record::barrier::{Barrier, Concurrency, derive_barriers};

/// Which steps of an operator a binding table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The steps that run once, before the first execution.
    Initialize,
    /// The steps of every execution.
    Execute,
}

/// A plan with its pipelines, barriers and constants.
pub(crate) struct CompiledPlan {
    pub(crate) plan: Arc<Plan>,
    pub(crate) constants: Option<Buffer>,
    init: PhaseFacts,
    exec: PhaseFacts,
    /// The steps of each pair of [`Plan::in_place`] that has its own steps.
    in_place: BTreeMap<(u32, u32), PhaseFacts>,
}

/// The pipelines, barriers and usages for the steps of one phase.
pub(crate) struct PhaseFacts {
    /// The usage that each slot's buffer needs.
    pub(crate) usages: BTreeMap<Slot, BufferUsage>,
    /// One entry for each step: the pipeline of a dispatch, `None` for other steps.
    pub(crate) pipelines: Vec<Option<Arc<Pipeline>>>,
    /// The barrier before each step, if no input is bound to an output.
    barriers: Vec<Option<Barrier>>,
}

/// The steps of a table.
pub(crate) struct BoundPhase<'a> {
    steps: Cow<'a, [Step]>,
    facts: &'a PhaseFacts,
    /// The indices in `facts` of steps that are left out.
    left_out: Vec<Range<usize>>,
    aliases: &'a Aliases,
}

impl Device {
    /// Compiles `plan`, which has been checked.
    pub(crate) fn compile_plan(&self, plan: &Arc<Plan>) -> Result<CompiledPlan> {
        let in_place = || plan.in_place.iter().filter(|it| !it.is_by_same_steps());
        let phases = [&plan.init[..], &plan.exec].into_iter();
        let steps = phases.chain(in_place().map(InPlace::own_steps)).flatten();
        let kernels = steps.filter_map(|step| match step {
            Step::Dispatch(dispatch) => Some(&dispatch.kernel),
            _ => None,
        });
        let DeviceShared { pipelines, capabilities, compile_threads, .. } = &*self.shared;
        pipelines.make(kernels, capabilities, *compile_threads)?;
        Ok(CompiledPlan {
            init: self.phase_facts(&plan.init)?,
            exec: self.phase_facts(&plan.exec)?,
            in_place: in_place()
                .map(|in_place| Ok((in_place.pair(), self.phase_facts(in_place.own_steps())?)))
                .collect::<Result<_>>()?,
            constants: self.upload_constants(plan)?,
            plan: Arc::clone(plan),
        })
    }

    fn phase_facts(&self, steps: &[Step]) -> Result<PhaseFacts> {
        let pipelines = &self.shared.pipelines;
        let pipeline = |step: &Step| match step {
            Step::Dispatch(dispatch) => {
                pipelines.get(&dispatch.kernel, &self.shared.capabilities).map(Some)
            }
            _ => Ok(None),
        };
        Ok(PhaseFacts {
            usages: slot_usages(steps),
            pipelines: steps.iter().map(pipeline).collect::<Result<_>>()?,
            barriers: self.barriers(steps, &Aliases::NONE),
        })
    }

    fn barriers(&self, steps: &[Step], aliases: &Aliases) -> Vec<Option<Barrier>> {
        let alignment = self.shared.capabilities.limits.min_storage_buffer_offset_alignment;
        let concurrency = match self.shared.is_validated {
            true => Concurrency::OfSeparateRanges,
            false => Concurrency::Declared,
        };
        derive_barriers(steps, aliases, alignment, concurrency)
    }

    fn upload_constants(&self, plan: &Plan) -> Result<Option<Buffer>> {
        if plan.constants.is_empty() {
            return Ok(None);
        }
        // On a caller's device, only submissions that the caller asked for are made.
        let location =
            if self.is_owned() { MemoryLocation::Device } else { MemoryLocation::Upload };
        let buffer = self.create_buffer(&BufferDesc {
            size: plan.constants.len() as u64,
            usage: BufferUsage::all() | BufferUsage::UNIFORM,
            location,
            name: &format!("{} constants", plan.operator),
        })?;
        self.upload(&buffer, 0, &plan.constants)?;
        Ok(Some(buffer))
    }
}

impl CompiledPlan {
    /// The steps of a table, with their pipelines and barriers. `None` if inputs may not be bound to outputs
    /// as `aliases` says.
    pub(crate) fn phase<'a>(
        &'a self,
        phase: Phase,
        aliases: &'a Aliases,
    ) -> Option<BoundPhase<'a>> {
        let (steps, facts, left_out) = match phase {
            Phase::Initialize => (Cow::Borrowed(&self.plan.init[..]), &self.init, vec![]),
            Phase::Execute => {
                let own = aliases.pairs().find_map(|pair| self.in_place.get(&pair));
                let bound = self.plan.allowed(aliases)?;
                let left_out = bound.into_iter().map(InPlace::left_out).collect();
                (self.plan.exec_with(aliases)?, own.unwrap_or(&self.exec), left_out)
            }
        };
        Some(BoundPhase { steps, facts, left_out, aliases })
    }
}

impl BoundPhase<'_> {
    /// The usage that each slot's buffer needs.
    pub(crate) fn usages(&self) -> &BTreeMap<Slot, BufferUsage> {
        &self.facts.usages
    }

    /// The steps, those that are dispatches with their pipelines.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&Step, &Option<Arc<Pipeline>>)> {
        let is_left_out = |at: usize| self.left_out.iter().any(|it| it.contains(&at));
        let pipelines = self.facts.pipelines.iter().enumerate();
        let kept = pipelines.filter(move |(at, _)| !is_left_out(*at)).map(|(_, it)| it);
        self.steps.iter().zip(kept)
    }

    /// The barrier before each step.
    pub(crate) fn barriers(&self, device: &Device) -> Cow<'_, [Option<Barrier>]> {
        if self.aliases.is_empty() {
            return Cow::Borrowed(&self.facts.barriers);
        }
        Cow::Owned(device.barriers(&self.steps, self.aliases))
    }
}

pub(crate) fn needs_initialization(plan: &Plan) -> bool {
    let mut inputs = plan.inputs.iter().flatten();
    inputs.any(|input| input.bound_at == BoundAt::Initialization) || !plan.init.is_empty()
}
