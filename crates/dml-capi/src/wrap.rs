//! Wrapped devices: bring your own device.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use dml::ash::vk;
use dml::vk::{DeviceDesc, QueueLock, RawDeviceDesc, RawPhysicalDevice, RawQueue};
use dml::{Device, DeviceOptions};

use crate::boundary::{Failure, Result};
use crate::device::{NO_PARENT, levels, numerics};
use crate::enablement::features;
use crate::handle::create;
use crate::memory::{read_array, read_sized, reserved, text};
use crate::types::{
    DML_FEATURE_LEVEL, DmlVkDevice, DmlVkNumerics, DmlVkQueueCallback, HRESULT,
    PFN_vkGetInstanceProcAddr, VkDevice, VkInstance, VkPhysicalDevice, VkQueue,
};

/// The most extensions in a list.
const MAX_EXTENSIONS: usize = 4096;

/// A device that the caller owns, for dmlvk_wrap_device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkRawDeviceDesc {
    /// sizeof(DmlVkRawDeviceDesc).
    pub struct_size: u32,
    /// DirectML's minimum feature level, as in DmlVkDeviceDesc. 0: no minimum.
    pub minimum_feature_level: DML_FEATURE_LEVEL,
    /// The feature level of the device, as in DmlVkDeviceDesc. 0: the highest level.
    pub maximum_feature_level: DML_FEATURE_LEVEL,
    /// VkApplicationInfo::apiVersion of the instance: at least VK_API_VERSION_1_1.
    pub api_version: u32,
    /// The loader's vkGetInstanceProcAddr.
    pub get_instance_proc_addr: PFN_vkGetInstanceProcAddr,
    /// The instance.
    pub instance: VkInstance,
    /// The physical device.
    pub physical_device: VkPhysicalDevice,
    /// The device.
    pub device: VkDevice,
    /// Enabled instance extensions that the library may use: VK_EXT_debug_utils.
    pub instance_extensions: *const *const c_char,
    /// Enabled device extensions that the library may use: those of DmlVkEnablement.
    pub device_extensions: *const *const c_char,
    /// The number of instance extensions.
    pub instance_extension_count: u32,
    /// The number of device extensions.
    pub device_extension_count: u32,
    /// DMLVK_FEATURE_* of the enabled features that the library may use; may be 0 without a queue.
    /// dmlvk_get_enablement gives the features to enable.
    pub features: u64,
    /// The queue family of the command buffers to record into.
    pub queue_family: u32,
    /// A queue of that family, for functions that submit; null if the library must not submit.
    pub queue: VkQueue,
    /// Locks the queue. Null if only the library uses it.
    pub lock_queue: DmlVkQueueCallback,
    /// Unlocks the queue, on the thread that locked it. Null if and only if lock_queue is.
    pub unlock_queue: DmlVkQueueCallback,
    /// The argument of both functions.
    pub queue_lock_data: *mut c_void,
    /// DMLVK_NUMERICS_*.
    pub numerics: DmlVkNumerics,
    /// 0.
    pub reserved: u32,
}

/// Wraps a device that the caller owns. The library never destroys the caller's objects, uses only the stated
/// features, and submits nothing without a queue.
///
/// Fails with E_INVALIDARG if a handle is null, the physical device does not belong to the instance, the queue
/// family does not exist or has no compute support, a stated extension or feature is not supported by the device,
/// or a queue is given without timeline semaphores.
///
/// # Safety
///
/// `desc` is null or points to a DmlVkRawDeviceDesc whose arrays have the stated lengths; `device` is null or
/// points to memory for a handle. The handles are valid and belong together, and outlive the wrapped device;
/// all features and extensions listed as enabled really are enabled. All other users of the queue use it between
/// calls of lock_queue and unlock_queue; these are called on any thread, must not call this library, and must
/// not fail.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_wrap_device(
    desc: *const DmlVkRawDeviceDesc,
    device: *mut DmlVkDevice,
) -> HRESULT {
    let make = || {
        // SAFETY: the caller's promise.
        let desc = unsafe { read_sized(desc, "desc") }?;
        let levels = levels(desc.minimum_feature_level, desc.maximum_feature_level)?;
        let numerics = numerics(desc.numerics, "desc.numerics")?;
        reserved(desc.reserved, "desc.reserved")?;
        // SAFETY: the caller's promise.
        let vulkan = unsafe { wrap(&desc) }?;
        Ok(Device::from_vulkan(vulkan, &DeviceOptions { numerics, ..levels })?)
    };
    // SAFETY: the caller's promise.
    unsafe { create("dmlvk_wrap_device", (device, "device"), NO_PARENT, make) }
}

