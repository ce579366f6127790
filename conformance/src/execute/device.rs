//! Runs cases on a Vulkan device.

use dml::core::plan::{Plan, Slot};
use dml::core::schema::FieldKind;
use dml::core::{Capabilities, Strategy, TensorLayout, Tuning, Validated};
use dml::vk::{CompileInput, LowerPlan};
use dml::{
    AbstractOperator, Buffer, BufferBinding, BufferDesc, BufferUsage, CompiledOperator, Device,
    FeatureLevel, Instance, MemoryLocation, Numerics,
};
use dml_ops::{Target, TransferUse};
use dml_reference::{Case as CornerCase, Input, Memory, MemoryAfter, Tensor};

use super::{Executable, Executor, Lowering, Replay, Runtime};
use crate::cases::BadBinding;

/// A Vulkan device.
pub struct DeviceExecutor<'a> {
    instance: Instance,
    device: Device,
    /// In place of the runtime's own.
    lowering: Option<&'a dyn Lowering>,
}

impl<'a> DeviceExecutor<'a> {
    /// Runs cases on `device`, which was made from `instance`. With a `lowering` its plans are
    /// executed, otherwise what the runtime compiles.
    pub fn new(instance: Instance, device: Device, lowering: Option<&'a dyn Lowering>) -> Self {
        Self { instance, device, lowering }
    }

    fn transfer(&self) -> TransferUse {
        if self.device.vulkan().buffer_usages() == BufferUsage::all() {
            TransferUse::Allowed
        } else {
            TransferUse::StorageOnly
        }
    }

    fn lower(
        &self,
        operator: &Validated,
        tuning: Tuning,
        transfer: TransferUse,
    ) -> Result<Plan, dml::core::Error> {
        let capabilities = self.device.capabilities();
        let target = Target { capabilities, tuning, transfer };
        self.lowering.unwrap_or(&Runtime).lower(operator, &target)
    }

    /// As the runtime does it, with plans from elsewhere.
    fn compile_with(
        &self,
        lowering: &dyn Lowering,
        operator: &AbstractOperator,
        level: FeatureLevel,
        tuning: Tuning,
    ) -> dml::Result<CompiledOperator> {
        let operator = lowering.validate(operator, level)?;
        let plan = self.lower(&operator, tuning, self.transfer())?;
        let storage_only = (!plan.is_dispatch_only()).then(|| {
            let lowered = self.lower(&operator, tuning, TransferUse::StorageOnly);
            LowerPlan::new(move || lowered.clone())
        });
        let input = CompileInput { plan, storage_only };
        let compiled = dml_fault::compile(self.device.vulkan(), input)?;
        Ok(CompiledOperator::from_vulkan(operator, compiled))
    }

    fn replayed(&self, operator: &Validated, replay: &Replay) -> dml::Result<Vec<Vec<u8>>> {
        let (device, vulkan) = (&self.device, self.device.vulkan());
        let input = CompileInput { plan: replay.plan.clone(), storage_only: None };
        let compiled = dml_fault::compile(vulkan, input)?;
        let compiled = CompiledOperator::from_vulkan(operator.clone(), compiled);
        let create = |bytes: &Vec<u8>| -> dml::Result<Buffer> {
            let buffer = device.create_buffer(bytes.len() as u64)?;
            vulkan.write_buffer(&buffer, 0, bytes)?;
            Ok(buffer)
        };
        let buffers = replay.before.iter().map(create).collect::<dml::Result<Vec<Buffer>>>()?;
        let bound = |buffer| Some(BufferBinding { buffer, offset: 0, size: buffer.size() });
        device.execute(&compiled, &[], &buffers.iter().map(bound).collect::<Vec<_>>())?;
        let read = |buffer: &Buffer| Ok(vulkan.read_buffer(buffer, 0..buffer.size())?);
        buffers.iter().map(read).collect()
    }

    fn compile_tuned(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
        tuning: Tuning,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        let device = self.device.at_feature_level(level).with_tuning(tuning);
        let compiled = match self.lowering {
            Some(lowering) => self.compile_with(lowering, operator, level, tuning)?,
            None => device.compile(operator.clone())?,
        };
        let operator = compiled.operator().cloned().expect("an operator is not a graph");
        Ok(Box::new(DeviceOperator { executor: self, operator, tuning, compiled }))
    }
}

