//! The recorded commands of a program: uploading its inputs, executing its operators, and copying its outputs
//! to where the host reads them.

use std::sync::PoisonError;

use dml::vk::{CommandList, Recorder};
use dml::{Buffer, BufferUsage, Device, MemoryLocation};

use crate::error::Result;
use crate::program::{Initial, Program, Read, Source, Step};
use crate::tensor::{Tensor, byte_count};

use super::at;
use super::bound::{Table, When};
use super::device_tensor::DeviceTensor;
use super::its_buffers;
use super::memory::{create, create_for_transfers};
use super::resources::{Resources, operator_of};
use super::upload::fill;

/// Tensors start at multiples of this many bytes in the upload and readback buffers.
const ALIGNMENT: u64 = 16;

/// The inputs and outputs of a program that stay on the device.
#[derive(Debug)]
pub(super) struct Places {
    /// The caller's buffers, by the program's buffer indices.
    pub(super) buffers: Vec<Option<Buffer>>,
    /// For each step, whether it reads an output that stays on the device.
    pub(super) is_kept: Vec<bool>,
}

impl Places {
    /// All inputs and outputs are on the host.
    pub(super) fn of_host(program: &Program) -> Self {
        let buffers = vec![None; program.buffers.len()];
        Self { buffers, is_kept: vec![false; program.steps.len()] }
    }
}

impl PartialEq for Places {
    fn eq(&self, other: &Self) -> bool {
        let raw = |it: &Self| -> Vec<_> {
            it.buffers.iter().map(|it| it.as_ref().map(Buffer::raw)).collect()
        };
        self.is_kept == other.is_kept && raw(self) == raw(other)
    }
}

/// A program's recorded commands, and the buffers that only they use.
#[derive(Debug)]
pub(super) struct Recording {
    places: Places,
    /// The staging buffer of inputs, and each input's buffer index and offset in it. Without a staging buffer,
    /// inputs are written directly to their buffers, since a device may not support copies.
    upload: Option<Buffer>,
    inputs: Vec<(usize, u64)>,
    /// The staging buffer of outputs. Without it, outputs are read directly from their buffers.
    readback: Option<Buffer>,
    /// The submissions of a run: one, if outputs are copied.
    segments: Vec<Segment>,
    /// All buffers of the program, by index.
    buffers: Vec<Option<Buffer>>,
    tables: Vec<Table>,
}

/// The steps of one submission, and the ranges that are read after it.
#[derive(Debug, Default)]
struct Segment {
    steps: std::ops::Range<usize>,
    /// Ranges to read, from the buffer with this index, or from the staging buffer.
    reads: Vec<(Option<usize>, std::ops::Range<u64>)>,
    /// `None` before it is recorded, while it runs, and after a run that failed.
    list: Option<CommandList>,
}

