//! Submitting recorded commands without waiting for them.

use std::time::Duration;

use ash::vk;

use crate::device::Device;
use crate::device::queue::{Queue, WorkCounts};
use crate::device::semaphores::SubmitSemaphores;
use crate::error::{Error, Result};
use crate::record::recorder::CommandList;

/// A ticket for work that was submitted. It owns everything that the work uses.
///
/// Dropping the ticket of unfinished work waits for the work; a loss of the device is ignored then. If there
/// is no memory even to wait, for a second, all resources of the work are leaked.
#[derive(Debug)]
#[must_use = "dropping a submission waits for it"]
pub struct Submission {
    device: Device,
    value: u64,
    /// Taken when the ticket is dropped.
    list: Option<CommandList>,
}

impl Device {
    /// Submits recorded commands and returns at once.
    ///
    /// Submissions execute as if one after the other, in the order of these calls.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the list was recorded for another device, [`Error::Unsupported`] if the
    /// device was wrapped without a queue, [`Error::OutOfMemory`] (nothing was submitted),
    /// [`Error::DeviceLost`].
    pub fn submit(&self, list: CommandList) -> Result<Submission> {
        // SAFETY: there are no semaphores.
        unsafe { self.submit_with(list, &SubmitSemaphores::default()) }
    }

    /// Submits recorded commands, ordered by the caller's semaphores in addition to the order of
    /// [`Device::submit`], and returns at once. Later submissions wait as well: they execute as if one after
    /// the other.
    ///
    /// # Errors
    ///
    /// As [`Device::submit`]; [`Error::InvalidArgument`] if a semaphore is null.
    ///
    /// # Safety
    ///
    /// - The semaphores are of this device, and live until the submission has completed.
    /// - A binary semaphore that is waited for has its signal submitted already, and nobody else waits for
    ///   that signal; one that is signalled is not signalled, and nothing that would signal it is
    ///   pending.
    /// - The value that a timeline semaphore is signalled with is above its value and above any that is
    ///   pending. Whatever is waited for is signalled at some time, else nothing ever completes that is
    ///   submitted from then on.
    pub unsafe fn submit_with(
        &self,
        list: CommandList,
        semaphores: &SubmitSemaphores<'_>,
    ) -> Result<Submission> {
        if !list.device().is_same(self) {
            return Err(Error::invalid("list", "it was recorded for another device"));
        }
        let mut all = semaphores.wait.iter().chain(semaphores.signal);
        if all.any(|it| it.semaphore == vk::Semaphore::null()) {
            return Err(Error::invalid("semaphores", "one of them is null"));
        }
        self.flush_uploads()?;
        // Buffers that were dropped since are freed.
        self.shared.upload_batches.retire_if_unlocked(self.queue()?)?;
        // SAFETY: a list is only made with its recording ended. It is consumed here, and the
        // submission keeps it until the value is signalled; it gives back only what is repeatable. The
        // semaphores are the caller's promise.
        let value = unsafe { self.queue()?.submit(list.command_buffers(), semaphores, &list) }?;
        Ok(Submission { device: self.clone(), value, list: Some(list) })
    }

    /// How many submissions and dispatches the device was given through this crate; none without a queue. Work of
    /// [`record_plan`](crate::record_plan), which the caller submits, is not counted.
    pub fn work_counts(&self) -> WorkCounts {
        self.queue().map(Queue::work_counts).unwrap_or_default()
    }
}

impl Submission {
    /// The value of [`Device::timeline_semaphore`] that is signalled when the work has completed.
    pub fn timeline_value(&self) -> u64 {
        self.value
    }

    /// Whether the work has completed.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn is_complete(&self) -> Result<bool> {
        Ok(self.device.queue()?.completed()? >= self.value)
    }

    /// Waits until the work has completed.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn wait(&self) -> Result<()> {
        self.device.queue()?.wait(self.value)
    }

    /// Waits at most `timeout`; returns whether the work has completed.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn wait_timeout(&self, timeout: Duration) -> Result<bool> {
        self.device.queue()?.wait_timeout(self.value, timeout)
    }

    /// Waits until the work has completed, and gives its list back to be submitted again.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the list was not recorded by a
    /// [`Recorder::repeatable`](crate::Recorder::repeatable), [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn into_list(mut self) -> Result<CommandList> {
        self.wait()?;
        match self.list.take_if(|list| list.is_repeatable()) {
            Some(list) => Ok(list),
            None => Err(Error::invalid("list", "it was recorded to be submitted once")),
        }
    }
}

impl Drop for Submission {
    fn drop(&mut self) {
        if let Ok(queue) = self.device.queue() {
            queue.drop_after(self.value, self.list.take());
        }
    }
}