impl Executor for DeviceExecutor<'_> {
    fn compile(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        self.compile_tuned(operator, level, self.device.tuning())
    }

    fn compile_by(
        &self,
        operator: &AbstractOperator,
        level: FeatureLevel,
        strategy: Strategy,
    ) -> dml::Result<Box<dyn Executable + '_>> {
        self.compile_tuned(operator, level, self.device.tuning().with_strategy(strategy))
    }

    fn strategy(&self) -> Option<Strategy> {
        self.device.tuning().strategy
    }

    fn numerics(&self) -> Numerics {
        self.device.numerics()
    }

    fn capabilities(&self) -> Option<&Capabilities> {
        Some(self.device.capabilities())
    }

    fn replay(&self, operator: &Validated, replay: &Replay) -> Option<dml::Result<Vec<Vec<u8>>>> {
        Some(self.replayed(operator, replay))
    }

    fn pipeline_count(&self) -> usize {
        self.device.vulkan().pipeline_count()
    }

    fn take_messages(&self) -> Vec<String> {
        self.instance.take_validation_messages().iter().map(ToString::to_string).collect()
    }

    fn is_lost(&self) -> bool {
        self.device.vulkan().is_lost()
    }
}

struct DeviceOperator<'a> {
    executor: &'a DeviceExecutor<'a>,
    operator: Validated,
    tuning: Tuning,
    compiled: CompiledOperator,
}

impl Executable for DeviceOperator<'_> {
    fn operator(&self) -> &Validated {
        &self.operator
    }

    fn plan(&self, corner: &CornerCase) -> Result<Plan, dml::core::Error> {
        self.plan_tuned(corner, self.tuning)
    }

    fn plan_by(&self, corner: &CornerCase, strategy: Strategy) -> Result<Plan, dml::core::Error> {
        self.plan_tuned(corner, self.tuning.with_strategy(strategy))
    }

    fn execute(&self, corner: &CornerCase, memory: &Memory) -> Result<MemoryAfter, String> {
        let device = &self.executor.device;
        DeviceMemory::new(device, corner, memory)
            .and_then(|it| it.execute(device, &self.compiled, memory))
            .map_err(|error| error.to_string())
    }

    fn bind(&self, wrong: Option<(Slot, BadBinding)>) -> Option<dml::Result<()>> {
        Some(self.execute_bound(wrong))
    }
}

impl DeviceOperator<'_> {
    fn plan_tuned(&self, corner: &CornerCase, tuning: Tuning) -> Result<Plan, dml::core::Error> {
        let transfer =
            if corner.storage_only { TransferUse::StorageOnly } else { self.executor.transfer() };
        self.executor.lower(&self.operator, tuning, transfer)
    }

    /// Executes with a buffer of its own for each tensor, which is [`SPARE`] bytes larger.
    fn execute_bound(&self, wrong: Option<(Slot, BadBinding)>) -> dml::Result<()> {
        let (device, compiled) = (&self.executor.device, &self.compiled);
        let buffers = |kind| -> dml::Result<Vec<Option<Buffer>>> {
            let size = |layout: &TensorLayout| layout.total_size().next_multiple_of(4);
            let create = |layout| device.create_buffer(size(layout) + SPARE);
            let tensors = self.operator().tensors(kind);
            tensors.map(|(_, layout)| layout.map(create).transpose()).collect()
        };
        let (inputs, outputs) = (buffers(FieldKind::Input)?, buffers(FieldKind::Output)?);
        let bad = |slot| wrong.filter(|(at, _)| *at == slot).map(|(_, bad)| bad);
        let inputs = (0..).zip(&inputs).map(|(at, buffer)| bound(buffer, bad(Slot::Input(at))));
        let outputs = (0..).zip(&outputs).map(|(at, buffer)| bound(buffer, bad(Slot::Output(at))));
        device.execute(compiled, &inputs.collect::<Vec<_>>(), &outputs.collect::<Vec<_>>())
    }
}

/// Bytes of a buffer beyond its tensor.
const SPARE: u64 = 16;

/// The binding of a tensor whose buffer has [`SPARE`] bytes more, as it must be or wrong; `None` where
/// the tensor is left out.
fn bound(buffer: &Option<Buffer>, bad: Option<BadBinding>) -> Option<BufferBinding<'_>> {
    let buffer = buffer.as_ref()?;
    let size = buffer.size() - SPARE;
    let right = BufferBinding { buffer, offset: 0, size };
    match bad {
        None => Some(right),
        Some(BadBinding::TooSmall) => Some(BufferBinding { size: size - 4, ..right }),
        Some(BadBinding::Unaligned) => Some(BufferBinding { offset: 8, ..right }),
        Some(BadBinding::OutOfBuffer) => Some(BufferBinding { offset: 32, ..right }),
        Some(BadBinding::Missing) => None,
    }
}

