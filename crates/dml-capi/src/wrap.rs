//! Bring your own device.

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

/// More extensions than this are refused.
const MAX_EXTENSIONS: usize = 4096;

/// A device that the caller owns, for dmlvk_wrap_device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DmlVkRawDeviceDesc {
    /// sizeof(DmlVkRawDeviceDesc).
    pub struct_size: u32,
    /// DirectML's minimum, as in DmlVkDeviceDesc. 0: none.
    pub minimum_feature_level: DML_FEATURE_LEVEL,
    /// The upper bound, as in DmlVkDeviceDesc. 0: the highest level.
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
    /// Instance extensions that are enabled, as far as they are to be used: VK_EXT_debug_utils.
    pub instance_extensions: *const *const c_char,
    /// Device extensions that are enabled, as far as they are to be used: those of DmlVkEnablement.
    pub device_extensions: *const *const c_char,
    /// The number of instance extensions.
    pub instance_extension_count: u32,
    /// The number of device extensions.
    pub device_extension_count: u32,
    /// DMLVK_FEATURE_* of those features that are enabled and may be used. 0 is fine without a queue;
    /// dmlvk_get_enablement tells what to enable.
    pub features: u64,
    /// The family of the command buffers to record into.
    pub queue_family: u32,
    /// A queue of that family, for functions that submit; null where nothing is to be submitted.
    pub queue: VkQueue,
    /// Locks the queue. Null where nobody else uses it.
    pub lock_queue: DmlVkQueueCallback,
    /// Unlocks the queue, on the thread that locked it. Null exactly where lock_queue is.
    pub unlock_queue: DmlVkQueueCallback,
    /// Handed to both.
    pub queue_lock_data: *mut c_void,
    /// DMLVK_NUMERICS_*.
    pub numerics: DmlVkNumerics,
    /// 0.
    pub reserved: u32,
}

/// Wraps a device that the caller owns. Nothing of the caller's is ever destroyed, no feature is used
/// that is not stated, and without a queue nothing is submitted.
///
/// Fails with E_INVALIDARG where a handle is null, the physical device or the queue family is not of
/// the instance or does not compute, an extension or feature is stated that the device does not offer,
/// or a queue is given without timeline semaphores.
///
/// # Safety
///
/// `desc` is null or points to a DmlVkRawDeviceDesc whose arrays have the stated lengths; `device` is
/// null or a place for a handle. The handles are valid and belong together, and outlive the wrapped
/// device; what is stated to be enabled is. Whoever else uses the queue does so between calls of the two
/// functions; they are called on any thread, must not call this library, and must not fail.
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
/// That of [`dmlvk_wrap_device`].
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

/// The caller's lock.
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
