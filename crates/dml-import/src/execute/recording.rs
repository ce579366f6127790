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
    /// What inputs are copied from, and where each is in it. Without it they are written to their own
    /// buffers: a device may have no copies.
    upload: Option<Buffer>,
    inputs: Vec<(usize, u64)>,
    /// What outputs are copied to. Without it they are read from where they were written.
    readback: Option<Buffer>,
    /// Buffers that are filled again before each run, since operators write them.
    refilled: Vec<(Buffer, Initial)>,
    /// One, where outputs are copied.
    segments: Vec<Segment>,
    buffers: Vec<Buffer>,
    tables: Vec<Table>,
}

/// Steps of the program that are one submission, and what is read after them.
#[derive(Debug, Default)]
struct Segment {
    steps: std::ops::Range<usize>,
    /// From the buffer that they are copied to, or from their own.
    reads: Vec<(Option<usize>, std::ops::Range<u64>)>,
    /// `None` before it is recorded, while it runs, and after a run that failed.
    list: Option<CommandList>,
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
            refilled,
            segments: vec![],
            buffers,
            tables,
        };
        recording.transfers(device, program)?;
        for at in 0..recording.segments.len() {
            recording.segments[at].list = Some(recording.record(device, program, at)?);
        }
        Ok(recording)
    }

    /// Finds places for what is copied from and to the host, and divides the steps where something has
    /// to be read before a later one.
    fn transfers(&mut self, device: &Device, program: &Program) -> Result<()> {
        let copies = device.vulkan().buffer_usages() == BufferUsage::all();
        let mut end = 0u64;
        for (index, plan) in program.buffers.iter().enumerate() {
            if matches!(plan.initial, Initial::Input(_)) {
                self.inputs.push((index, end));
                end = end.saturating_add(plan.size.next_multiple_of(ALIGNMENT));
            }
        }
        if copies {
            let upload = (MemoryLocation::Upload, BufferUsage::TRANSFER_SRC, "inputs");
            self.upload = transfer_buffer(device, end, upload)?;
        }
        let (mut end, mut segment) = (0u64, Segment::default());
        for (index, step) in program.steps.iter().enumerate() {
            match step {
                Step::Dispatch(_) if !copies && !segment.reads.is_empty() => {
                    let next = Segment { steps: index..index, ..Segment::default() };
                    self.segments.push(std::mem::replace(&mut segment, next));
                }
                Step::Read(Read { source: Source::Buffer(binding), element, shape, .. }) => {
                    let bytes = byte_count(*element, shape).unwrap_or(0);
                    let own = (!copies).then_some(binding.buffer);
                    let start = if copies { end } else { binding.offset };
                    segment.reads.push((own, start..start.saturating_add(bytes)));
                    end = end.saturating_add(bytes).next_multiple_of(ALIGNMENT);
                }
                _ => {}
            }
            segment.steps.end = index + 1;
        }
        self.segments.push(segment);
        if copies {
            let readback = (MemoryLocation::Readback, BufferUsage::TRANSFER_DST, "outputs");
            self.readback = transfer_buffer(device, end, readback)?;
        }
        Ok(())
    }

    /// The commands of a segment.
    fn record(&self, device: &Device, program: &Program, at_segment: usize) -> Result<CommandList> {
        let failed = |error: dml::vk::Error| at(&name(), error.into());
        let segment = &self.segments[at_segment];
        let mut recorder = Recorder::repeatable(device.vulkan()).map_err(failed)?;
        if let Some(upload) = &self.upload {
            for (index, offset) in &self.inputs {
                let size = program.buffers[*index].size;
                let copied = recorder.copy_buffer(upload, *offset, &self.buffers[*index], 0, size);
                copied.map_err(failed)?;
            }
        }
        let is_dispatch = |step: &&Step| matches!(step, Step::Dispatch(_));
        let before = program.steps[..segment.steps.start].iter().filter(is_dispatch).count();
        let (mut tables, mut reads) = (self.tables[before..].iter(), segment.reads.iter());
        for step in &program.steps[segment.steps.clone()] {
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
                    let (Some((None, range)), Some(readback)) = (reads.next(), &self.readback)
                    else {
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
            let written = match &self.upload {
                Some(upload) => vulkan.write_buffer(upload, *offset, tensor.bytes()),
                None => vulkan.write_buffer(&self.buffers[*index], 0, tensor.bytes()),
            };
            written.map_err(failed)?;
        }
        let mut outputs = Vec::new();
        for at_segment in 0..self.segments.len() {
            let list = match self.segments[at_segment].list.take() {
                Some(list) => list,
                None => self.record(device, program, at_segment)?,
            };
            let submission = vulkan.submit(list).map_err(failed)?;
            let segment = &mut self.segments[at_segment];
            segment.list = Some(submission.into_list().map_err(failed)?);
            for (own, range) in &segment.reads {
                let from = own.map(|index| &self.buffers[index]).or(self.readback.as_ref());
                let read = |buffer| vulkan.read_buffer(buffer, range.clone()).map_err(failed);
                outputs.push(from.map_or(Ok(vec![]), read)?);
            }
        }
        Ok(outputs)
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
