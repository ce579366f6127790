//! Dispatches as lines that other programs read.

use std::fmt;

use anyhow::{Context as _, Result};
use dml::core::plan::{Cost, Dispatch, KernelKey, Step};

use crate::Plans;
use crate::counts::{dispatch_of, invocations};

/// A dispatch of a run, without its operands.
///
/// As text, a line of fields with tabs between them: the kernel, invocations, operations, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedDispatch {
    /// The kernel's name, and the values of its specialization constants.
    pub kernel: String,
    /// Invocations, idle ones included.
    pub invocations: u64,
    /// What the plan states.
    pub cost: Cost,
}

impl PlannedDispatch {
    /// What a dispatch of a plan asks for.
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
    /// The dispatches of one run, in their order.
    ///
    /// # Errors
    /// As of [`PlannedDispatch::of`].
    pub fn dispatches(&self) -> Result<Vec<PlannedDispatch>> {
        let steps = self.of_runs.iter().flat_map(|plan| &plan.exec);
        let of = |it: &Step| dispatch_of(it).map(PlannedDispatch::of);
        steps.filter_map(of).collect::<Result<_>>().context("a dispatch of a run")
    }
}

impl fmt::Display for PlannedDispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, invocations, cost: Cost { operations, bytes } } = self;
        write!(f, "{kernel}\t{invocations}\t{operations}\t{bytes}")
    }
}
