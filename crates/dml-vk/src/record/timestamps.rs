//! Measures the time of recorded work on the device itself.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ash::vk;

use crate::device::Device;
use crate::error::{Error, Result};

/// Vulkan states no limit, but drivers crash if the size of so many timestamps does not fit 32 bits.
const MAX_COUNT: u32 = 1 << 16;

/// The times at which the device reached marked points of a command list.
///
/// [`crate::Recorder::write_timestamp`] is recorded before and after the work to be timed. When the
/// submission has completed, [`Timestamps::elapsed`] returns the time between two indices. Several lists may
/// write to the same timestamps: each submission resets the times of the one before, which are lost unless
/// they were read.
///
/// A cheap handle: clones share the timestamps. Recorded work keeps them alive.
#[derive(Clone, Debug)]
pub struct Timestamps {
    shared: Arc<TimestampsShared>,
}

struct TimestampsShared {
    pool: vk::QueryPool,
    count: u32,
    /// Nanoseconds of one tick.
    period: f64,
    /// The bits of a time that the queue's family writes.
    mask: u64,
    /// The timeline's value of the last submission that writes them; 0 before the first one. Changed
    /// while nobody else can submit.
    submitted: AtomicU64,
    device: Device,
}

impl Timestamps {
    /// Room for `count` timestamps, at most 65,536.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the device's queue has no timestamps, or none with a known unit, or the
    /// device was wrapped without a queue; [`Error::InvalidArgument`] if `count` is 0 or too large,
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(device: &Device, count: u32) -> Result<Self> {
        let raw = &device.shared.raw;
        raw.ensure_alive()?;
        device.queue()?;
        if !(1..=MAX_COUNT).contains(&count) {
            let problem = format!("{count} timestamps (accepted: 1 to {MAX_COUNT})");
            return Err(Error::invalid("count", problem));
        }
        let (period, valid_bits) = properties(device);
        let unsupported = |lacking| Error::unsupported(device.info().name.clone(), lacking);
        if valid_bits == 0 {
            return Err(unsupported("timestampValidBits of its queue is 0".to_owned()));
        }
        // With shorter periods, 64 bits of ticks fit a duration.
        if !(0.0..1e9).contains(&period) {
            return Err(unsupported(format!("its timestampPeriod is {period} ns")));
        }
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TIMESTAMP)
            .query_count(count);
        // SAFETY: `info` is complete, and its count is not 0.
        let pool = unsafe { raw.core().create_query_pool(&info, None) };
        let pool = raw.check("vkCreateQueryPool", pool)?;
        raw.set_name(pool, "dml timestamps");
        let mask = u64::MAX >> (64 - valid_bits.min(64));
        let (submitted, device) = (AtomicU64::new(0), device.clone());
        let shared = TimestampsShared { pool, count, period, mask, submitted, device };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The number of timestamps.
    pub fn count(&self) -> u32 {
        self.shared.count
    }

    /// The time from index `start` to index `end` in the last submission that writes to these timestamps;
    /// `None` before it has completed, before there is one, and if it does not write both.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if an index is out of range, [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn elapsed(&self, start: u32, end: u32) -> Result<Option<Duration>> {
        self.check(start)?;
        self.check(end)?;
        let TimestampsShared { device, submitted, .. } = &*self.shared;
        device.shared.raw.ensure_alive()?;
        let queue = device.queue()?;
        // Both times are from one submission, because no other can begin in between.
        let times = queue.while_nobody_submits(|| {
            let last = submitted.load(Ordering::Relaxed);
            if last == 0 || queue.completed()? < last {
                return Ok(None);
            }
            Ok(self.time(start)?.zip(self.time(end)?))
        })?;
        Ok(times.map(|(start, end)| self.duration(start, end)))
    }

    fn duration(&self, start: u64, end: u64) -> Duration {
        // Times wrap at their last valid bit.
        let ticks = end.wrapping_sub(start) & self.shared.mask;
        #[expect(clippy::cast_precision_loss, reason = "2^53 ticks are days")]
        let nanoseconds = ticks as f64 * self.shared.period;
        Duration::from_secs_f64(nanoseconds / 1e9)
    }

    /// The time at `index`, if a completed submission wrote it. A submission that writes to the timestamps at
    /// all must have completed, because it resets them.
    fn time(&self, index: u32) -> Result<Option<u64>> {
        let raw = &self.shared.device.shared.raw;
        let mut data = [0u64];
        let flags = vk::QueryResultFlags::TYPE_64;
        // SAFETY: the pool is of this device and has the index, and the device has reset it; `data` has
        // room for one time.
        let result =
            unsafe { raw.core().get_query_pool_results(self.shared.pool, index, &mut data, flags) };
        match result {
            Ok(()) => Ok(Some(data[0])),
            Err(vk::Result::NOT_READY) => Ok(None),
            Err(code) => raw.check("vkGetQueryPoolResults", Err(code)),
        }
    }

    pub(crate) fn check(&self, index: u32) -> Result<()> {
        if index < self.shared.count {
            return Ok(());
        }
        let problem = format!("{index}, but there is room for {} timestamps", self.shared.count);
        Err(Error::invalid("index", problem))
    }

    /// Whether the timestamps belong to `device`.
    pub(crate) fn is_of(&self, device: &Device) -> bool {
        self.shared.device.is_same(device)
    }

    /// Whether `self` and `other` are the same timestamps.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Records that the submission with this `value` resets and writes them. No other submission happens meanwhile.
    pub(crate) fn note_submitted(&self, value: u64) {
        self.shared.submitted.store(value, Ordering::Relaxed);
    }

    /// # Safety
    ///
    /// As [`crate::record_plan`].
    pub(crate) unsafe fn reset(&self, command_buffer: vk::CommandBuffer) {
        let core = self.shared.device.raw();
        // SAFETY: the caller's promise; the range is the whole pool.
        unsafe {
            core.cmd_reset_query_pool(command_buffer, self.shared.pool, 0, self.shared.count);
        };
    }

    /// # Safety
    ///
    /// As [`crate::record_plan`]; `index` was checked, and the command buffer has reset it and not
    /// written it since.
    pub(crate) unsafe fn write(&self, command_buffer: vk::CommandBuffer, index: u32) {
        let core = self.shared.device.raw();
        let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
        // SAFETY: the caller's promise; the queue's family has timestamps.
        unsafe { core.cmd_write_timestamp(command_buffer, stage, self.shared.pool, index) };
    }
}

/// Nanoseconds of one tick, and the valid bits of a time.
fn properties(device: &Device) -> (f64, u32) {
    let physical = device.physical();
    let core = physical.instance.table.core();
    // SAFETY: the handle was enumerated from this instance, which is alive.
    let limits = unsafe { core.get_physical_device_properties(physical.raw()) }.limits;
    // SAFETY: as above.
    let families = unsafe { core.get_physical_device_queue_family_properties(physical.raw()) };
    let family = families.get(device.queue_family() as usize);
    (f64::from(limits.timestamp_period), family.map_or(0, |family| family.timestamp_valid_bits))
}

impl Drop for TimestampsShared {
    fn drop(&mut self) {
        if self.device.shared.raw.is_forked() {
            return;
        }
        // SAFETY: recorded work owns a reference to `self` until it has completed.
        unsafe { self.device.raw().destroy_query_pool(self.pool, None) };
    }
}

impl fmt::Debug for TimestampsShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimestampsShared")
            .field("count", &self.count)
            .field("period", &self.period)
            .finish_non_exhaustive()
    }
}
