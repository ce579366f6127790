//! The one queue of a device, and the timeline that counts its submissions.
//!
//! The queue of a device that this crate created is used through [`Queue::with`] alone. A caller's own queue is
//! shared: every use of it holds the caller's lock as well.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ash::vk;

use crate::device::semaphores::{Batch, Operations, SubmitSemaphores};
use crate::error::{Error, Result};
use crate::instance::raw::RawDevice;
use crate::memory::buffer::BufferShared;

/// The number of further attempts to wait if there is no memory for that, and the pause between them.
const PATIENCE: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that keeps others from a queue that the caller shares with a [`crate::Device`].
///
/// The device calls it around every call that uses the queue, for the length of that call, and never
/// calls it again before it has unlocked. It must not call back into the device.
///
/// # Safety
///
/// From the return of `lock` to the call of `unlock` nobody but the caller of `lock` uses the queue,
/// on whatever thread.
pub unsafe trait QueueLock: Send + Sync {
    /// Waits until nobody else uses the queue, and keeps it so.
    fn lock(&self);
    /// Lets others use the queue again. Called on the thread that called [`QueueLock::lock`].
    fn unlock(&self);
}

/// A queue of which each batch signals the next value of a timeline semaphore.
pub(crate) struct Queue {
    raw: Arc<RawDevice>,
    handle: vk::Queue,
    semaphore: vk::Semaphore,
    /// The queue may be used while this lock is held, once `shared` is locked too.
    state: Mutex<QueueState>,
    /// The highest value that is known to have been signalled.
    reached: AtomicU64,
    /// Notified whenever a host copy has ended.
    host_copy_ended: Condvar,
    /// The caller's lock of a queue that others use as well.
    shared: Option<Arc<dyn QueueLock>>,
}

/// The work that a device was given through this crate since it was made, see [`crate::Device::work_counts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounts {
    /// Calls of vkQueueSubmit with commands: lists, and the uploads and transfers of staging memory.
    pub submissions: u64,
    /// Compute dispatches of the submitted lists: a list that is submitted twice counts twice.
    pub dispatches: u64,
}

#[derive(Default)]
struct QueueState {
    /// The value that the last submission signals; 0 before the first.
    last: u64,
    counts: WorkCounts,
    /// The number of host copies in progress.
    host_copies: usize,
}

/// The resources that a submission uses.
pub(crate) trait SubmittedResources {
    /// Whether the host is copying from or to one of the buffers.
    fn is_copied_by_host(&self) -> bool;

    /// The number of dispatches.
    fn dispatch_count(&self) -> u64;

    /// Records on every resource that the submission signalling `value` uses it. No other submission happens
    /// meanwhile.
    fn note_submitted(&self, value: u64);
}

struct NoResources;

impl SubmittedResources for NoResources {
    fn is_copied_by_host(&self) -> bool {
        false
    }

    fn dispatch_count(&self) -> u64 {
        0
    }

    fn note_submitted(&self, _value: u64) {}
}

/// A copy by the host from or to the mapped memory of one buffer. While it lives, no work that uses the buffer is
/// submitted; other submissions do not wait for it.
struct HostCopy<'a> {
    queue: &'a Queue,
    buffer: &'a BufferShared,
}

impl<'a> HostCopy<'a> {
    fn begin(
        queue: &'a Queue,
        mut state: MutexGuard<'_, QueueState>,
        buffer: &'a BufferShared,
    ) -> Self {
        state.host_copies += 1;
        buffer.host_copy_begins();
        Self { queue, buffer }
    }
}

impl Drop for HostCopy<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.host_copies -= 1;
        self.buffer.host_copy_ends();
        drop(state);
        self.queue.host_copy_ended.notify_all();
    }
}

/// Exclusive use of the queue while this lives.
struct Exclusive<'a> {
    state: MutexGuard<'a, QueueState>,
    shared: Option<&'a dyn QueueLock>,
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared {
            shared.unlock();
        }
    }
}

impl Queue {
    /// The first queue of `family`, with which the device was created.
    pub(crate) fn new(raw: &Arc<RawDevice>, family: u32) -> Result<Self> {
        // SAFETY: the device was created with one queue of this family.
        let handle = unsafe { raw.core().get_device_queue(family, 0) };
        raw.set_name(handle, "dml queue");
        // SAFETY: the queue is the device's own, and used through the result alone.
        unsafe { Self::of_caller(raw, handle, None) }
    }

