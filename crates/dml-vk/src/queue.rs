//! The one queue of a device, and the timeline that counts its submissions.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ash::vk;

use crate::error::Result;
use crate::raw::RawDevice;

/// A queue whose n-th submission signals n on a timeline semaphore.
pub(crate) struct Queue {
    raw: Arc<RawDevice>,
    handle: vk::Queue,
    family: u32,
    semaphore: vk::Semaphore,
    /// The value that the last submission signals. Whoever holds the lock may use the queue.
    last: Mutex<u64>,
}

impl Queue {
    /// The first queue of `family`, with which the device was created.
    pub(crate) fn new(raw: &Arc<RawDevice>, family: u32) -> Result<Self> {
        // SAFETY: the device was created with one queue of this family.
        let handle = unsafe { raw.core().get_device_queue(family, 0) };
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: timelineSemaphore is enabled on every device of this crate.
        let semaphore = unsafe { raw.core().create_semaphore(&info, None) };
        let semaphore = raw.check("vkCreateSemaphore", semaphore)?;
        raw.set_name(semaphore, "dml timeline");
        raw.set_name(handle, "dml queue");
        Ok(Self { raw: Arc::clone(raw), handle, family, semaphore, last: Mutex::new(0) })
    }

    pub(crate) fn family(&self) -> u32 {
        self.family
    }

    pub(crate) fn semaphore(&self) -> vk::Semaphore {
        self.semaphore
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` while nobody else uses the queue.
    pub(crate) fn with<R>(&self, work: impl FnOnce(vk::Queue) -> R) -> R {
        let _guard = self.lock();
        work(self.handle)
    }

    /// Submits without waiting; returns the value that will be signalled.
    ///
    /// # Safety
    ///
    /// `command_buffer` is recorded, of this queue's device and family, and neither it nor
    /// anything that it uses is destroyed before the returned value is signalled.
    pub(crate) unsafe fn submit(&self, command_buffer: vk::CommandBuffer) -> Result<u64> {
        self.raw.ensure_alive()?;
        let mut last = self.lock();
        let value = *last + 1;
        let (command_buffers, semaphores, values) = ([command_buffer], [self.semaphore], [value]);
        let mut timeline =
            vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
        let submit = vk::SubmitInfo::default()
            .command_buffers(&command_buffers)
            .signal_semaphores(&semaphores)
            .push_next(&mut timeline);
        // SAFETY: the lock is held; the command buffer is the caller's promise; values grow.
        let result =
            unsafe { self.raw.core().queue_submit(self.handle, &[submit], vk::Fence::null()) };
        self.raw.check("vkQueueSubmit", result)?;
        *last = value;
        Ok(value)
    }

    /// The highest value that has been signalled.
    pub(crate) fn completed(&self) -> Result<u64> {
        self.raw.ensure_alive()?;
        let mut value = 0;
        let get = self.raw.timeline().get_semaphore_counter_value_khr;
        // SAFETY: the semaphore is a timeline semaphore of this device.
        let result = unsafe { get(self.raw.core().handle(), self.semaphore, &raw mut value) };
        self.raw.check("vkGetSemaphoreCounterValue", result.result())?;
        Ok(value)
    }

    /// Waits until `value` is signalled; false where `timeout` passed first.
    pub(crate) fn wait(&self, value: u64, timeout: Option<Duration>) -> Result<bool> {
        self.raw.ensure_alive()?;
        let nanoseconds =
            timeout.map_or(u64::MAX, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let (semaphores, values) = ([self.semaphore], [value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        let wait = self.raw.timeline().wait_semaphores_khr;
        // SAFETY: the semaphore is a timeline semaphore of this device; `info` outlives the call.
        let result = unsafe { wait(self.raw.core().handle(), &raw const info, nanoseconds) };
        match result {
            vk::Result::TIMEOUT => Ok(false),
            result => self.raw.check("vkWaitSemaphores", result.result()).map(|()| true),
        }
    }

    /// Calls `work` while nothing that was submitted is unfinished and nothing can be submitted.
    pub(crate) fn while_idle<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        // Waiting without the lock lets others submit; a few tries, then they have to wait as well.
        for _ in 0..4 {
            let last = *self.lock();
            self.wait(last, None)?;
            let guard = self.lock();
            if *guard == last {
                return work();
            }
        }
        let guard = self.lock();
        self.wait(*guard, None)?;
        work()
    }

    /// Waits until the device has nothing to do, work of others on this queue included.
    pub(crate) fn wait_idle(&self) -> Result<()> {
        self.raw.ensure_alive()?;
        let _guard = self.lock();
        // SAFETY: the lock keeps others from the device's only queue.
        let result = unsafe { self.raw.core().device_wait_idle() };
        self.raw.check("vkDeviceWaitIdle", result)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: whoever submits or waits owns a reference to the queue's device, whose queue
        // this is, until the value that it waits for is signalled: nothing uses the semaphore.
        unsafe { self.raw.core().destroy_semaphore(self.semaphore, None) };
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("family", &self.family).finish_non_exhaustive()
    }
}