/// The buffers of a case on a device.
pub struct DeviceMemory {
    /// One for each input; those in place are the output's.
    inputs: Vec<Option<Buffer>>,
    outputs: Vec<Option<Buffer>>,
}

impl DeviceMemory {
    /// Buffers that hold what `memory` says.
    ///
    /// # Errors
    /// The device failed.
    pub fn new(device: &Device, corner: &CornerCase, memory: &Memory) -> dml::Result<Self> {
        let create = |tensor: &Tensor| -> dml::Result<Buffer> {
            let (usage, location) = if corner.storage_only {
                // Without transfer usage only mapped memory can be written and read back.
                (BufferUsage::STORAGE, MemoryLocation::Readback)
            } else {
                (BufferUsage::all(), MemoryLocation::Device)
            };
            let size = tensor.before.len() as u64;
            let desc = BufferDesc { size, usage, location, name: "tensor of a case" };
            let buffer = device.vulkan().create_buffer(&desc)?;
            device.vulkan().write_buffer(&buffer, 0, &tensor.before)?;
            Ok(buffer)
        };
        let outputs = memory.outputs.iter();
        let outputs: Vec<Option<Buffer>> = outputs
            .map(|output| output.as_ref().map(|output| create(&output.tensor)).transpose())
            .collect::<Result<_, _>>()?;
        let inputs = memory.inputs.iter().map(|input| match input {
            Some(input) => match input.output {
                Some(output) => Ok(outputs.get(output).cloned().flatten()),
                None => create(&input.tensor).map(Some),
            },
            None => Ok(None),
        });
        let inputs = inputs.collect::<Result<_, _>>()?;
        Ok(Self { inputs, outputs })
    }

    fn execute(
        &self,
        device: &Device,
        compiled: &CompiledOperator,
        memory: &Memory,
    ) -> dml::Result<MemoryAfter> {
        if compiled.needs_initialization() {
            device.initialize(compiled, &self.inputs(memory, true))?;
            // Whoever still reads an owned input gets something else.
            for (buffer, input) in self.inputs.iter().zip(&memory.inputs) {
                if let (Some(buffer), Some(input)) = (buffer, input)
                    && input.is_owned
                {
                    let other: Vec<u8> = input.tensor.before.iter().map(|byte| !byte).collect();
                    device.vulkan().write_buffer(buffer, 0, &other)?;
                }
            }
        }
        device.execute(compiled, &self.inputs(memory, false), &self.outputs(memory))?;
        self.read_back(device, memory)
    }

    /// Every byte that an execution could have written to.
    ///
    /// # Errors
    /// The device failed.
    pub fn read_back(&self, device: &Device, memory: &Memory) -> dml::Result<MemoryAfter> {
        let vulkan = device.vulkan();
        let read = |buffer: &Buffer| vulkan.read_buffer(buffer, 0..buffer.size());
        let inputs = self.inputs.iter().zip(&memory.inputs).map(|(buffer, input)| {
            let is_read = input.as_ref().is_some_and(Input::is_only_read);
            buffer.as_ref().filter(|_| is_read).map(read).transpose()
        });
        let outputs = self.outputs.iter().map(|buffer| buffer.as_ref().map(read).transpose());
        Ok(MemoryAfter {
            inputs: inputs.collect::<Result<_, _>>()?,
            outputs: outputs.collect::<Result<_, _>>()?,
        })
    }

    /// The inputs that are bound at initialization, or those that are bound to executions.
    pub fn inputs(&self, memory: &Memory, owned: bool) -> Vec<Option<BufferBinding<'_>>> {
        let inputs = self.inputs.iter().zip(&memory.inputs);
        inputs
            .map(|(buffer, input)| {
                let input = input.as_ref().filter(|input| input.is_owned == owned)?;
                Some(binding(buffer.as_ref()?, &input.tensor))
            })
            .collect()
    }

    /// The outputs that are bound to executions.
    pub fn outputs(&self, memory: &Memory) -> Vec<Option<BufferBinding<'_>>> {
        let outputs = self.outputs.iter().zip(&memory.outputs);
        outputs
            .map(|(buffer, output)| Some(binding(buffer.as_ref()?, &output.as_ref()?.tensor)))
            .collect()
    }
}

fn binding<'a>(buffer: &'a Buffer, tensor: &Tensor) -> BufferBinding<'a> {
    BufferBinding { buffer, offset: tensor.offset, size: tensor.size }
}
