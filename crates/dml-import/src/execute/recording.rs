//! The recorded commands of a program: uploading its inputs, executing its operators, and copying its outputs
//! to where the host reads them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use dml::vk::{CommandList, Recorder};
use dml::{Buffer, BufferUsage, Device};

use crate::error::Result;
use crate::program::{Initial, Program, Read, Source, Step};
use crate::tensor::{Tensor, byte_count};

use super::arena::{Arena, Demand, Stamp};
use super::at;
use super::bound::Table;
use super::device_tensor::DeviceTensor;
use super::its_buffers;
use super::memory::{temporary, with_tensor};
use super::resources::{Refilled, Resources, operator_of};
use super::weights::fill;

/// Tensors start at multiples of this many bytes in the upload and readback buffers.
const ALIGNMENT: u64 = 16;

/// The inputs and outputs of a program that stay on the device.
#[derive(Clone, Debug)]
pub(super) struct DeviceBindings {
    /// The caller's buffers, by the program's buffer indices.
    pub(super) buffers: Vec<Option<Buffer>>,
    /// For each step, whether it reads an output that stays on the device.
    pub(super) is_kept: Vec<bool>,
}

impl DeviceBindings {
    /// All inputs and outputs are on the host.
    pub(super) fn of_host(program: &Program) -> Self {
        let buffers = vec![None; program.buffers.len()];
        Self { buffers, is_kept: vec![false; program.steps.len()] }
    }
}

impl PartialEq for DeviceBindings {
    fn eq(&self, other: &Self) -> bool {
        let raw = |it: &Self| -> Vec<_> {
            it.buffers.iter().map(|buffer| buffer.as_ref().map(Buffer::raw)).collect()
        };
        self.is_kept == other.is_kept && raw(self) == raw(other)
    }
}

/// A program's recorded commands, with the buffers of an arena.
#[derive(Debug)]
pub(crate) struct Recording {
    places: DeviceBindings,
    /// The arena's buffers that the commands use.
    stamp: Stamp,
    transfers: Transfers,
    /// The staging buffers of inputs and of outputs; `None` where the host reaches all of these in place.
    upload: Option<Buffer>,
    readback: Option<Buffer>,
    /// All buffers of the program, by index.
    buffers: Vec<Option<Buffer>>,
    tables: Vec<Table>,
}

/// The places of inputs and outputs in the staging buffers.
#[derive(Debug, Default)]
struct Transfers {
    /// Each input's buffer index and offset in the staging buffer. Without a staging buffer, inputs are written
    /// in place, into their own buffers.
    inputs: Vec<(usize, u64)>,
    /// The submissions of a run: one, unless the device does not support copies.
    segments: Vec<Segment>,
    /// The sizes of the staging buffers in bytes; 0 where none is needed.
    upload: u64,
    readback: u64,
}

/// The steps of one submission, and the ranges that are read after it.
#[derive(Debug, Default)]
struct Segment {
    steps: Range<usize>,
    /// Ranges to read: in place, from the buffer with this index, or from the staging buffer.
    reads: Vec<(Option<usize>, Range<u64>)>,
    /// `None` before it is recorded, while it runs, and after a run that failed.
    list: Option<CommandList>,
}

/// The content of a buffer of the arena.
#[derive(Clone, Copy)]
enum Content {
    /// The program's buffer with this index.
    Buffer(usize),
    /// A buffer of temporary memory, by its place among these, which is largest for the operator with this index.
    Scratch { piece: usize, operator: usize },
}

