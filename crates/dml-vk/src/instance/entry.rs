//! The Vulkan loader, and the table through which every entry point is called.
//!
//! `ash`'s own constructors look functions up by themselves. This module builds its tables from
//! single lookups instead, and each lookup passes an [`EntryPoints`] hook: a test, a tracer or a
//! fault injector may replace any function by its name. The memory allocator is given the same
//! tables, so its calls pass the hook too.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::Arc;
#[cfg(feature = "testing")]
use std::sync::{Mutex, PoisonError};

use ash::{ext, khr, vk};

use crate::error::{Error, Result, VkContext as _};

type Resolve = dyn Fn(&CStr, vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction + Send + Sync;

/// The entry points of [`EntryPoints::default`], if a test has replaced them.
#[cfg(feature = "testing")]
static DEFAULT: Mutex<Option<EntryPoints>> = Mutex::new(None);

/// The choice of the function that is called for each name.
///
/// The default calls the functions of the loader and the driver.
#[derive(Clone)]
pub struct EntryPoints {
    resolve: Arc<Resolve>,
}

impl EntryPoints {
    /// A table of the functions that `resolve` returns.
    ///
    /// `resolve` is asked once for each instance (global and instance functions) and once for each
    /// device (device functions), with the function's name and the original, which is `None` where
    /// the driver has no such function.
    ///
    /// # Safety
    ///
    /// A function that `resolve` returns must have the signature of the named function, keep
    /// Vulkan's contract for it, and stay callable as long as any object of this crate lives. It
    /// may be called from any thread. Where the original is there, it must not return `None`.
    pub unsafe fn replacing(
        resolve: impl Fn(&CStr, vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { resolve: Arc::new(resolve) }
    }

    /// Sets [`EntryPoints::default`] for the whole process; `None` restores the functions of the loader and
    /// the driver. For tests of code that has no other way to pass entry points.
    #[cfg(feature = "testing")]
    pub fn set_default(entry_points: Option<Self>) {
        *DEFAULT.lock().unwrap_or_else(PoisonError::into_inner) = entry_points;
    }

    fn resolve(&self, name: &CStr, original: vk::PFN_vkVoidFunction) -> *const c_void {
        as_pointer((self.resolve)(name, original))
    }
}

impl Default for EntryPoints {
    fn default() -> Self {
        #[cfg(feature = "testing")]
        if let Some(replaced) = &*DEFAULT.lock().unwrap_or_else(PoisonError::into_inner) {
            return replaced.clone();
        }
        Self { resolve: Arc::new(|_, original| original) }
    }
}

impl fmt::Debug for EntryPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryPoints").finish_non_exhaustive()
    }
}

fn as_pointer(function: vk::PFN_vkVoidFunction) -> *const c_void {
    function.map_or(std::ptr::null(), |function| function as *const c_void)
}

/// The functions that need no instance.
pub(crate) struct Loader {
    entry: ash::Entry,
    entry_points: EntryPoints,
    /// Keeps the library mapped, where this crate loaded it; its own, unreplaced table is never
    /// called.
    _library: Option<ash::Entry>,
}

impl Loader {
    /// Opens the system's Vulkan loader.
    pub(crate) fn open(entry_points: EntryPoints) -> Result<Self> {
        // SAFETY: loading runs the initialisers of the system's Vulkan loader, which has no
        // precondition; the library stays mapped because `_library` owns it.
        let library = unsafe { ash::Entry::load() }
            .map_err(|error| Error::NoLoader { reason: error.to_string() })?;
        let original = library.static_fn().get_instance_proc_addr;
        // SAFETY: the function is the loader's own, and the library is kept beside it.
        let loader = unsafe { Self::from_raw(original, entry_points) }?;
        Ok(Self { _library: Some(library), ..loader })
    }

    /// Uses a loader that is already loaded.
    ///
    /// # Safety
    ///
    /// `original` is a Vulkan loader's vkGetInstanceProcAddr, and stays mapped as long as `self`.
    pub(crate) unsafe fn from_raw(
        original: vk::PFN_vkGetInstanceProcAddr,
        entry_points: EntryPoints,
    ) -> Result<Self> {
        let static_fn = ash::StaticFn::load_checked(|name| {
            // SAFETY: only the type is erased; the value is handed back as the same type.
            let erased = unsafe {
                std::mem::transmute::<vk::PFN_vkGetInstanceProcAddr, vk::PFN_vkVoidFunction>(
                    original,
                )
            };
            entry_points.resolve(name, erased)
        })
        .map_err(|error| Error::NoLoader { reason: error.to_string() })?;
        let load = |name: &CStr| load_global(&static_fn, &entry_points, name);
        let entry = ash::Entry::from_parts_1_1(
            static_fn.clone(),
            ash::EntryFnV1_0::load(load),
            ash::EntryFnV1_1::load(load),
        );
        Ok(Self { entry, entry_points, _library: None })
    }

    /// The hooked functions that need no instance.
    pub(crate) fn entry(&self) -> &ash::Entry {
        &self.entry
    }