/// # Safety
///
/// As [`dmlvk_wrap_device`].
unsafe fn wrap(desc: &DmlVkRawDeviceDesc) -> Result<dml::vk::Device> {
    let get_instance_proc_addr = desc
        .get_instance_proc_addr
        .ok_or_else(|| Failure::invalid("desc.get_instance_proc_addr", "null"))?;
    let (list, count) = (desc.instance_extensions, desc.instance_extension_count);
    // SAFETY: the caller's promise.
    let instance_extensions = unsafe { names(list, count, "desc.instance_extensions") }?;
    let (list, count) = (desc.device_extensions, desc.device_extension_count);
    // SAFETY: the caller's promise.
    let device_extensions = unsafe { names(list, count, "desc.device_extensions") }?;
    let physical = RawPhysicalDevice {
        get_instance_proc_addr,
        entry_points: dml::EntryPoints::default(),
        instance: desc.instance,
        api_version: desc.api_version,
        instance_extensions: &instance_extensions,
        physical_device: desc.physical_device,
    };
    let raw = RawDeviceDesc {
        physical,
        device: desc.device,
        device_extensions: &device_extensions,
        features: features(desc.features, "desc.features")?,
        queue_family: desc.queue_family,
        queue: queue(desc)?,
    };
    // SAFETY: the caller's promise.
    Ok(unsafe { dml::vk::Device::from_raw(&raw, &DeviceDesc::default()) }?)
}

/// # Safety
///
/// `list` is null or points to `count` strings that outlive the result.
unsafe fn names<'a>(list: *const *const c_char, count: u32, name: &str) -> Result<Vec<&'a CStr>> {
    // SAFETY: the caller's promise.
    let list = unsafe { read_array(list, count, MAX_EXTENSIONS, name) }?;
    let null = || Failure::invalid(name, "one of them is null");
    // SAFETY: the caller's promise.
    list.into_iter().map(|it| unsafe { text(it) }.ok_or_else(null)).collect()
}

fn queue(desc: &DmlVkRawDeviceDesc) -> Result<Option<RawQueue>> {
    let lock: Option<Arc<dyn QueueLock>> = match (desc.lock_queue, desc.unlock_queue) {
        (Some(lock), Some(unlock)) => {
            Some(Arc::new(Callbacks { lock, unlock, data: desc.queue_lock_data }))
        }
        (None, None) => None,
        _ => return Err(Failure::invalid("desc.lock_queue, desc.unlock_queue", "one is null")),
    };
    Ok((desc.queue != vk::Queue::null()).then_some(RawQueue { handle: desc.queue, lock }))
}

/// The caller's functions that lock and unlock the queue.
struct Callbacks {
    lock: unsafe extern "C" fn(*mut c_void),
    unlock: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the caller promises that both functions may be called on any thread, with this data.
unsafe impl Send for Callbacks {}
// SAFETY: as above.
unsafe impl Sync for Callbacks {}

// SAFETY: the caller promises that whoever else uses the queue does so between the two.
unsafe impl QueueLock for Callbacks {
    fn lock(&self) {
        // SAFETY: the caller's promise.
        unsafe { (self.lock)(self.data) };
    }

    fn unlock(&self) {
        // SAFETY: the caller's promise.
        unsafe { (self.unlock)(self.data) };
    }
}
