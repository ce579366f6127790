//! Wraps a device, queue and buffers that the caller owns.
//!
//! All functions here are unsafe, because Vulkan cannot be asked what a handle is. Everything that can be
//! checked is checked; the rest is the caller's promise, stated in full at each function.

use std::ffi::CStr;
use std::fmt;
use std::sync::Arc;

use ash::{ext, khr, vk};
use dml_core::capabilities::{Feature, Features};

use crate::device::desc::{DeviceDesc, check_desc};
use crate::device::enablement::alone;
use crate::device::queue::{Queue, QueueLock};
use crate::device::{Device, Parts, usable_version};
use crate::error::{Error, Result, VkContext};
use crate::instance::InstanceShared;
use crate::instance::entry::{EntryPoints, Loader};
use crate::instance::features::is_core;
use crate::instance::physical::PhysicalDevice;
use crate::instance::raw::RawDevice;

/// A caller's physical device, for [`PhysicalDevice::from_raw`].
#[derive(Clone, Debug)]
pub struct RawPhysicalDevice<'a> {
    /// The loader's vkGetInstanceProcAddr: the one that the instance was created with.
    pub get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    /// The functions to call. The default is those of the loader and the driver.
    pub entry_points: EntryPoints,
    /// The instance.
    pub instance: vk::Instance,
    /// VkApplicationInfo::apiVersion of the instance: at least 1.1.
    pub api_version: u32,
    /// The enabled instance extensions that may be used: VK_EXT_debug_utils, for names and labels.
    pub instance_extensions: &'a [&'a CStr],
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
}

/// A caller's device, for [`Device::from_raw`].
#[derive(Clone, Debug)]
pub struct RawDeviceDesc<'a> {
    /// The physical device that the device was created from.
    pub physical: RawPhysicalDevice<'a>,
    /// The device.
    pub device: vk::Device,
    /// The enabled device extensions that may be used: those of [`crate::Enablement::extensions`].
    pub device_extensions: &'a [&'a CStr],
    /// The optional features that are enabled. No others are used. With a queue, timelineSemaphore is
    /// required; without one, no feature is. [`PhysicalDevice::enablement`] lists the features to enable.
    pub features: Features,
    /// The family of the command buffers to record into. It must support compute.
    pub queue_family: u32,
    /// A queue of that family, if the device is also to submit: to write and read buffers, and to execute
    /// operators in one call. Recording needs no queue.
    pub queue: Option<RawQueue>,
}

/// A caller's queue.
#[derive(Clone)]
pub struct RawQueue {
    /// The queue.
    pub handle: vk::Queue,
    /// The lock that every user of the queue holds. `None` if nobody else uses it as long as the device lives.
    pub lock: Option<Arc<dyn QueueLock>>,
}

impl fmt::Debug for RawQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawQueue")
            .field("handle", &self.handle)
            .field("has_lock", &self.lock.is_some())
            .finish()
    }
}

impl PhysicalDevice {
    /// A physical device of a caller's instance: to ask what to enable on it ([`PhysicalDevice::enablement`])
    /// before the caller creates a device. [`Device::new`] can create a device on it as well.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if a handle is null, the version is below 1.1, or the physical device does
    /// not belong to the instance; [`Error::OutOfMemory`]. An unusable device is not an error here, see
    /// [`PhysicalDevice::unsuitable`].
    ///
    /// # Safety
    ///
    /// - `get_instance_proc_addr` is the function of the Vulkan loader that `instance` comes from,
    ///   and the loader stays loaded as long as anything made here lives.
    /// - `instance` and `physical_device` are valid and belong together; they outlive everything made here.
    /// - `api_version` is not above VkApplicationInfo::apiVersion.
    /// - All instance extensions listed as enabled really are enabled.
    pub unsafe fn from_raw(raw: &RawPhysicalDevice<'_>) -> Result<Self> {
        // SAFETY: the caller's promise.
        let instance = unsafe { wrap_instance(raw) }?;
        Ok(Self::query(&instance, raw.physical_device))
    }
}

impl Device {
    /// Wraps a device that the caller owns.
    ///
    /// The caller's objects are never destroyed. Objects that are made from the device later (pipelines,
    /// descriptor pools, a semaphore if there is a queue) are destroyed by their last owner;
    /// [`Device::live_objects`] tells when none is left. The caller's objects are not renamed.
    ///
    /// `desc` applies as to any device; its cap lowers the limits and features that are used, not those that
    /// are enabled.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if a handle is null, the version is below 1.1, the physical device does not
    /// belong to the instance, the queue family does not exist or does not support compute, an extension or a
    /// feature is listed as enabled that the physical device does not support, a device function is missing,
    /// or a queue is given without timeline semaphores; [`Error::Unsupported`] if the physical device is too
    /// old, or a limit of its shaders' buffers is below what every device needs; [`Error::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// - `get_instance_proc_addr` is the function of the Vulkan loader that `instance` comes from,
    ///   and the loader stays loaded as long as anything made here lives.
    /// - `instance`, `physical_device`, `device` and the queue are valid and belong together; they
    ///   outlive everything made here: the device may be destroyed once
    ///   [`crate::LiveObjects::count`] is 0, the instance after it.
    /// - `api_version` is not above VkApplicationInfo::apiVersion.
    /// - All extensions and features listed as enabled really are enabled.
    /// - The device has a queue of `queue_family`; the queue given is one of them, was retrieved from
    ///   `device`, and whoever else uses it holds its lock.
    /// - Bytes that the submissions of one side, the caller or this device, write are not used by the other side
    ///   at the same time, as [`crate::record_plan`] states in full.
    pub unsafe fn from_raw(raw: &RawDeviceDesc<'_>, desc: &DeviceDesc) -> Result<Self> {
        check_desc(desc)?;
        check_handles(raw)?;
        // SAFETY: the caller's promise.
        let instance = unsafe { wrap_instance(&raw.physical) }?;
        let (handle, family) = (raw.physical.physical_device, raw.queue_family);
        let submits = raw.queue.is_some();
        let physical = PhysicalDevice::query_for_family(&instance, handle, family, submits);
        physical.check_usable()?;
        check_enabled(raw, &physical)?;
        let core_timeline = usable_version(&physical, desc) >= vk::API_VERSION_1_2;
        check_timeline(raw, core_timeline)?;
        check_functions(&instance, raw.device)?;
        let table = instance.table.load_device(raw.device, core_timeline, instance.debug_utils);
        let device = Arc::new(RawDevice::new(table, instance, false));
        let queue = raw.queue.as_ref().map(|queue| {
            // SAFETY: the caller's promise; timeline semaphores were said to be enabled.
            unsafe { Queue::of_caller(&device, queue.handle, queue.lock.clone()) }
        });
        let parts = Parts {
            raw: device,
            physical,
            queue: queue.transpose()?,
            queue_family: family,
            enabled: raw.features,
        };
        Self::assemble(parts, desc)
    }
}