impl Transfers {
    /// Lays out the staging buffers, and divides the steps into submissions where a device without copies must read a
    /// buffer before a later step.
    fn new(
        device: &Device,
        program: &Program,
        places: &DeviceBindings,
        resources: &Resources,
    ) -> Self {
        let copies = device.vulkan().buffer_usages() == BufferUsage::all();
        let access = device.vulkan().host_access();
        let mut transfers = Self::default();
        let mut end = 0u64;
        for (index, plan) in program.buffers.iter().enumerate() {
            if matches!(plan.initial, Initial::Input(_)) && places.buffers[index].is_none() {
                transfers.inputs.push((index, end));
                end = end.saturating_add(plan.size.next_multiple_of(ALIGNMENT));
            }
        }
        transfers.upload = if copies && !access.writes { end } else { 0 };
        // Reading a buffer in place would keep others from submitting work that uses it.
        let is_of_run =
            |index: usize| places.buffers[index].is_none() && resources.buffer(index).is_none();
        let (mut end, mut segment) = (0u64, Segment::default());
        for (index, step) in program.steps.iter().enumerate() {
            match step {
                Step::Initialize(_) | Step::Dispatch(_) if !copies && !segment.reads.is_empty() => {
                    let next = Segment { steps: index..index, ..Segment::default() };
                    transfers.segments.push(std::mem::replace(&mut segment, next));
                }
                Step::Read(Read { source: Source::Buffer(binding), element, shape, .. })
                    if !places.is_kept[index] =>
                {
                    let bytes = byte_count(*element, shape).unwrap_or(0);
                    let buffer = binding.buffer;
                    let in_place =
                        access.reads && is_of_run(buffer) && !program.writes_after(index, buffer);
                    let own = (!copies || in_place).then_some(buffer);
                    let start = if own.is_some() { binding.offset } else { end };
                    segment.reads.push((own, start..start.saturating_add(bytes)));
                    if own.is_none() {
                        end = end.saturating_add(bytes).next_multiple_of(ALIGNMENT);
                    }
                }
                _ => {}
            }
            segment.steps.end = index + 1;
        }
        transfers.segments.push(segment);
        transfers.readback = end;
        transfers
    }
}

impl Program {
    /// Whether a step after the one with this index writes the buffer.
    fn writes_after(&self, step: usize, buffer: usize) -> bool {
        self.steps[step..].iter().any(|it| match it {
            Step::Dispatch(dispatch) => {
                dispatch.outputs.iter().flatten().any(|binding| binding.buffer == buffer)
            }
            Step::Initialize(_) | Step::Read(_) => false,
        })
    }
}

impl Recording {
    pub(super) fn new(
        device: &Device,
        program: &Program,
        resources: &Arc<Resources>,
        (places, arena): (DeviceBindings, &mut Arena<Self>),
    ) -> Result<Self> {
        let of_caller = |index: usize| places.buffers[index].as_ref();
        let known = |index| of_caller(index).or(resources.buffer(index)).cloned();
        let mut buffers: Vec<Option<Buffer>> = (0..program.buffers.len()).map(known).collect();
        // Operators may need more temporary memory if a caller's buffer lacks transfer usage.
        let usages = buffers.iter().flatten().map(Buffer::usage);
        let usage = usages.fold(BufferUsage::all(), BufferUsage::intersection);
        let usage = match usage.contains(device.vulkan().buffer_usages()) {
            true => BufferUsage::all(),
            false => usage,
        };
        let scratch = resources.largest_scratch(usage);
        let own = program.buffers.iter().enumerate().filter_map(|(index, plan)| {
            // Runs do not read weights that the resources lack.
            let is_own = buffers[index].is_none() && !matches!(plan.initial, Initial::Weight(_));
            is_own.then_some((plan.size, Content::Buffer(index)))
        });
        let scratch = scratch
            .into_iter()
            .enumerate()
            .map(|(piece, (size, operator))| (size, Content::Scratch { piece, operator }));
        let mut needed: Vec<(u64, Content)> = own.chain(scratch).collect();
        needed.sort_by_key(|(size, _)| Reverse(*size));
        let transfers = Transfers::new(device, program, &places, resources);
        let demand = Demand {
            device: needed.iter().map(|(size, _)| *size).collect(),
            upload: transfers.upload,
            readback: transfers.readback,
        };
        let content = |index: usize| match needed[index].1 {
            Content::Buffer(index) => program.content(index),
            Content::Scratch { operator, .. } => temporary(&program.operators[operator]),
        };
        let reserved = arena.reserve(device, (resources, demand), content);
        let (arena, stamp) = reserved.map_err(|error| with_tensor(device, program, error))?;
        let mut temporary = BTreeMap::new();
        for ((_, content), buffer) in needed.iter().zip(arena.device) {
            match content {
                Content::Buffer(index) => buffers[*index] = buffer,
                Content::Scratch { piece, .. } => {
                    temporary.extend(buffer.map(|buffer| (*piece, buffer)));
                }
            }
        }
        let temporary: Vec<Buffer> = temporary.into_values().collect();
        let bound = (&buffers[..], &temporary[..]);
        let tables = resources.tables(program, bound)?;
        let upload = arena.upload.filter(|_| transfers.upload > 0);
        let readback = arena.readback.filter(|_| transfers.readback > 0);
        let mut recording = Self { places, stamp, transfers, upload, readback, buffers, tables };
        for at in 0..recording.transfers.segments.len() {
            recording.transfers.segments[at].list = Some(recording.record(device, program, at)?);
        }
        Ok(recording)
    }