impl Recording {
    pub(super) fn new(
        device: &Device,
        program: &Program,
        resources: &Resources,
        places: Places,
    ) -> Result<Self> {
        let mut buffers = Vec::new();
        for (index, plan) in program.buffers.iter().enumerate() {
            let known = places.buffers[index].as_ref().or(resources.buffer(index));
            buffers.push(match (known, &plan.initial) {
                (Some(known), _) => Some(known.clone()),
                // Runs do not read this weight.
                (None, Initial::Weight(_)) => None,
                (None, _) => Some(create(device, plan.size, || program.content(index))?),
            });
        }
        let tables = resources.tables(device, program, (&buffers, When::Always))?;
        let mut recording = Self {
            places,
            upload: None,
            inputs: vec![],
            readback: None,
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

    /// The inputs and outputs that stay on the device.
    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// Whether the commands use the caller's tensor.
    pub(super) fn uses(&self, tensor: &DeviceTensor) -> bool {
        let raw = tensor.buffer().map(Buffer::raw);
        self.places.buffers.iter().flatten().any(|it| Some(it.raw()) == raw)
    }

    /// Lays out the staging buffers, and divides the steps into submissions where a buffer must be read before
    /// a later step.
    fn transfers(&mut self, device: &Device, program: &Program) -> Result<()> {
        let copies = device.vulkan().buffer_usages() == BufferUsage::all();
        let mut end = 0u64;
        for (index, plan) in program.buffers.iter().enumerate() {
            if matches!(plan.initial, Initial::Input(_)) && self.places.buffers[index].is_none() {
                self.inputs.push((index, end));
                end = end.saturating_add(plan.size.next_multiple_of(ALIGNMENT));
            }
        }
        if copies {
            let upload = (MemoryLocation::Upload, BufferUsage::TRANSFER_SRC, "inputs");
            self.upload =
                (end > 0).then(|| create_for_transfers(device, end, upload)).transpose()?;
        }
        let (mut end, mut segment) = (0u64, Segment::default());
        for (index, step) in program.steps.iter().enumerate() {
            match step {
                Step::Initialize(_) | Step::Dispatch(_) if !copies && !segment.reads.is_empty() => {
                    let next = Segment { steps: index..index, ..Segment::default() };
                    self.segments.push(std::mem::replace(&mut segment, next));
                }
                Step::Read(Read { source: Source::Buffer(binding), element, shape, .. })
                    if !self.places.is_kept[index] =>
                {
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
            self.readback =
                (end > 0).then(|| create_for_transfers(device, end, readback)).transpose()?;
        }
        Ok(())
    }

    /// Records the commands of a segment.
    fn record(&self, device: &Device, program: &Program, at_segment: usize) -> Result<CommandList> {
        let failed = |error: dml::vk::Error| at(&its_buffers(), error.into());
        let segment = &self.segments[at_segment];
        let mut recorder = Recorder::repeatable(device.vulkan()).map_err(failed)?;
        if let Some(upload) = &self.upload {
            for (index, offset) in &self.inputs {
                let Some(buffer) = &self.buffers[*index] else { continue };
                let size = program.buffers[*index].size;
                recorder.copy_buffer(upload, *offset, buffer, 0, size).map_err(failed)?;
            }
        }
        let before = program.steps[..segment.steps.start].iter().filter_map(operator_of).count();
        let (mut tables, mut reads) = (self.tables[before..].iter(), segment.reads.iter());
        for index in segment.steps.clone() {
            match &program.steps[index] {
                step @ (Step::Initialize(_) | Step::Dispatch(_)) => {
                    let Some(operator) = operator_of(step) else { continue };
                    let Some(table) = tables.next() else { continue };
                    let node = &program.operators[operator].node;
                    let failed = |error: dml::vk::Error| at(node, error.into());
                    table.record(&mut recorder).map_err(failed)?;
                }
                Step::Read(Read { source: Source::Buffer(binding), .. })
                    if !self.places.is_kept[index] =>
                {
                    let (Some((None, range)), Some(readback), Some(from)) =
                        (reads.next(), &self.readback, &self.buffers[binding.buffer])
                    else {
                        continue;
                    };
                    recorder.barrier_all();
                    let size = range.end - range.start;
                    let copied =
                        recorder.copy_buffer(from, binding.offset, readback, range.start, size);
                    copied.map_err(failed)?;
                }
                Step::Read(_) => {}
            }
        }
        recorder.finish().map_err(failed)
    }

    /// Runs the commands with these inputs, and returns the bytes read from buffers. Runs of one program wait
    /// for each other.
    pub(super) fn run(
        &mut self,
        device: &Device,
        program: &Program,
        resources: &Resources,
        tensors: &[Option<Tensor>],
    ) -> Result<Vec<Vec<u8>>> {
        let failed = |error: dml::vk::Error| at(&its_buffers(), error.into());
        let vulkan = device.vulkan();
        let refilled = resources.refilled().lock().unwrap_or_else(PoisonError::into_inner);
        for (buffer, initial) in refilled.iter() {
            fill(device, buffer, initial)?;
        }
        for (index, offset) in &self.inputs {
            let Initial::Input(input) = program.buffers[*index].initial else { continue };
            let tensor = program.input(input, tensors)?;
            let to = match &self.upload {
                Some(upload) => Some((upload, *offset)),
                None => self.buffers[*index].as_ref().map(|own| (own, 0)),
            };
            let Some((buffer, offset)) = to else { continue };
            vulkan.write_buffer(buffer, offset, tensor.bytes()).map_err(failed)?;
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
                let own = own.and_then(|index| self.buffers[index].as_ref());
                let from = own.or(self.readback.as_ref());
                let read = |buffer| vulkan.read_buffer(buffer, range.clone()).map_err(failed);
                outputs.push(from.map_or(Ok(vec![]), read)?);
            }
        }
        Ok(outputs)
    }
}