    /// The version of Vulkan that the loader supports.
    pub(crate) fn version(&self) -> Result<u32> {
        let name = c"vkEnumerateInstanceVersion";
        if load_global(self.entry.static_fn(), &self.entry_points, name).is_null() {
            return Ok(vk::API_VERSION_1_0);
        }
        let mut version = vk::API_VERSION_1_0;
        // SAFETY: the function was just seen to be there, and `version` outlives the call.
        let result = unsafe { (self.entry.fp_v1_1().enumerate_instance_version)(&raw mut version) };
        result.result().call("vkEnumerateInstanceVersion")?;
        Ok(version)
    }

    /// The hooked functions of `instance`, which must be one of this loader.
    pub(crate) fn load_instance(&self, instance: vk::Instance) -> InstanceTable {
        let load = |name: &CStr| self.load_instance_function(instance, name);
        // SAFETY: every pointer is what the loader, or the hook by its own contract, gives for
        // that name.
        let core = unsafe { ash::Instance::load_with(load, instance) };
        let cooperative_matrix = khr::cooperative_matrix::InstanceFn::load(load);
        InstanceTable { core, cooperative_matrix, entry_points: self.entry_points.clone() }
    }

    /// The functions of VK_EXT_debug_utils for an instance that has it enabled.
    pub(crate) fn load_debug_utils(&self, instance: vk::Instance) -> ext::debug_utils::InstanceFn {
        ext::debug_utils::InstanceFn::load(|name| self.load_instance_function(instance, name))
    }

    fn load_instance_function(&self, instance: vk::Instance, name: &CStr) -> *const c_void {
        let get = self.entry.static_fn().get_instance_proc_addr;
        // SAFETY: `instance` was created by this loader and is alive; `name` ends with a NUL.
        let original = unsafe { get(instance, name.as_ptr()) };
        self.entry_points.resolve(name, original)
    }
}

fn load_global(
    static_fn: &ash::StaticFn,
    entry_points: &EntryPoints,
    name: &CStr,
) -> *const c_void {
    // SAFETY: a null instance asks for a global function, which is always allowed; `name` ends
    // with a NUL.
    let original =
        unsafe { (static_fn.get_instance_proc_addr)(vk::Instance::null(), name.as_ptr()) };
    entry_points.resolve(name, original)
}

/// The hooked functions of an instance.
pub(crate) struct InstanceTable {
    core: ash::Instance,
    cooperative_matrix: khr::cooperative_matrix::InstanceFn,
    entry_points: EntryPoints,
}

impl InstanceTable {
    /// The core functions.
    pub(crate) fn core(&self) -> &ash::Instance {
        &self.core
    }

    /// The functions of VK_KHR_cooperative_matrix, for physical devices that have it.
    pub(crate) fn cooperative_matrix(&self) -> &khr::cooperative_matrix::InstanceFn {
        &self.cooperative_matrix
    }

    /// The hooked functions of `device`, each looked up through the device itself.
    ///
    /// `core_timeline` says whether timeline semaphores are core there or come from the extension.
    pub(crate) fn load_device(
        &self,
        device: vk::Device,
        core_timeline: bool,
        debug_utils: bool,
    ) -> DeviceTable {
        let load = |name: &CStr| self.load_device_function(device, name);
        // SAFETY: every pointer is what the device, or the hook by its own contract, gives for
        // that name.
        let core = unsafe { ash::Device::load_with(load, device) };
        let timeline = khr::timeline_semaphore::DeviceFn::load(|name| match core_name(name) {
            Some(core) if core_timeline => self.load_device_function(device, &core),
            _ => self.load_device_function(device, name),
        });
        let has_debug_utils = debug_utils && !load(c"vkSetDebugUtilsObjectNameEXT").is_null();
        let debug = has_debug_utils.then(|| ext::debug_utils::DeviceFn::load(load));
        DeviceTable { core, timeline, debug }
    }

    /// Whether `device` has the function called `name`.
    pub(crate) fn has_device_function(&self, device: vk::Device, name: &CStr) -> bool {
        !self.load_device_function(device, name).is_null()
    }

    fn load_device_function(&self, device: vk::Device, name: &CStr) -> *const c_void {
        let get = self.core.fp_v1_0().get_device_proc_addr;
        // SAFETY: `device` was created by this instance and is alive; `name` ends with a NUL.
        let original = unsafe { get(device, name.as_ptr()) };
        self.entry_points.resolve(name, original)
    }
}

/// The name of an extension's function after its promotion to the core.
fn core_name(name: &CStr) -> Option<std::ffi::CString> {
    let stem = name.to_bytes().strip_suffix(b"KHR")?;
    std::ffi::CString::new(stem).ok()
}

/// The hooked functions of a device.
pub(crate) struct DeviceTable {
    /// The core functions.
    pub(crate) core: ash::Device,
    /// Timeline semaphores, under whichever name the device has them.
    pub(crate) timeline: khr::timeline_semaphore::DeviceFn,
    /// Names and labels, if the instance supports them.
    pub(crate) debug: Option<ext::debug_utils::DeviceFn>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promoted_function_loses_its_suffix() {
        assert_eq!(core_name(c"vkWaitSemaphoresKHR").as_deref(), Some(c"vkWaitSemaphores"));
        assert_eq!(core_name(c"vkWaitSemaphores"), None);
    }
}