    /// The inputs and outputs that stay on the device.
    pub(super) fn places(&self) -> &DeviceBindings {
        &self.places
    }

    /// The buffers of the arena that the commands use.
    pub(super) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Whether the commands use the caller's tensor.
    pub(super) fn uses(&self, tensor: &DeviceTensor) -> bool {
        let raw = tensor.buffer().map(Buffer::raw);
        self.places.buffers.iter().flatten().any(|buffer| Some(buffer.raw()) == raw)
    }

    /// Records the commands of a segment.
    fn record(&self, device: &Device, program: &Program, at_segment: usize) -> Result<CommandList> {
        let failed = |error: dml::vk::Error| at(&its_buffers(), error.into());
        let segment = &self.transfers.segments[at_segment];
        let mut recorder = Recorder::repeatable(device.vulkan()).map_err(failed)?;
        if let Some(upload) = &self.upload {
            for (index, offset) in &self.transfers.inputs {
                let Some(buffer) = &self.buffers[*index] else { continue };
                let size = program.buffers[*index].size;
                recorder.copy_buffer(upload, *offset, buffer, 0, size).map_err(failed)?;
            }
        }
        let before = program.steps[..segment.steps.start].iter().filter_map(operator_of).count();
        let (mut tables, mut reads) = (self.tables[before..].iter(), segment.reads.iter());
        let mut copies = OutputCopies::default();
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
                    copies.add((from, binding.offset), (readback, range));
                    if program.writes_after(index, binding.buffer) {
                        copies.record(&mut recorder).map_err(failed)?;
                    }
                }
                Step::Read(_) => {}
            }
        }
        copies.record(&mut recorder).map_err(failed)?;
        recorder.finish().map_err(failed)
    }

    /// Runs the commands with these inputs, and returns the bytes read from buffers. Buffers that operators
    /// overwrite are `refilled` first.
    pub(super) fn run(
        &mut self,
        device: &Device,
        program: &Program,
        refilled: &Refilled,
        tensors: &[Option<Tensor>],
    ) -> Result<Vec<Vec<u8>>> {
        let failed = |error: dml::vk::Error| at(&its_buffers(), error.into());
        let vulkan = device.vulkan();
        for (buffer, initial) in refilled {
            fill(device, buffer, initial)?;
        }
        for (index, offset) in &self.transfers.inputs {
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
        for at_segment in 0..self.transfers.segments.len() {
            let list = match self.transfers.segments[at_segment].list.take() {
                Some(list) => list,
                None => self.record(device, program, at_segment)?,
            };
            let submission = vulkan.submit(list).map_err(failed)?;
            let segment = &mut self.transfers.segments[at_segment];
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

/// Copies of outputs to the staging buffer that have one barrier before them.
#[derive(Default)]
struct OutputCopies<'a>(Vec<OutputCopy<'a>>);

struct OutputCopy<'a> {
    from: &'a Buffer,
    offset: u64,
    to: &'a Buffer,
    range: &'a Range<u64>,
}

impl<'a> OutputCopies<'a> {
    fn add(
        &mut self,
        (from, offset): (&'a Buffer, u64),
        (to, range): (&'a Buffer, &'a Range<u64>),
    ) {
        self.0.push(OutputCopy { from, offset, to, range });
    }

    /// Records all copies so far.
    fn record(&mut self, recorder: &mut Recorder) -> std::result::Result<(), dml::vk::Error> {
        if !self.0.is_empty() {
            recorder.barrier_all();
        }
        for OutputCopy { from, offset, to, range } in self.0.drain(..) {
            let size = range.end - range.start;
            recorder.copy_buffer(from, offset, to, range.start, size)?;
        }
        Ok(())
    }
}
