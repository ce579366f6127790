//! The semaphores that order a submission.

use ash::vk;

/// A semaphore of the caller's, to wait for or to signal.
#[derive(Clone, Copy, Debug)]
pub struct SemaphoreValue {
    /// The semaphore: binary or timeline.
    pub semaphore: vk::Semaphore,
    /// The value of a timeline semaphore; ignored for a binary one.
    pub value: u64,
}

/// The caller's semaphores that order a submission, see [`crate::Device::submit_with`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SubmitSemaphores<'a> {
    /// Semaphores that must be signalled before any work of the submission begins.
    pub wait: &'a [SemaphoreValue],
    /// Semaphores that are signalled when all work of the submission has completed.
    pub signal: &'a [SemaphoreValue],
}

/// The semaphores in the arrays that Vulkan takes.
pub(crate) struct Operations {
    pub(crate) handles: Vec<vk::Semaphore>,
    pub(crate) values: Vec<u64>,
}

impl Operations {
    pub(crate) fn of(semaphores: &[SemaphoreValue]) -> Self {
        let (handles, values) =
            semaphores.iter().map(|semaphore| (semaphore.semaphore, semaphore.value)).unzip();
        Self { handles, values }
    }

    pub(crate) fn with(mut self, semaphore: vk::Semaphore, value: u64) -> Self {
        self.handles.push(semaphore);
        self.values.push(value);
        self
    }
}

/// The semaphores of a batch. What one waits for holds back those after it, and a signal covers those before it.
pub(crate) struct Batch {
    pub(crate) waits: Operations,
    pub(crate) signals: Operations,
}

impl Batch {
    pub(crate) fn values(&self) -> vk::TimelineSemaphoreSubmitInfo<'_> {
        vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&self.waits.values)
            .signal_semaphore_values(&self.signals.values)
    }
}