/// The instance, with a check that the physical device belongs to it.
///
/// # Safety
///
/// The promises of [`PhysicalDevice::from_raw`].
unsafe fn wrap_instance(raw: &RawPhysicalDevice<'_>) -> Result<Arc<InstanceShared>> {
    check_not_null(&[
        ("instance", raw.instance == vk::Instance::null()),
        ("physical_device", raw.physical_device == vk::PhysicalDevice::null()),
    ])?;
    if raw.api_version < vk::API_VERSION_1_1 {
        return Err(Error::invalid("api_version", "below Vulkan 1.1"));
    }
    // SAFETY: the caller's promise.
    let loader = unsafe { Loader::from_raw(raw.get_instance_proc_addr, raw.entry_points.clone()) }?;
    let debug_utils = raw.instance_extensions.contains(&ext::debug_utils::NAME);
    // SAFETY: the caller's promise.
    let shared =
        unsafe { InstanceShared::of_caller(loader, raw.instance, raw.api_version, debug_utils) };
    check_physical(&shared, raw.physical_device)?;
    Ok(Arc::new(shared))
}

fn check_handles(raw: &RawDeviceDesc<'_>) -> Result<()> {
    check_not_null(&[
        ("device", raw.device == vk::Device::null()),
        ("queue", raw.queue.as_ref().is_some_and(|queue| queue.handle == vk::Queue::null())),
    ])
}

fn check_not_null(handles: &[(&'static str, bool)]) -> Result<()> {
    match handles.iter().find(|(_, is_null)| *is_null) {
        Some((name, _)) => Err(Error::invalid(*name, "its handle is null")),
        None => Ok(()),
    }
}

fn check_physical(instance: &InstanceShared, handle: vk::PhysicalDevice) -> Result<()> {
    // SAFETY: the instance is alive by the caller's promise.
    let handles = unsafe { instance.table.core().enumerate_physical_devices() }
        .call("vkEnumeratePhysicalDevices")?;
    if handles.contains(&handle) {
        return Ok(());
    }
    Err(Error::invalid("physical_device", "does not belong to this instance"))
}

/// An unsupported extension or feature cannot be enabled, nor a feature whose extension is not.
fn check_enabled(raw: &RawDeviceDesc<'_>, physical: &PhysicalDevice) -> Result<()> {
    let missing = raw.features.without(physical.capabilities().features);
    if let Some(feature) = missing.iter().next() {
        let problem = format!("{feature} is listed as enabled, but the device does not support it");
        return Err(Error::invalid("features", problem));
    }
    let unknown = |name: &&&CStr| !physical.has_extension(name);
    if let Some(name) = raw.device_extensions.iter().find(unknown) {
        let name = name.to_string_lossy();
        let problem = format!("{name} is listed as enabled, but the device does not support it");
        return Err(Error::invalid("device_extensions", problem));
    }
    if let Some((feature, other)) = alone(raw.features) {
        let problem = format!("{feature} is listed as enabled, which also needs {other}");
        return Err(Error::invalid("features", problem));
    }
    for feature in raw.features.iter() {
        let Some(extension) = feature.extension() else { continue };
        if !is_core(extension, physical.usable_version())
            && !raw.device_extensions.contains(&extension.name)
        {
            let name = extension.name.to_string_lossy();
            let problem = format!("{feature} is listed as enabled, which needs {name}");
            return Err(Error::invalid("device_extensions", problem));
        }
    }
    Ok(())
}

/// A device that submits needs timeline semaphores, which count its submissions.
fn check_timeline(raw: &RawDeviceDesc<'_>, core_timeline: bool) -> Result<()> {
    if raw.queue.is_none() {
        return Ok(());
    }
    let feature = Feature::TimelineSemaphore;
    if !raw.features.has(feature) {
        let problem = format!("a queue is given, which needs {feature}");
        return Err(Error::invalid("features", problem));
    }
    let name = khr::timeline_semaphore::NAME;
    if !core_timeline && !raw.device_extensions.contains(&name) {
        let problem = format!("a queue is given, which needs {}", name.to_string_lossy());
        return Err(Error::invalid("device_extensions", problem));
    }
    Ok(())
}

/// With most loaders, a handle that is not a device of the instance has no functions.
fn check_functions(instance: &InstanceShared, device: vk::Device) -> Result<()> {
    if instance.table.has_device_function(device, c"vkCmdDispatch") {
        return Ok(());
    }
    Err(Error::invalid("device", "it has no vkCmdDispatch"))
}
