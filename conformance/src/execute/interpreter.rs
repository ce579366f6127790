//! Runs cases on the host interpreter: without Vulkan, and with any limits that a device could have.

use dml::core::plan::{Plan, Slot};
use dml::core::{Capabilities, Numerics, Strategy, Tuning, Validated};
use dml::{AbstractOperator, FeatureLevel};
use dml_ops::{Target, TransferUse};
use dml_reference::{Case as CornerCase, Memory, MemoryAfter, run_on_host};

use super::{Executable, Executor, Lowering, Runtime};
use crate::cases::BadBinding;

/// The host interpreter in place of a device with these capabilities.
pub struct Interpreter<'a> {
    capabilities: Capabilities,
    transfer: TransferUse,
    tuning: Tuning,
    lowering: &'a dyn Lowering,
}

impl<'a> Interpreter<'a> {
    /// An interpreter that stands in for a device with these limits and features, whose buffers have the
    /// usage `transfer`. Like the runtime, it enables every supported feature.
    pub fn new(
        offered: &Capabilities,
        transfer: TransferUse,
        lowering: Option<&'a dyn Lowering>,
    ) -> Self {
        let capabilities = offered.clone();
        let lowering = lowering.unwrap_or(&Runtime);
        Self { capabilities, transfer, tuning: Tuning::default(), lowering }
    }

    /// This interpreter with another tuning.
    pub fn with_tuning(self, tuning: Tuning) -> Self {
        Self { tuning, ..self }
    }

    fn lower(
        &self,
        operator: &Validated,
        tuning: Tuning,
        transfer: TransferUse,
    ) -> Result<Plan, dml::core::Error> {
        let target = Target { capabilities: &self.capabilities, tuning, transfer };
        self.lowering.lower(operator, &target)
    }

    fn compile_with(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
        tuning: Tuning,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        let operator = self.lowering.validate(operator, level)?;
        let plan = self.lower(&operator, tuning, self.transfer)?;
        Ok(Box::new(HostOperator { interpreter: self, operator, tuning, plan }))
    }
}

impl Executor for Interpreter<'_> {
    fn compile(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        self.compile_with(operator, level, self.tuning)
    }

    fn compile_by(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
        strategy: Strategy,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        self.compile_with(operator, level, self.tuning.with_strategy(strategy))
    }

    fn strategy(&self) -> Option<Strategy> {
        self.tuning.strategy
    }

    fn numerics(&self) -> Numerics {
        self.tuning.numerics
    }

    fn capabilities(&self) -> Option<&Capabilities> {
        Some(&self.capabilities)
    }
}

struct HostOperator<'a> {
    interpreter: &'a Interpreter<'a>,
    operator: Validated,
    tuning: Tuning,
    /// The plan for buffers with every usage that the device has.
    plan: Plan,
}

impl Executable for HostOperator<'_> {
    fn operator(&self) -> &Validated {
        &self.operator
    }

    fn plan(&self, corner: &CornerCase) -> Result<Plan, dml::core::Error> {
        if !corner.storage_only || self.plan.is_dispatch_only() {
            return Ok(self.plan.clone());
        }
        self.interpreter.lower(&self.operator, self.tuning, TransferUse::StorageOnly)
    }

    fn plan_by(&self, corner: &CornerCase, strategy: Strategy) -> Result<Plan, dml::core::Error> {
        let transfer =
            if corner.storage_only { TransferUse::StorageOnly } else { self.interpreter.transfer };
        self.interpreter.lower(&self.operator, self.tuning.with_strategy(strategy), transfer)
    }

    fn execute(&self, corner: &CornerCase, memory: &Memory) -> Result<MemoryAfter, String> {
        let plan = self.plan(corner).map_err(|error| error.to_string())?;
        let is_storage_only =
            corner.storage_only || self.interpreter.transfer == TransferUse::StorageOnly;
        if is_storage_only && !plan.is_dispatch_only() {
            return Err("the plan has transfers, the buffers no usage for them".to_owned());
        }
        run_on_host(&plan, &corner.aliases(), memory, &self.interpreter.capabilities)
    }

    fn bind(&self, _wrong: Option<(Slot, BadBinding)>) -> Option<dml::Result<()>> {
        None
    }
}
