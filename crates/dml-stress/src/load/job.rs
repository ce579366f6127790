//! An operator with its buffers: executed any number of times, verified to the byte.

use std::sync::Arc;

use anyhow::{Context, Error, Result, ensure};
use dml::vk::{BindingTable, Bindings, Recorder};
use dml::{
    AbstractOperator, Buffer, BufferBinding, CompiledOperator, Device, HResult, Numerics,
    Submission,
};
use dml_conformance::cases::{Case, Expectation};
use dml_conformance::execute::{self, DeviceMemory};
use dml_reference::{Case as CornerCase, Memory};

/// A case: an operator, what its buffers hold, and what the reference says about its outputs. Of no
/// device.
pub(crate) struct Work {
    id: String,
    corner: CornerCase,
    operator: AbstractOperator,
    memory: Memory,
}

impl Work {
    /// `None` for a case that must be refused.
    ///
    /// # Errors
    /// The case is refused, or has no reference.
    pub(crate) fn new(case: &Case) -> Result<Option<Arc<Self>>> {
        let Expectation::Outputs(corner) = &case.expectation else { return Ok(None) };
        let validated = dml::core::validate(&case.operator, case.level)?;
        let memory = execute::memory(&validated, corner, Numerics::Exact).map_err(Error::msg)?;
        let (id, operator) = (case.id.to_string(), case.operator.clone());
        let corner = CornerCase::clone(corner);
        Ok(Some(Arc::new(Self { id, corner, operator, memory })))
    }
}

/// A case on a device: compiled, with buffers between guards.
pub(crate) struct Job {
    work: Arc<Work>,
    operator: CompiledOperator,
    buffers: DeviceMemory,
    temporary: Option<Buffer>,
    persistent: Option<Buffer>,
}

impl Job {
    /// Compiles the operator and makes its buffers, initialized where it must be. `None` where the
    /// device cannot carry it, which is no finding.
    ///
    /// # Errors
    /// Whatever else keeps it from running.
    pub(crate) fn new(device: &Device, work: &Arc<Work>) -> Result<Option<Self>> {
        Self::try_new(device, work).with_context(|| work.id.clone())
    }

    fn try_new(device: &Device, work: &Arc<Work>) -> Result<Option<Self>> {
        let operator = match device.compile(work.operator.clone()) {
            Ok(operator) => operator,
            Err(error) if error.hresult() == HResult::DXGI_ERROR_UNSUPPORTED => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let buffers = DeviceMemory::new(device, &work.corner, &work.memory)?;
        let needs = operator.binding_properties();
        let scratch = |size: u64| (size > 0).then(|| device.create_buffer(size)).transpose();
        let temporary = scratch(needs.temporary_resource_size)?;
        let persistent = scratch(needs.persistent_resource_size)?;
        let work = Arc::clone(work);
        let job = Self { work, operator, buffers, temporary, persistent };
        let is_carried = job.initialize(device)?;
        Ok(is_carried.then_some(job))
    }

    /// Whether buffers of this usage can be bound at all.
    fn initialize(&self, device: &Device) -> Result<bool> {
        if let Err(error) = self.table() {
            let is_lacking = error.hresult() == HResult::DXGI_ERROR_UNSUPPORTED;
            return if is_lacking { Ok(false) } else { Err(error.into()) };
        }
        if self.operator.needs_initialization() {
            let inputs = self.buffers.inputs(&self.work.memory, true);
            let [temporary, persistent] = self.resources();
            let (temporary, persistent) = (temporary.as_slice(), persistent.as_slice());
            let bindings = Bindings { inputs: &inputs, outputs: &[], temporary, persistent };
            let table = BindingTable::for_initialization(self.operator.vulkan(), &bindings)?;
            let mut recorder = Recorder::new(device.vulkan())?;
            recorder.initialize(&table)?;
            device.vulkan().submit(recorder.finish()?)?.wait()?;
        }
        Ok(true)
    }

    /// Binds the buffers.
    ///
    /// # Errors
    /// A binding is refused.
    pub(crate) fn table(&self) -> dml::Result<BindingTable> {
        let inputs = self.buffers.inputs(&self.work.memory, false);
        let outputs = self.buffers.outputs(&self.work.memory);
        let [temporary, persistent] = self.resources();
        let bindings = Bindings {
            inputs: &inputs,
            outputs: &outputs,
            temporary: temporary.as_slice(),
            persistent: persistent.as_slice(),
        };
        Ok(BindingTable::new(self.operator.vulkan(), &bindings)?)
    }

    /// The temporary and the persistent resource.
    fn resources(&self) -> [Option<BufferBinding<'_>>; 2] {
        [&self.temporary, &self.persistent].map(|it| it.as_ref().map(BufferBinding::whole))
    }

    /// Starts one execution.
    ///
    /// # Errors
    /// Recording or submitting failed.
    pub(crate) fn submit(&self, device: &Device) -> Result<Submission> {
        let mut recorder = Recorder::new(device.vulkan())?;
        recorder.dispatch(&self.table()?)?;
        Ok(device.vulkan().submit(recorder.finish()?)?)
    }

    /// Whether executing twice leaves what executing once leaves: not where an input becomes the
    /// output.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.work.corner.in_place.is_empty()
    }

    /// Reads every buffer back and compares every byte, guards and inputs included; returns how many
    /// there were.
    ///
    /// # Errors
    /// The first difference.
    pub(crate) fn verify(&self, device: &Device) -> Result<u64> {
        self.try_verify(device).with_context(|| {
            format!("{} with strategy {:?}", self.work.id, device.tuning().strategy)
        })
    }

    fn try_verify(&self, device: &Device) -> Result<u64> {
        let after = self.buffers.read_back(device, &self.work.memory)?;
        let bytes = self.work.memory.check(&after).map_err(Error::msg)?;
        ensure!(bytes > 0, "there was nothing to compare");
        Ok(bytes)
    }
}
