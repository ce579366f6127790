//! Operators: each is lowered from a validated descriptor to a [`Plan`].
//!
//! One folder for each family of operators in `families/`, one line for each in [`OPERATORS`]. Lowering is
//! pure: it depends on the device's capabilities ([`Target`]), never on a device, and only allocates the
//! plan.
//!
//! The meaning of operators is not defined here: tests compare with `dml-reference`, which is written from the
//! documentation and shares nothing with lowering.
#![forbid(unsafe_code)]

mod families;
pub mod graph;
mod ir;
mod lowering;
mod registry;
mod schedule;
mod target;
#[cfg(test)]
mod tests;

pub use dml_spirv::product::is_fused;
pub use dml_spirv::{Float16, NativeTypes};
pub use ir::Program;
pub use registry::{OPERATORS, find, implementation, lower, used_features};
pub use target::{Target, TransferUse};

use dml_core::plan::Plan;
use dml_core::schema::OperatorSchema;
use dml_core::{Error, Validated};

/// An operator's lowering: a row of its family.
pub struct Operator {
    pub(crate) schema: &'static OperatorSchema,
    /// Records the operator's program. Some families depend on the target's limits.
    pub(crate) program: fn(&Validated, &Target<'_>) -> Result<Program, Error>,
}

impl Operator {
    /// Its descriptor and support tables.
    pub fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    /// Whether each element of its output depends on those at the same place of its inputs alone.
    pub fn is_element_wise(&self) -> bool {
        families::element_wise::is_one_map(self)
    }

    /// How `operator` is executed on `target`.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] where the target cannot carry it. A validated operator has no other
    /// reason to fail.
    pub fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        schedule::plan(&self.program(operator, target)?, target)
    }

    /// The program of `operator`, node by node, before it is scheduled.
    ///
    /// # Errors
    /// As [`Self::lower`].
    pub fn program(&self, operator: &Validated, target: &Target<'_>) -> Result<Program, Error> {
        let mut program = self.recorded(operator, target)?;
        ir::optimize::optimize(&mut program, true, target);
        Ok(program)
    }

    /// The nodes as its family records them.
    ///
    /// # Errors
    /// As [`Self::lower`].
    fn recorded(&self, operator: &Validated, target: &Target<'_>) -> Result<Program, Error> {
        (self.program)(operator, target)
    }
}
