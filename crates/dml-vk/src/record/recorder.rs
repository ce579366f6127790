//! Recording into the runtime's own command buffers.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use dml_core::plan::CopyRegion;

use crate::device::Device;
use crate::device::queue::SubmittedResources;
use crate::device::staging::StagedBytes;
use crate::error::{Error, MemoryKind, Result};
use crate::memory::buffer::{Buffer, BufferUsage};
use crate::record::barrier::Barrier;
use crate::record::batches::{BatchStart, Batches};
use crate::record::timestamps::Timestamps;
use crate::record::writer::Writer;

/// Records operators, copies and fills for one submission. A recorder is used by one thread at a time; every
/// thread may have its own.
///
/// Recorded commands are not ordered among themselves: between two commands of which one depends on the
/// other, record [`Recorder::barrier_all`]. Whole submissions are ordered: a finished list ends with a
/// barrier after which later submissions, and the host, see everything it wrote.
///
/// All resources of recorded commands are kept alive. Dropping a recorder discards its commands.
#[derive(Debug)]
pub struct Recorder {
    list: CommandList,
    // `Cell` is not `Sync`.
    _one_thread: PhantomData<Cell<()>>,
}

/// Recorded commands, to be submitted with [`Device::submit`]: once, unless the recorder was
/// [`Recorder::repeatable`].
///
/// They are one command buffer, or several where there is more work than a [batch](Device::work_bound) may
/// have; these are submitted together.
pub struct CommandList {
    device: Device,
    batches: Batches,
    is_repeatable: bool,
    /// The resources of the recorded operators.
    operators: Vec<Arc<dyn KeptResources>>,
    buffers: Vec<Buffer>,
    staged: StagedBytes,
    timestamps: Vec<TimestampWrites>,
}

/// Resources that a list keeps alive, on whatever thread it is.
pub(crate) trait KeptResources: SubmittedResources + Send + Sync {}

impl<T: SubmittedResources + Send + Sync> KeptResources for T {}

/// Timestamps that a list has reset, and their indices that it writes after that.
struct TimestampWrites {
    timestamps: Timestamps,
    places: BTreeSet<u32>,
}

