//! A Vulkan entry point as the injector knows it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use dml_vk::ash::vk;

/// A Vulkan entry point that the injector can count, and make fail in ways that Vulkan documents.
pub struct EntryPoint {
    name: &'static str,
    failures: &'static [vk::Result],
    /// The address of the driver's or loader's function, stored when it was looked up.
    original: AtomicUsize,
}

impl EntryPoint {
    /// `pfn` is the name of the function's type: `PFN_` and the function's name.
    pub(crate) const fn new(pfn: &'static str, failures: &'static [vk::Result]) -> Self {
        Self { name: pfn.split_at(4).1, failures, original: AtomicUsize::new(0) }
    }

    /// The function's name, without an extension's suffix if it was promoted to Vulkan's core.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The results other than success that the function may return: the codes that the Vulkan specification
    /// documents for it, TIMEOUT and NOT_READY included. Codes of extensions and structures that the runtime
    /// does not use are left out, as are VK_ERROR_UNKNOWN and VK_ERROR_VALIDATION_FAILED, which every
    /// function has. Empty for functions without a result.
    pub fn failures(&self) -> &'static [vk::Result] {
        self.failures
    }

    /// Stores the function that is replaced.
    pub(crate) fn replaces(&self, original: unsafe extern "system" fn()) {
        self.original.store(original as usize, Ordering::SeqCst);
    }

    /// The function that is replaced.
    pub(crate) fn original(&self) -> usize {
        self.original.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for EntryPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
