//! A Vulkan entry point as the injector knows it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use ash::vk::{self, Handle as _};

use super::books;

/// A Vulkan entry point that the injector can count, and fail where Vulkan lets it fail.
pub struct EntryPoint {
    name: &'static str,
    failures: &'static [vk::Result],
    /// The address of the driver's or loader's function, stored when it was looked up.
    original: AtomicUsize,
}

impl EntryPoint {
    pub(super) const fn new(name: &'static str, failures: &'static [vk::Result]) -> Self {
        Self { name, failures, original: AtomicUsize::new(0) }
    }

    /// Every entry point that the injector knows.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        super::table::all().iter().copied()
    }

    /// Its name, that of Vulkan's core where it was promoted from an extension.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it may return instead of success: the codes that the Vulkan specification documents for it,
    /// TIMEOUT and NOT_READY included. Codes of extensions and structures that the runtime does not use
    /// are left out, as are VK_ERROR_UNKNOWN and VK_ERROR_VALIDATION_FAILED, which every function has.
    /// Empty where it returns nothing.
    pub fn failures(&self) -> &'static [vk::Result] {
        self.failures
    }

    /// Remembers the function that is replaced.
    pub(super) fn replaces(&self, original: unsafe extern "system" fn()) {
        self.original.store(original as usize, Ordering::SeqCst);
    }

    /// The function that is replaced.
    pub(super) fn original(&self) -> usize {
        self.original.load(Ordering::SeqCst)
    }

    /// Notes a call; returns what it is to return instead of calling the driver.
    pub(super) fn enter(&'static self, on: impl Dispatched) -> Option<vk::Result> {
        let device = on.device();
        let (result, is_new_loss) = books::called(self, device)?;
        if let (true, Some(device)) = (is_new_loss, device) {
            super::table::finish_work(vk::Device::from_raw(device));
        }
        Some(result)
    }
}

impl fmt::Debug for EntryPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The first argument of an entry point.
pub(super) trait Dispatched {
    /// The device that is asked, where it is one that can be lost by it.
    fn device(&self) -> Option<u64> {
        None
    }
}

impl Dispatched for vk::Instance {}
impl Dispatched for vk::PhysicalDevice {}
impl Dispatched for vk::CommandBuffer {}
impl<T> Dispatched for *const T {}
impl<T> Dispatched for *mut T {}

impl Dispatched for vk::Device {
    fn device(&self) -> Option<u64> {
        Some(self.as_raw())
    }
}

impl Dispatched for vk::Queue {
    fn device(&self) -> Option<u64> {
        books::device_of(*self)
    }
}