impl Recorder {
    /// Starts recording a list that is submitted once.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(device: &Device) -> Result<Self> {
        Self::begin(device, vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)
    }

    /// Starts recording a list that may be submitted any number of times:
    /// [`Submission::into_list`](crate::Submission::into_list) gives the list back.
    ///
    /// # Errors
    ///
    /// As [`Recorder::new`].
    pub fn repeatable(device: &Device) -> Result<Self> {
        Self::begin(device, vk::CommandBufferUsageFlags::empty())
    }

    fn begin(device: &Device, flags: vk::CommandBufferUsageFlags) -> Result<Self> {
        device.shared.raw.ensure_alive()?;
        let list = CommandList {
            device: device.clone(),
            batches: Batches::new(device, flags)?,
            is_repeatable: !flags.contains(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT),
            operators: Vec::new(),
            buffers: Vec::new(),
            staged: StagedBytes::default(),
            timestamps: Vec::new(),
        };
        Ok(Self { list, _one_thread: PhantomData })
    }

    /// Reserves room for `operators` more operators, so that recording them allocates nothing.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn reserve(&mut self, operators: usize) -> Result<()> {
        let (kind, call) = (MemoryKind::Host, "Recorder::reserve");
        let reserved = self.list.operators.try_reserve(operators);
        reserved.map_err(|_| Error::OutOfMemory { kind, call })
    }

    /// Keeps the resources of the operator that is recorded next alive.
    pub(crate) fn keep(&mut self, used: Arc<dyn KeptResources>) {
        self.list.operators.push(used);
    }

    pub(crate) fn device(&self) -> &Device {
        &self.list.device
    }

    pub(crate) fn staged(&mut self) -> &mut StagedBytes {
        &mut self.list.staged
    }

    /// The command buffer that is being recorded.
    pub(crate) fn command_buffer(&self) -> vk::CommandBuffer {
        self.list.batches.current()
    }

    /// Makes room for steps of so much work, in this command buffer and as many more as they take.
    pub(crate) fn make_room(&mut self, work: impl Iterator<Item = u64>) -> Result<Vec<BatchStart>> {
        self.list.batches.make_room(&self.list.device.shared.raw, work)
    }

    /// The writer of a transfer that moves so many bytes.
    fn writer_of(&mut self, bytes: u64) -> Result<Writer<'_>> {
        self.list.batches.writer_of(&self.list.device.shared.raw, bytes)
    }

    /// Records a copy of `size` bytes between two buffers, or two ranges of one.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if a range is not inside its buffer, the ranges overlap, a buffer lacks
    /// TRANSFER_SRC or TRANSFER_DST, or belongs to another device.
    pub fn copy_buffer(
        &mut self,
        source: &Buffer,
        source_offset: u64,
        destination: &Buffer,
        destination_offset: u64,
        size: u64,
    ) -> Result<()> {
        self.check(source, BufferUsage::TRANSFER_SRC, "copied from")?;
        self.check(destination, BufferUsage::TRANSFER_DST, "copied to")?;
        let from = source.range(source_offset, source_offset.checked_add(size))?;
        let to = destination.range(destination_offset, destination_offset.checked_add(size))?;
        let overlap = from.start < to.end && to.start < from.end;
        if overlap && source.raw() == destination.raw() {
            return Err(source.invalid(format!("copying bytes {from:?} to {to:?} would overlap")));
        }
        if size == 0 {
            return Ok(());
        }
        self.list.buffers.extend([source.clone(), destination.clone()]);
        let whole = CopyRegion::once(from.start, to.start, size);
        let writer = self.writer_of(size.saturating_mul(2))?;
        // SAFETY: the command buffer is recording; usages and ranges were just checked, and the
        // buffers stored beside it.
        unsafe { writer.copy(source.raw(), destination.raw(), &[whole]) };
        Ok(())
    }

    /// Records a fill of `range` (in bytes) with a 32-bit pattern.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the range is not inside the buffer, one of its ends is not a multiple of
    /// 4, the buffer lacks TRANSFER_DST, or belongs to another device.
    pub fn fill_buffer(&mut self, buffer: &Buffer, range: Range<u64>, pattern: u32) -> Result<()> {
        self.check(buffer, BufferUsage::TRANSFER_DST, "filled")?;
        let range = buffer.range(range.start, Some(range.end))?;
        if !range.start.is_multiple_of(4) || !range.end.is_multiple_of(4) {
            let problem = "to be filled do not start and end on multiples of 4";
            return Err(buffer.invalid(format!("bytes {range:?} {problem}")));
        }
        self.list.buffers.push(buffer.clone());
        let size = range.end - range.start;
        let writer = self.writer_of(size)?;
        // SAFETY: the command buffer is recording; usage and range were just checked, and the
        // buffer stored beside it.
        unsafe { writer.fill(buffer.raw(), range.start, size, pattern) };
        Ok(())
    }

    /// Records a barrier: later commands wait for all earlier ones, and see their writes.
    pub fn barrier_all(&mut self) {
        // SAFETY: the command buffer is recording, and `self` is borrowed exclusively.
        unsafe { self.list.writer().barrier(&Barrier::all()) };
    }

    /// Records a timestamp: the device writes the time to `index` when everything recorded before is done.
    /// Commands that are recorded later may have begun by then, unless a barrier keeps them from it.
    ///
    /// The first timestamp of a list also resets all of `timestamps`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if they belong to another device, have no such index, or the list writes
    /// that index already.
    pub fn write_timestamp(&mut self, timestamps: &Timestamps, index: u32) -> Result<()> {
        timestamps.check(index)?;
        if !timestamps.is_of(&self.list.device) {
            return Err(Error::invalid("timestamps", "they belong to another device"));
        }
        if !self.timed(timestamps).places.insert(index) {
            let problem = format!("{index}, a place that the list writes already");
            return Err(Error::invalid("index", problem));
        }
        // SAFETY: the command buffer is recording and `self` is borrowed exclusively; the timestamps
        // are stored beside it, the index was checked, and it is written once since it was reset.
        unsafe { timestamps.write(self.command_buffer(), index) };
        Ok(())
    }

    /// The list's record of `timestamps`, which are reset at their first use.
    fn timed(&mut self, timestamps: &Timestamps) -> &mut TimestampWrites {
        let list = &mut self.list;
        let known =
            list.timestamps.iter().position(|timestamp| timestamp.timestamps.is_same(timestamps));
        let at = known.unwrap_or_else(|| {
            let timed = TimestampWrites { timestamps: timestamps.clone(), places: BTreeSet::new() };
            list.timestamps.push(timed);
            // SAFETY: the command buffer is recording and `self` is borrowed exclusively; the timestamps
            // were just stored beside it.
            unsafe { timestamps.reset(list.batches.current()) };
            list.timestamps.len() - 1
        });
        &mut list.timestamps[at]
    }

    /// Ends recording.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], also if the driver could not record a command.
    pub fn finish(self) -> Result<CommandList> {
        let list = self.list;
        list.batches.close(&list.device.shared.raw)?;
        Ok(list)
    }

    pub(crate) fn check(&self, buffer: &Buffer, usage: BufferUsage, verb: &str) -> Result<()> {
        self.list.device.check_owns(buffer)?;
        buffer.require_usage(usage, verb)
    }
}

impl CommandList {
    /// The device it was recorded for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether it may be submitted more than once.
    pub fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// How many batches its submission has.
    pub fn batch_count(&self) -> usize {
        self.batches.all().len()
    }

    pub(crate) fn command_buffers(&self) -> &[vk::CommandBuffer] {
        self.batches.all()
    }

    fn writer(&self) -> Writer<'_> {
        Writer { raw: &self.device.shared.raw, command_buffer: self.batches.current() }
    }
}

impl SubmittedResources for CommandList {
    fn is_copied_by_host(&self) -> bool {
        self.operators.iter().any(|operator| operator.is_copied_by_host())
            || self.buffers.iter().any(|buffer| buffer.shared.is_copied_by_host())
    }

    fn dispatch_count(&self) -> u64 {
        self.operators.iter().map(|operator| operator.dispatch_count()).sum()
    }

    fn note_submitted(&self, value: u64) {
        self.operators.iter().for_each(|operator| operator.note_submitted(value));
        self.buffers.iter().for_each(|buffer| buffer.shared.note_submitted(value));
        self.staged.note_submitted(value);
        self.timestamps.iter().for_each(|writes| writes.timestamps.note_submitted(value));
    }
}

impl fmt::Debug for CommandList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandList")
            .field("operators", &self.operators.len())
            .field("buffers", &self.buffers)
            .finish_non_exhaustive()
    }
}
