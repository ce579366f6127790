//! An operator with its buffers: executed any number of times, verified to the byte.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use dml::core::Validated;
use dml::core::schema::FieldKind;
use dml::vk::{BindingTable, Bindings, Recorder};
use dml::{
    AbstractOperator, Buffer, BufferBinding, BufferDesc, BufferUsage, CompiledOperator, Device,
    HResult, MemoryLocation, Submission,
};
use dml_conformance::cases::{Case, Expectation};
use dml_ops::reference::{Case as CornerCase, Compared, Memory, Tensor, compare};

/// A case: an operator, what its buffers hold, and what the reference says about its outputs. Of no
/// device.
pub(crate) struct Work {
    id: String,
    corner: CornerCase,
    operator: AbstractOperator,
    validated: Validated,
    memory: Memory,
    expected: Vec<Vec<u64>>,
}

impl Work {
    /// `None` for a case that must be refused.
    ///
    /// # Errors
    /// The case is refused, or has no reference.
    pub(crate) fn new(case: &Case) -> Result<Option<Arc<Self>>> {
        let Expectation::Outputs(corner) = &case.expectation else { return Ok(None) };
        let validated = dml::core::validate(&case.operator, case.level)?;
        let memory = Memory::new(&validated, corner);
        let reference = dml_ops::find(validated.schema().operator_type)
            .context("the operator is not implemented")?
            .reference();
        let expected = reference.outputs(&validated, &memory.input_elements(&validated))?;
        let (id, operator) = (case.id.to_string(), case.operator.clone());
        let corner = CornerCase::clone(corner);
        Ok(Some(Arc::new(Self { id, corner, operator, validated, memory, expected })))
    }
}

/// A case on a device: compiled, with buffers between guards.
pub(crate) struct Job {
    work: Arc<Work>,
    operator: CompiledOperator,
    /// One for each input; in place that of the output.
    inputs: Vec<Option<Buffer>>,
    outputs: Vec<Option<Buffer>>,
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
        let storage_only = work.corner.storage_only;
        let create = |tensor: &Tensor| create(device, storage_only, tensor);
        let outputs = work.memory.outputs.iter().map(|it| it.as_ref().map(create).transpose());
        let outputs: Vec<Option<Buffer>> = outputs.collect::<dml::Result<_>>()?;
        let inputs = work.memory.inputs.iter().map(|input| match input {
            Some(input) if input.is_output => Ok(outputs.first().cloned().flatten()),
            Some(input) => create(&input.tensor).map(Some),
            None => Ok(None),
        });
        let inputs = inputs.collect::<dml::Result<_>>()?;
        let needs = operator.binding_properties();
        let scratch = |size: u64| (size > 0).then(|| device.create_buffer(size)).transpose();
        let temporary = scratch(needs.temporary_resource_size)?;
        let persistent = scratch(needs.persistent_resource_size)?;
        let work = Arc::clone(work);
        let job = Self { work, operator, inputs, outputs, temporary, persistent };
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
            let inputs = self.bound_inputs(true);
            let bindings = Bindings { inputs: &inputs, ..self.resources() };
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
        let inputs = self.bound_inputs(false);
        let outputs: Vec<_> = self
            .outputs
            .iter()
            .zip(&self.work.memory.outputs)
            .map(|(buffer, tensor)| Some(bound(buffer.as_ref()?, tensor.as_ref()?)))
            .collect();
        let bindings = Bindings { inputs: &inputs, outputs: &outputs, ..self.resources() };
        Ok(BindingTable::new(self.operator.vulkan(), &bindings)?)
    }

    fn resources(&self) -> Bindings<'_> {
        Bindings {
            temporary: self.temporary.as_ref().map(BufferBinding::whole),
            persistent: self.persistent.as_ref().map(BufferBinding::whole),
            ..Bindings::default()
        }
    }

    fn bound_inputs(&self, owned: bool) -> Vec<Option<BufferBinding<'_>>> {
        let inputs = self.inputs.iter().zip(&self.work.memory.inputs);
        inputs
            .map(|(buffer, input)| {
                let input = input.as_ref().filter(|input| input.is_owned == owned)?;
                Some(bound(buffer.as_ref()?, &input.tensor))
            })
            .collect()
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
        !self.work.corner.in_place
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
        let read = |buffer: &Buffer| device.vulkan().read_buffer(buffer, 0..buffer.size());
        let Work { validated, memory, expected, .. } = &*self.work;
        let mut bytes = 0;
        let layouts = validated.tensors(FieldKind::Output);
        for (index, (_, layout)) in layouts.enumerate() {
            let (Some(layout), Some(Some(tensor)), Some(Some(buffer)), Some(elements)) =
                (layout, memory.outputs.get(index), self.outputs.get(index), expected.get(index))
            else {
                continue;
            };
            let after = read(buffer)?;
            bytes += after.len() as u64;
            let (before, offset) = (&tensor.before, tensor.offset);
            compare(&Compared { layout, elements, offset, before, after: &after })
                .map_err(|difference| anyhow!("output {index}: {difference}"))?;
        }
        for (index, (input, buffer)) in memory.inputs.iter().zip(&self.inputs).enumerate() {
            let (Some(input), Some(buffer)) = (input, buffer) else { continue };
            if input.is_only_read() {
                let after = read(buffer)?;
                bytes += after.len() as u64;
                ensure!(after == input.tensor.before, "input {index} was written to");
            }
        }
        ensure!(bytes > 0, "there was nothing to compare");
        Ok(bytes)
    }
}

fn create(device: &Device, storage_only: bool, tensor: &Tensor) -> dml::Result<Buffer> {
    // Without transfer usage only mapped memory can be written and read back.
    let (usage, location) = if storage_only {
        (BufferUsage::STORAGE, MemoryLocation::Readback)
    } else {
        (BufferUsage::all(), MemoryLocation::Device)
    };
    let size = tensor.before.len() as u64;
    let desc = BufferDesc { size, usage, location, name: "stress tensor" };
    let buffer = device.vulkan().create_buffer(&desc)?;
    device.vulkan().write_buffer(&buffer, 0, &tensor.before)?;
    Ok(buffer)
}

fn bound<'a>(buffer: &'a Buffer, tensor: &Tensor) -> BufferBinding<'a> {
    BufferBinding { buffer, offset: tensor.offset, size: tensor.size }
}
