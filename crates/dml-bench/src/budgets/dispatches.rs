//! Dispatches as lines that other programs read.

use std::fmt;

use anyhow::{Context as _, Result};
use dml::core::plan::{Cost, Dispatch, KernelKey};

use crate::budgets::counts::{barriers_within, dispatch_of, invocations};
use crate::budgets::{Plans, Profile};

/// A dispatch of a run, without its operands.
///
/// As text, a line of fields with tabs between them: the kernel, invocations, operations, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedDispatch {
    /// The kernel's name, and the values of its specialization constants.
    pub kernel: String,
    /// Invocations, idle ones included.
    pub invocations: u64,
    /// The operations and bytes that the plan states.
    pub cost: Cost,
}

impl PlannedDispatch {
    /// The demands of a dispatch of a plan.
    ///
    /// # Errors
    /// Its kernel does not state the size of its work groups.
    pub fn of(dispatch: &Dispatch) -> Result<Self> {
        let KernelKey { variant, specialization } = &dispatch.kernel;
        let values: Vec<_> = specialization.iter().map(ToString::to_string).collect();
        Ok(Self {
            kernel: format!("{} [{}]", variant.name, values.join(",")),
            invocations: invocations(dispatch)?,
            cost: dispatch.cost,
        })
    }
}

impl Plans {
    /// The dispatches of one run, in their order. Those of one inner list have no barrier between them; each list
    /// waits for the one before.
    ///
    /// # Errors
    /// As of [`PlannedDispatch::of`].
    pub fn stages(&self, profile: &Profile) -> Result<Vec<Vec<PlannedDispatch>>> {
        let mut stages = Vec::new();
        for plan in &self.of_runs {
            // The program places a barrier between plans.
            stages.push(Vec::new());
            for (step, has_barrier) in plan.exec.iter().zip(barriers_within(plan, profile)) {
                if has_barrier {
                    stages.push(Vec::new());
                }
                if let (Some(dispatch), Some(stage)) = (dispatch_of(step), stages.last_mut()) {
                    stage.push(PlannedDispatch::of(dispatch).context("a dispatch of a run")?);
                }
            }
        }
        stages.retain(|stage| !stage.is_empty());
        Ok(stages)
    }
}

impl fmt::Display for PlannedDispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, invocations, cost: Cost { operations, bytes } } = self;
        write!(f, "{kernel}\t{invocations}\t{operations}\t{bytes}")
    }
}
