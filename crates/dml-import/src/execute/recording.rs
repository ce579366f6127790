//! The commands of a program, recorded once: inputs to where operators read them, the operators, and
//! what they wrote to where the host reads it.

use dml::vk::{CommandList, Recorder};
use dml::{Buffer, BufferDesc, BufferUsage, CompiledOperator, Device, MemoryLocation};

use crate::error::Result;
use crate::program::{Dispatch, Initial, Initialization, Program, Read, Source, Step};
use crate::tensor::{Tensor, byte_count};

use super::bound::{Bound, Table};
use super::progress::{Progress, Uploads};
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

impl Recording {
    pub(super) fn new(
        device: &Device,
        program: &Program,
        operators: &[CompiledOperator],
        (weights, tell): (&Weights, &dyn Fn(Progress)),
    ) -> Result<Self> {
        let mut uploads = Uploads::new(program, tell);
        let is_written = written(program);
        let (mut buffers, mut refilled) = (Vec::new(), Vec::new());
        for (plan, is_written) in program.buffers.iter().zip(&is_written) {
            buffers.push(match &plan.initial {
                Initial::Weight(weight) => weights.buffer(device, plan, weight)?,
                initial => {
                    let buffer = create(device, plan.size)?;
                    match initial {
                        Initial::Tensor(_) | Initial::Sequence(_) if *is_written => {
                            refilled.push((buffer.clone(), initial.clone()));
                        }
                        initial => fill(device, &buffer, initial)?,
                    }
                    buffer
                }
            });
            uploads.filled(&plan.initial, plan.size);
        }
        let scratch = scratch(device, operators)?;
        let persistent = operators.iter().map(|it| {
            let size = it.binding_properties().persistent_resource_size;
            (size > 0).then(|| create(device, size)).transpose()
        });
        let persistent = persistent.collect::<Result<Vec<_>>>()?;
        let mut initialized = vec![false; operators.len()];
        let (mut tables, mut once) = (Vec::new(), Vec::new());
        for step in &program.steps {
            let Some(operator) = operator_of(step) else { continue };
            let is_first = !std::mem::replace(&mut initialized[operator], true);
            let of = Bound {
                program,
                buffers: &buffers,
                operator,
                compiled: &operators[operator],
                temporary: scratch.as_ref(),
                persistent: persistent[operator].as_ref(),
            };
            let mut table = match step {
                Step::Dispatch(dispatch) => of.dispatch(dispatch, is_first)?,
                Step::Initialize(step) => of.initialization(step)?,
                Step::Read(_) => continue,
            };
            if let Step::Dispatch(dispatch) = step {
                let initialization = match of.owns_constants(dispatch, &is_written) {
                    true => table.initialization.take(),
                    false => None,
                };
                let execution = if dispatch.once { table.execution.take() } else { None };
                once.push(Table { initialization, execution });
            }
            tables.push(table);
        }
        prepare(device, &once)?;
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
                Step::Initialize(_) | Step::Dispatch(_) if !copies && !segment.reads.is_empty() => {
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
        let before = program.steps[..segment.steps.start].iter().filter_map(operator_of).count();
        let (mut tables, mut reads) = (self.tables[before..].iter(), segment.reads.iter());
        for step in &program.steps[segment.steps.clone()] {
            match step {
                Step::Initialize(Initialization { operator, .. })
                | Step::Dispatch(Dispatch { operator, .. }) => {
                    let Some(table) = tables.next() else { continue };
                    let node = &program.operators[*operator].node;
                    let failed = |error: dml::vk::Error| at(node, error.into());
                    table.record(&mut recorder).map_err(failed)?;
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

/// The operator that a step initializes or executes.
fn operator_of(step: &Step) -> Option<usize> {
    match step {
        Step::Initialize(step) => Some(step.operator),
        Step::Dispatch(dispatch) => Some(dispatch.operator),
        Step::Read(_) => None,
    }
}

/// Does what is the same in every run, and waits for it.
fn prepare(device: &Device, tables: &[Table]) -> Result<()> {
    if tables.iter().all(|it| it.initialization.is_none() && it.execution.is_none()) {
        return Ok(());
    }
    let failed = |error: dml::vk::Error| at(&name(), error.into());
    let mut recorder = Recorder::new(device.vulkan()).map_err(failed)?;
    for table in tables {
        table.record(&mut recorder).map_err(failed)?;
    }
    let list = recorder.finish().map_err(failed)?;
    device.vulkan().submit(list).and_then(|it| it.wait()).map_err(failed)
}

/// Which buffers runs write.
fn written(program: &Program) -> Vec<bool> {
    let mut written = vec![false; program.buffers.len()];
    for step in &program.steps {
        let Step::Dispatch(dispatch) = step else { continue };
        if dispatch.once {
            continue;
        }
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
