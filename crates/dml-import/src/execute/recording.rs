//! The commands of a program, recorded once: inputs to where operators read them, the operators, and
//! what they wrote to where the host reads it.

use dml::vk::{BindingTable, Bindings, CommandList, Recorder};
use dml::{
    Buffer, BufferBinding, BufferDesc, BufferUsage, CompiledOperator, Device, MemoryLocation,
    TensorFlags,
};
use dml_core::schema::FieldKind;

use crate::error::{NodeName, Result};
use crate::program::{Binding, Dispatch, Initial, Program, Read, Source, Step, Work};
use crate::tensor::{Tensor, byte_count};

use super::upload::{Weights, create, fill, name};
use super::{Error, at};

/// Copies begin at multiples of so many bytes.
const ALIGNMENT: u64 = 16;

/// A program's buffers, and the commands that use them.
#[derive(Debug)]
pub(super) struct Recording {
    /// What inputs are copied from, and where each is in it.
    upload: Option<Buffer>,
    inputs: Vec<(usize, u64)>,
    /// What outputs are copied to, and where each is in it.
    readback: Option<Buffer>,
    outputs: Vec<std::ops::Range<u64>>,
    /// Buffers that are filled again before each run, since operators write them.
    refilled: Vec<(Buffer, Initial)>,
    /// `None` while it runs, and after a run that failed.
    list: Option<CommandList>,
    buffers: Vec<Buffer>,
    tables: Vec<Table>,
}

/// What is recorded of one dispatch.
#[derive(Debug)]
struct Table {
    initialization: Option<BindingTable>,
    execution: BindingTable,
}

impl Recording {
    pub(super) fn new(
        device: &Device,
        program: &Program,
        operators: &[CompiledOperator],
        weights: &Weights,
    ) -> Result<Self> {
        let is_written = written(program);
        let (mut buffers, mut refilled) = (Vec::new(), Vec::new());
        for (plan, is_written) in program.buffers.iter().zip(is_written) {
            buffers.push(match &plan.initial {
                Initial::Weight(weight) => weights.buffer(device, plan, weight)?,
                initial => {
                    let buffer = create(device, plan.size)?;
                    match initial {
                        Initial::Tensor(_) | Initial::Sequence(_) if is_written => {
                            refilled.push((buffer.clone(), initial.clone()));
                        }
                        initial => fill(device, &buffer, initial)?,
                    }
                    buffer
                }
            });
        }
        let scratch = scratch(device, operators)?;
        let persistent = operators.iter().map(|it| {
            let size = it.binding_properties().persistent_resource_size;
            (size > 0).then(|| create(device, size)).transpose()
        });
        let persistent = persistent.collect::<Result<Vec<_>>>()?;
        let mut initialized = vec![false; operators.len()];
        let mut tables = Vec::new();
        for step in &program.steps {
            let Step::Dispatch(dispatch) = step else { continue };
            let of = Bound { program, buffers: &buffers, dispatch };
            let is_first = !std::mem::replace(&mut initialized[dispatch.operator], true);
            let persistent = persistent[dispatch.operator].as_ref();
            tables.push(of.table(
                &operators[dispatch.operator],
                scratch.as_ref(),
                persistent,
                is_first,
            )?);
        }
        let mut recording = Self {
            upload: None,
            inputs: vec![],
            readback: None,
            outputs: vec![],
            refilled,
            list: None,
            buffers,
            tables,
        };
        recording.transfers(device, program)?;
        recording.list = Some(recording.record(device, program)?);
        Ok(recording)
    }

    /// Finds places for what is copied from and to the host.
    fn transfers(&mut self, device: &Device, program: &Program) -> Result<()> {
        let mut end = 0u64;
        for (index, plan) in program.buffers.iter().enumerate() {
            if matches!(plan.initial, Initial::Input(_)) {
                self.inputs.push((index, end));
                end = end.saturating_add(plan.size.next_multiple_of(ALIGNMENT));
            }
        }
        let upload = (MemoryLocation::Upload, BufferUsage::TRANSFER_SRC, "inputs");
        self.upload = transfer_buffer(device, end, upload)?;
        let mut end = 0u64;
        for read in reads(program) {
            let bytes = byte_count(read.element, &read.shape).unwrap_or(0);
            self.outputs.push(end..end.saturating_add(bytes));
            end = end.saturating_add(bytes).next_multiple_of(ALIGNMENT);
        }
        let readback = (MemoryLocation::Readback, BufferUsage::TRANSFER_DST, "outputs");
        self.readback = transfer_buffer(device, end, readback)?;
        Ok(())
    }

    fn record(&self, device: &Device, program: &Program) -> Result<CommandList> {
        let failed = |error: dml::vk::Error| at(&name(), error.into());
        let mut recorder = Recorder::repeatable(device.vulkan()).map_err(failed)?;
        if let Some(upload) = &self.upload {
            for (index, offset) in &self.inputs {
                let size = program.buffers[*index].size;
                let copied = recorder.copy_buffer(upload, *offset, &self.buffers[*index], 0, size);
                copied.map_err(failed)?;
            }
        }
        let (mut tables, mut outputs) = (self.tables.iter(), self.outputs.iter());
        for step in &program.steps {
            match step {
                Step::Dispatch(dispatch) => {
                    let Some(table) = tables.next() else { continue };
                    let node = &program.operators[dispatch.operator].node;
                    let failed = |error: dml::vk::Error| at(node, error.into());
                    recorder.barrier_all();
                    if let Some(table) = &table.initialization {
                        recorder.initialize(table).map_err(failed)?;
                        recorder.barrier_all();
                    }
                    recorder.dispatch(&table.execution).map_err(failed)?;
                }
                Step::Read(Read { source: Source::Buffer(binding), .. }) => {
                    let (Some(range), Some(readback)) = (outputs.next(), &self.readback) else {
                        continue;
                    };
                    recorder.barrier_all();
                    let (from, size) = (&self.buffers[binding.buffer], range.end - range.start);
                    let copied =
                        recorder.copy_buffer(from, binding.offset, readback, range.start, size);
                    copied.map_err(failed)?;
                }
                Step::Read(_) => {}
            }
        }
        recorder.finish().map_err(failed)
    }

