//! How long recorded work takes on the device itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::raw::RawDevice;

/// The times at which the device passed marked places of a command buffer.
///
/// [`crate::Recorder::reset_timestamps`] comes first, then [`crate::Recorder::write_timestamp`] around
/// what is to be timed. When the submission has completed, [`Timestamps::elapsed`] tells the time
/// between two places. Between two submissions that write to the same timestamps the first one is
/// waited for, as its times would be lost.
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
    raw: Arc<RawDevice>,
}

impl Timestamps {
    /// Room for `count` times.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the device's queue has no timestamps,
    /// [`Error::InvalidArgument`] where `count` is 0, [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(device: &Device, count: u32) -> Result<Self> {
        let raw = &device.shared.raw;
        raw.ensure_alive()?;
        if count == 0 {
            return Err(Error::invalid("count", "0 timestamps"));
        }
        let (period, valid_bits) = properties(device);
        if valid_bits == 0 {
            let lacking = "timestampValidBits of its queue is 0";
            return Err(Error::unsupported(device.info().name.clone(), lacking));
        }
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TIMESTAMP)
            .query_count(count);
        // SAFETY: `info` is complete, and its count is not 0.
        let pool = unsafe { raw.core().create_query_pool(&info, None) };
        let pool = raw.check("vkCreateQueryPool", pool)?;
        raw.set_name(pool, "dml timestamps");
        let mask = u64::MAX >> (64 - valid_bits.min(64));
        let raw = Arc::clone(raw);
        Ok(Self { shared: Arc::new(TimestampsShared { pool, count, period, mask, raw }) })
    }

    /// How many times there is room for.
    pub fn count(&self) -> u32 {
        self.shared.count
    }

    /// The time from place `start` to place `end`; `None` where the device has not passed both yet.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] where there is no room for such a place, [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`].
    pub fn elapsed(&self, start: u32, end: u32) -> Result<Option<Duration>> {
        let (Some(start), Some(end)) = (self.time(start)?, self.time(end)?) else {
            return Ok(None);
        };
        // Times wrap at their last valid bit.
        let ticks = end.wrapping_sub(start) & self.shared.mask;
        #[expect(clippy::cast_precision_loss, reason = "2^53 ticks are days")]
        let nanoseconds = ticks as f64 * self.shared.period;
        Ok(Some(Duration::from_secs_f64(nanoseconds / 1e9)))
    }

    fn time(&self, index: u32) -> Result<Option<u64>> {
        self.check(index)?;
        let shared = &self.shared;
        shared.raw.ensure_alive()?;
        let mut data = [0u64];
        let flags = vk::QueryResultFlags::TYPE_64;
        // SAFETY: the pool is of this device and has the index; `data` has room for one time.
        let result = unsafe {
            shared.raw.core().get_query_pool_results(shared.pool, index, &mut data, flags)
        };
        match result {
            Ok(()) => Ok(Some(data[0])),
            Err(vk::Result::NOT_READY) => Ok(None),
            Err(code) => shared.raw.check("vkGetQueryPoolResults", Err(code)),
        }
    }

    pub(crate) fn check(&self, index: u32) -> Result<()> {
        if index < self.shared.count {
            return Ok(());
        }
        let problem = format!("{index}, but there is room for {} timestamps", self.shared.count);
        Err(Error::invalid("index", problem))
    }

    /// Whether they belong to `device`.
    pub(crate) fn is_of(&self, device: &Device) -> bool {
        Arc::ptr_eq(&self.shared.raw, &device.shared.raw)
    }

    /// # Safety
    ///
    /// As [`crate::record_plan`].
    pub(crate) unsafe fn reset(&self, command_buffer: vk::CommandBuffer) {
        let core = self.shared.raw.core();
        // SAFETY: the caller's promise; the range is the whole pool.
        unsafe {
            core.cmd_reset_query_pool(command_buffer, self.shared.pool, 0, self.shared.count);
        };
    }

    /// # Safety
    ///
    /// As [`crate::record_plan`]; `index` was checked.
    pub(crate) unsafe fn write(&self, command_buffer: vk::CommandBuffer, index: u32) {
        let core = self.shared.raw.core();
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
    (f64::from(limits.timestamp_period), family.map_or(0, |it| it.timestamp_valid_bits))
}

impl Drop for TimestampsShared {
    fn drop(&mut self) {
        // SAFETY: recorded work owns a reference to `self` until it has completed.
        unsafe { self.raw.core().destroy_query_pool(self.pool, None) };
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