    /// A caller's queue.
    ///
    /// # Safety
    ///
    /// `handle` is a queue of this device, timelineSemaphore is enabled, and whoever else
    /// uses the queue does so under `shared`.
    pub(crate) unsafe fn of_caller(
        raw: &Arc<RawDevice>,
        handle: vk::Queue,
        shared: Option<Arc<dyn QueueLock>>,
    ) -> Result<Self> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: timelineSemaphore is enabled on every device of this crate, and by the caller's
        // promise on every other one.
        let semaphore = unsafe { raw.core().create_semaphore(&info, None) };
        let semaphore = raw.check("vkCreateSemaphore", semaphore)?;
        raw.set_name(semaphore, "dml timeline");
        Ok(Self {
            raw: Arc::clone(raw),
            handle,
            semaphore,
            state: Mutex::default(),
            reached: AtomicU64::new(0),
            host_copy_ended: Condvar::new(),
            shared,
        })
    }

    pub(crate) fn semaphore(&self) -> vk::Semaphore {
        self.semaphore
    }

    /// Locks out other submissions through this crate.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks out all other users of the queue, whose own lock the caller holds.
    fn exclusive<'a>(&'a self, state: MutexGuard<'a, QueueState>) -> Exclusive<'a> {
        let shared = self.shared.as_deref();
        if let Some(shared) = shared {
            shared.lock();
        }
        Exclusive { state, shared }
    }

    /// Locks the queue, once the host copies from and to no buffer of `resources`.
    fn lock_for(&self, resources: &dyn SubmittedResources) -> MutexGuard<'_, QueueState> {
        let mut state = self.lock();
        while state.host_copies > 0 && resources.is_copied_by_host() {
            state = self.host_copy_ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Calls `work` while nobody else uses the queue. It submits nothing through this crate.
    pub(crate) fn with<R>(&self, work: impl FnOnce(vk::Queue) -> R) -> R {
        let _exclusive = self.exclusive(self.lock());
        work(self.handle)
    }

    /// Submits command buffers, each a batch of its own, without waiting for the device; returns the value that
    /// the last one will signal. `resources` get that value before another submission is possible. Without command
    /// buffers, an empty batch signals that all earlier work of the queue has completed.
    ///
    /// Each batch signals a value: Mesa's drivers join batches that have no signal between them to one, for
    /// which the kernel's watchdog waits as a whole.
    ///
    /// # Safety
    ///
    /// The command buffers are recorded, of this queue's device and family, and neither they nor
    /// anything that they use is destroyed before the returned value is signalled. `semaphores` keep the
    /// promises of [`Device::submit_with`](crate::Device::submit_with).
    pub(crate) unsafe fn submit(
        &self,
        command_buffers: &[vk::CommandBuffer],
        semaphores: &SubmitSemaphores<'_>,
        resources: &dyn SubmittedResources,
    ) -> Result<u64> {
        self.raw.ensure_alive()?;
        let mut commands: Vec<&[vk::CommandBuffer]> = command_buffers.chunks(1).collect();
        if commands.is_empty() {
            commands.push(&[]);
        }
        let last = commands.len() - 1;
        let mut queue = self.exclusive(self.lock_for(resources));
        let before = queue.state.last;
        let batches: Vec<Batch> = (0..commands.len())
            .map(|at| Batch {
                waits: Operations::of(if at == 0 { semaphores.wait } else { &[] }),
                signals: Operations::of(if at == last { semaphores.signal } else { &[] })
                    .with(self.semaphore, before + 1 + at as u64),
            })
            .collect();
        let mut timelines: Vec<_> = batches.iter().map(Batch::values).collect();
        let stages = vec![vk::PipelineStageFlags::ALL_COMMANDS; semaphores.wait.len()];
        let submits: Vec<_> = commands
            .into_iter()
            .zip(batches.iter().zip(&mut timelines))
            .map(|(command_buffers, (batch, timeline))| {
                vk::SubmitInfo::default()
                    .command_buffers(command_buffers)
                    .wait_semaphores(&batch.waits.handles)
                    .wait_dst_stage_mask(&stages[..batch.waits.handles.len()])
                    .signal_semaphores(&batch.signals.handles)
                    .push_next(timeline)
            })
            .collect();
        // SAFETY: nobody else uses the queue; command buffers and semaphores are the caller's promise; the
        // timeline's values grow.
        let result =
            unsafe { self.raw.core().queue_submit(self.handle, &submits, vk::Fence::null()) };
        let value = before + submits.len() as u64;
        self.raw.check("vkQueueSubmit", result)?;
        queue.state.last = value;
        queue.state.counts.submissions += u64::from(!command_buffers.is_empty());
        queue.state.counts.dispatches += resources.dispatch_count();
        resources.note_submitted(value);
        Ok(value)
    }

    /// The work that was submitted so far.
    pub(crate) fn work_counts(&self) -> WorkCounts {
        self.lock().counts
    }

    /// The highest value that has been signalled.
    pub(crate) fn completed(&self) -> Result<u64> {
        self.raw.ensure_alive()?;
        let mut value = 0;
        let get = self.raw.timeline().get_semaphore_counter_value_khr;
        // SAFETY: the semaphore is a timeline semaphore of this device.
        let result = unsafe { get(self.raw.core().handle(), self.semaphore, &raw mut value) };
        self.raw.check("vkGetSemaphoreCounterValue", result.result())?;
        self.reached.fetch_max(value, Ordering::AcqRel);
        Ok(value)
    }

    /// Waits until `value` is signalled, however long it takes. Vulkan is not called for a value that is known to have
    /// been.
    pub(crate) fn wait(&self, value: u64) -> Result<()> {
        if value <= self.reached.load(Ordering::Acquire) {
            return self.raw.ensure_alive();
        }
        // A driver may limit a wait to less than the given time.
        while !self.wait_timeout(value, Duration::MAX)? {}
        Ok(())
    }

    /// Drops `used`, what the submission uses that signals `value`, when it has completed. Waits again where there is no
    /// memory to wait; if waiting fails otherwise, or too often, `used` is leaked.
    pub(crate) fn drop_after<T>(&self, value: u64, used: T) {
        let mut waited = self.wait(value);
        for _ in 0..PATIENCE {
            if !waited.as_ref().is_err_and(Error::is_out_of_memory) {
                break;
            }
            std::thread::sleep(PAUSE);
            waited = self.wait(value);
        }
        match waited {
            // A lost device executes nothing any more; in a forked process nothing is destroyed.
            Ok(()) | Err(Error::DeviceLost { .. } | Error::Forked { .. }) => drop(used),
            Err(error) => {
                log::error!("waiting for dropped work failed, its objects are leaked: {error}");
                std::mem::forget(used);
            }
        }
    }

    /// Waits until `value` is signalled; false where `timeout` passed first.
    pub(crate) fn wait_timeout(&self, value: u64, timeout: Duration) -> Result<bool> {
        self.raw.ensure_alive()?;
        let nanoseconds = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let (semaphores, values) = ([self.semaphore], [value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        let wait = self.raw.timeline().wait_semaphores_khr;
        // SAFETY: the semaphore is a timeline semaphore of this device; `info` outlives the call.
        let result = unsafe { wait(self.raw.core().handle(), &raw const info, nanoseconds) };
        match result {
            vk::Result::TIMEOUT => Ok(false),
            result => {
                self.raw.check("vkWaitSemaphores", result.result())?;
                self.reached.fetch_max(value, Ordering::AcqRel);
                Ok(true)
            }
        }
    }

    /// Calls `work` while nothing can be submitted through this crate.
    pub(crate) fn while_nobody_submits<R>(&self, work: impl FnOnce() -> R) -> R {
        let _state = self.lock();
        work()
    }

    /// Calls `work`, which copies from or to the mapped memory of `buffer`, once the submission with the
    /// value in `last` has completed. Meanwhile, submissions that use the buffer wait; all others do not.
    pub(crate) fn copy_by_host<R>(
        &self,
        buffer: &BufferShared,
        last: impl Fn() -> u64,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let _copy = self.begin_host_copy(buffer, last)?;
        work()
    }

    fn begin_host_copy<'a>(
        &'a self,
        buffer: &'a BufferShared,
        last: impl Fn() -> u64,
    ) -> Result<HostCopy<'a>> {
        // Other threads may submit during the wait, so it is repeated; after a few tries, submissions that
        // use the buffer are kept out first.
        for _ in 0..4 {
            let value = last();
            self.wait(value)?;
            let state = self.lock();
            if last() == value {
                return Ok(HostCopy::begin(self, state, buffer));
            }
        }
        let copy = HostCopy::begin(self, self.lock(), buffer);
        self.wait(last())?;
        Ok(copy)
    }

    /// Waits until all work of the queue so far has completed, that of other users included. Others may submit
    /// meanwhile, which vkQueueWaitIdle would not allow.
    pub(crate) fn wait_idle(&self) -> Result<()> {
        // SAFETY: there are no command buffers and no semaphores.
        let value = unsafe { self.submit(&[], &SubmitSemaphores::default(), &NoResources) }?;
        self.wait(value)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.raw.is_forked() {
            return;
        }
        // SAFETY: whoever submits or waits owns a reference to the queue's device, whose queue
        // this is, until the value that it waits for is signalled: nothing uses the semaphore.
        unsafe { self.raw.core().destroy_semaphore(self.semaphore, None) };
    }
}
