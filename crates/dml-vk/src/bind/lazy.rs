//! Plans that are made when they are first needed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use dml_core::plan::Plan;

use crate::bind::compiled_plan::{CompiledPlan, needs_initialization};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::pipeline::plan_check::check_plan;

/// Makes a plan by lowering an operator, at most once, when it is first needed.
pub struct LowerPlan(Box<dyn Fn() -> Result<Plan, dml_core::Error> + Send + Sync>);

impl LowerPlan {
    /// Makes the plan that `lower` returns. If that is [`dml_core::Error::DeviceLimit`], binding buffers that
    /// need the plan is refused.
    pub fn new(lower: impl Fn() -> Result<Plan, dml_core::Error> + Send + Sync + 'static) -> Self {
        Self(Box::new(lower))
    }
}

impl From<Plan> for LowerPlan {
    fn from(plan: Plan) -> Self {
        Self::new(move || Ok(plan.clone()))
    }
}

impl fmt::Debug for LowerPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LowerPlan").finish_non_exhaustive()
    }
}

/// A plan that is lowered and compiled when it is first needed.
pub(crate) struct LazyPlan {
    lower: LowerPlan,
    plan: OnceLock<Result<Arc<Plan>>>,
    compiled: OnceLock<CompiledPlan>,
}

impl LazyPlan {
    pub(crate) fn new(lower: LowerPlan) -> Self {
        Self { lower, plan: OnceLock::new(), compiled: OnceLock::new() }
    }

    /// The plan, which has the same bindings as `preferred`. Threads that call this at the same time wait for
    /// the first one.
    pub(crate) fn plan(&self, device: &Device, preferred: &Plan) -> Result<&Arc<Plan>> {
        let lowered = self.plan.get_or_init(|| {
            let plan = (self.lower.0)().map_err(|error| lowering_error(preferred, error))?;
            check_alternative(preferred, &plan)?;
            check_plan(&plan, &device.shared.capabilities)?;
            Ok(Arc::new(plan))
        });
        lowered.as_ref().map_err(Error::clone)
    }

    pub(crate) fn compiled(&self, device: &Device, preferred: &Plan) -> Result<&CompiledPlan> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let compiled = device.compile_plan(self.plan(device, preferred)?)?;
        device.shared.pipelines.keep();
        Ok(self.compiled.get_or_init(|| compiled))
    }
}

/// The error for buffers that need the plan: a device limit, or a defect, because the preferred plan was accepted.
fn lowering_error(preferred: &Plan, error: dml_core::Error) -> Error {
    match error {
        dml_core::Error::DeviceLimit { operator, field, needed, limit, available, .. } => {
            Error::LimitExceeded { what: format!("{operator}: {field}"), limit, needed, available }
        }
        error => {
            let operator = preferred.operator;
            Error::internal(format!("{operator}: the storage-only plan is not made: {error}"))
        }
    }
}

/// The pairs of an input and an output that may be bound to the same bytes, and whether several may be at once.
fn permissions(plan: &Plan) -> BTreeSet<((u32, u32), bool)> {
    plan.in_place.iter().map(|it| (it.pair(), it.is_by_same_steps())).collect()
}

fn check_alternative(plan: &Plan, alternative: &Plan) -> Result<()> {
    let binds_the_same = plan.inputs == alternative.inputs
        && plan.outputs == alternative.outputs
        && permissions(plan) == permissions(alternative);
    let keeps_the_same = plan.persistent_size == alternative.persistent_size
        && plan.divisions.persistent == alternative.divisions.persistent
        && needs_initialization(plan) == needs_initialization(alternative);
    let problem = match (binds_the_same, keeps_the_same) {
        (false, _) => "binds other tensors",
        (_, false) => "keeps something else of its initialization",
        _ if !alternative.is_dispatch_only() => "has a transfer",
        _ => return Ok(()),
    };
    Err(Error::internal(format!("{}: the storage-only plan {problem}", plan.operator)))
}