    /// Runs the commands with these inputs, and gives the bytes of what is read from buffers.
    pub(super) fn run(
        &mut self,
        device: &Device,
        program: &Program,
        tensors: &[Option<Tensor>],
    ) -> Result<Vec<Vec<u8>>> {
        let failed = |error: dml::vk::Error| at(&name(), error.into());
        let vulkan = device.vulkan();
        for (buffer, initial) in &self.refilled {
            fill(device, buffer, initial)?;
        }
        for (index, offset) in &self.inputs {
            let Initial::Input(input) = program.buffers[*index].initial else { continue };
            let tensor = program.input(input, tensors)?;
            if let Some(upload) = &self.upload {
                vulkan.write_buffer(upload, *offset, tensor.bytes()).map_err(failed)?;
            }
        }
        let list = match self.list.take() {
            Some(list) => list,
            None => self.record(device, program)?,
        };
        let submission = vulkan.submit(list).map_err(failed)?;
        self.list = Some(submission.into_list().map_err(failed)?);
        let read = |range: &std::ops::Range<u64>| match &self.readback {
            Some(readback) => vulkan.read_buffer(readback, range.clone()).map_err(failed),
            None => Ok(vec![]),
        };
        self.outputs.iter().map(read).collect()
    }
}

/// A dispatch with the buffers that it is bound to.
struct Bound<'a> {
    program: &'a Program,
    buffers: &'a [Buffer],
    dispatch: &'a Dispatch,
}

impl Bound<'_> {
    fn table(
        &self,
        compiled: &CompiledOperator,
        temporary: Option<&Buffer>,
        persistent: Option<&Buffer>,
        is_first: bool,
    ) -> Result<Table> {
        let failed = |error: dml::vk::Error| at(self.node(), error.into());
        let is_owned = self.owned();
        let owns = |index: usize| is_owned.get(index).copied().unwrap_or(false);
        let temporary = temporary.map(BufferBinding::whole);
        let persistent = persistent.map(BufferBinding::whole);
        let initialization = match compiled.needs_initialization() && is_first {
            false => None,
            true => {
                let inputs = self.bindings(&self.dispatch.inputs, &owns);
                let bindings = Bindings { inputs: &inputs, outputs: &[], temporary, persistent };
                Some(BindingTable::for_initialization(compiled.vulkan(), &bindings))
            }
        };
        let inputs = self.bindings(&self.dispatch.inputs, &|index| !owns(index));
        let outputs = self.bindings(&self.dispatch.outputs, &|_| true);
        let bindings = Bindings { inputs: &inputs, outputs: &outputs, temporary, persistent };
        let execution = BindingTable::new(compiled.vulkan(), &bindings).map_err(failed)?;
        Ok(Table { initialization: initialization.transpose().map_err(failed)?, execution })
    }

    fn bindings(
        &self,
        bindings: &[Option<Binding>],
        chosen: &dyn Fn(usize) -> bool,
    ) -> Vec<Option<BufferBinding<'_>>> {
        let bind = |binding: &Binding| BufferBinding {
            buffer: &self.buffers[binding.buffer],
            offset: binding.offset,
            size: binding.size,
        };
        let bindings = bindings.iter().enumerate();
        bindings.map(|(index, it)| it.as_ref().filter(|_| chosen(index)).map(bind)).collect()
    }

    /// Which inputs are bound at initialization.
    fn owned(&self) -> Vec<bool> {
        let Work::Operator(operator) = &self.program.operators[self.dispatch.operator].work else {
            return vec![];
        };
        let is_owned = |tensor: &dml::TensorDesc| tensor.flags.contains(TensorFlags::OWNED_BY_DML);
        operator.bindings(FieldKind::Input).map(|(_, it)| it.is_some_and(is_owned)).collect()
    }

    fn node(&self) -> &NodeName {
        &self.program.operators[self.dispatch.operator].node
    }
}

/// Which buffers operators write.
fn written(program: &Program) -> Vec<bool> {
    let mut written = vec![false; program.buffers.len()];
    for step in &program.steps {
        let Step::Dispatch(dispatch) = step else { continue };
        for binding in dispatch.outputs.iter().flatten() {
            written[binding.buffer] = true;
        }
    }
    written
}

/// The outputs that are read from buffers, in order.
fn reads(program: &Program) -> impl Iterator<Item = &Read> {
    program.steps.iter().filter_map(|step| match step {
        Step::Read(read) if matches!(read.source, Source::Buffer(_)) => Some(read),
        _ => None,
    })
}

/// One buffer for what operators need while they run, one after the other.
fn scratch(device: &Device, operators: &[CompiledOperator]) -> Result<Option<Buffer>> {
    let size = |it: &CompiledOperator| it.binding_properties().temporary_resource_size;
    match operators.iter().map(size).max().unwrap_or(0) {
        0 => Ok(None),
        size => create(device, size).map(Some),
    }
}

fn transfer_buffer(
    device: &Device,
    size: u64,
    (location, usage, name): (MemoryLocation, BufferUsage, &'static str),
) -> Result<Option<Buffer>, Error> {
    if size == 0 {
        return Ok(None);
    }
    let buffer = device.vulkan().create_buffer(&BufferDesc { size, usage, location, name });
    buffer.map(Some).map_err(|error| at(&super::upload::name(), error.into()))
}
