//! Runs cases on the host interpreter: no Vulkan at all, and any limits that a device could have.

use dml::core::host::{HostBuffer, HostMemory};
use dml::core::plan::{Dispatch, MAX_PUSH_CONSTANT_BYTES, Plan, Slot, Step};
use dml::core::{Capabilities, Tuning, Validated};
use dml::{AbstractOperator, FeatureLevel};
use dml_ops::reference::{Case as CornerCase, Memory, MemoryAfter, run_on_host};
use dml_ops::{Target, TransferUse};

use super::{Executable, Executor, Lowering, Runtime};
use crate::cases::BadBinding;

/// The host interpreter as a device with these capabilities.
pub struct Interpreter<'a> {
    capabilities: Capabilities,
    transfer: TransferUse,
    tuning: Tuning,
    lowering: &'a dyn Lowering,
}

impl<'a> Interpreter<'a> {
    /// An interpreter that stands in for a device with these limits, and whose buffers may be used
    /// as `transfer` says. Like the runtime, it enables no optional feature.
    pub fn new(
        offered: &Capabilities,
        transfer: TransferUse,
        lowering: Option<&'a dyn Lowering>,
    ) -> Self {
        let capabilities =
            Capabilities { limits: offered.limits.clone(), ..Capabilities::vulkan_minimum() };
        let lowering = lowering.unwrap_or(&Runtime);
        Self { capabilities, transfer, tuning: Tuning::default(), lowering }
    }

    /// The same with other preferences.
    pub fn with_tuning(self, tuning: Tuning) -> Self {
        Self { tuning, ..self }
    }

    fn lower(&self, operator: &Validated, transfer: TransferUse) -> Result<Plan, dml::core::Error> {
        let target = Target { capabilities: &self.capabilities, tuning: self.tuning, transfer };
        self.lowering.lower(operator, &target)
    }
}

impl Executor for Interpreter<'_> {
    fn compile(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        let operator = self.lowering.validate(operator, level)?;
        let plan = self.lower(&operator, self.transfer)?;
        Ok(Box::new(HostOperator { interpreter: self, operator, plan }))
    }
}

struct HostOperator<'a> {
    interpreter: &'a Interpreter<'a>,
    operator: Validated,
    /// For buffers with every usage that the device has.
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
        self.interpreter.lower(&self.operator, TransferUse::StorageOnly)
    }

    fn execute(&self, corner: &CornerCase, memory: &Memory) -> Result<MemoryAfter, String> {
        let plan = self.plan(corner).map_err(|error| error.to_string())?;
        let is_storage_only =
            corner.storage_only || self.interpreter.transfer == TransferUse::StorageOnly;
        if is_storage_only && !plan.is_dispatch_only() {
            return Err("the plan has transfers, the buffers no usage for them".to_owned());
        }
        let capabilities = &self.interpreter.capabilities;
        let alignment = capabilities.limits.min_storage_buffer_offset_alignment;
        run_on_host(&plan, corner.in_place, memory, alignment, |steps, host| {
            check_limits(steps, host, capabilities)
        })
    }

    fn bind(&self, _bad: BadBinding) -> Option<dml::Result<()>> {
        None
    }
}

/// Checks what a device would refuse and the interpreter does not mind.
fn check_limits(
    steps: &[Step],
    host: &HostMemory,
    capabilities: &Capabilities,
) -> Result<(), String> {
    for step in steps {
        if let Step::Dispatch(dispatch) = step {
            check_dispatch(dispatch, host, capabilities)
                .map_err(|problem| format!("{}: {problem}", dispatch.kernel.variant.name))?;
        }
    }
    Ok(())
}

fn check_dispatch(
    dispatch: &Dispatch,
    host: &HostMemory,
    capabilities: &Capabilities,
) -> Result<(), String> {
    let limits = &capabilities.limits;
    let counts = dispatch.groups.iter().zip(limits.max_compute_work_group_count);
    if counts.into_iter().any(|(count, most)| *count > most) {
        let (groups, most) = (dispatch.groups, limits.max_compute_work_group_count);
        return Err(format!("{groups:?} groups exceed maxComputeWorkGroupCount ({most:?})"));
    }
    let size = dispatch.push_constants.len();
    if size > MAX_PUSH_CONSTANT_BYTES || size as u64 > u64::from(limits.max_push_constants_size) {
        let most = limits.max_push_constants_size;
        return Err(format!(
            "{size} bytes of push constants exceed maxPushConstantsSize ({most}) or the \
             {MAX_PUSH_CONSTANT_BYTES} that a plan may have"
        ));
    }
    let required = dispatch.kernel.variant.required_features;
    if let Some(missing) = required.iter().find(|it| !capabilities.features.has(**it)) {
        return Err(format!("needs {missing}, which is not enabled"));
    }
    for window in &dispatch.windows {
        let bound = bound_offset(host, window.slot);
        let placed = window.place(bound, limits.min_storage_buffer_offset_alignment);
        if placed.size > limits.max_storage_buffer_range {
            let (size, most) = (placed.size, limits.max_storage_buffer_range);
            return Err(format!("a window of {size} bytes exceeds maxStorageBufferRange ({most})"));
        }
    }
    Ok(())
}

/// Where a slot's binding starts; 0 where it is not bound, which the interpreter reports.
fn bound_offset(host: &HostMemory, slot: Slot) -> u64 {
    let at = |list: &[Option<HostBuffer>], index: u32| {
        list.get(index as usize).and_then(Option::as_ref).map_or(0, |buffer| buffer.offset)
    };
    match slot {
        Slot::Input(index) => at(&host.inputs, index),
        Slot::Output(index) => at(&host.outputs, index),
        Slot::Temporary => host.temporary.offset,
        Slot::Persistent => host.persistent.offset,
        Slot::Constants => host.constants.offset,
    }
}
