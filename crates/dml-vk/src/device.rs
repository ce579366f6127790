//! The logical device: one queue, one allocator, one pipeline cache.

pub(crate) mod buffers;
pub(crate) mod commands;
pub(crate) mod desc;
pub(crate) mod enablement;
pub(crate) mod heap;
pub(crate) mod queue;
pub(crate) mod semaphores;
pub(crate) mod staging;
pub(crate) mod upload_batches;
pub(crate) mod wrap;

use std::fmt;
use std::sync::{Arc, Weak};

use ash::vk;
use dml_core::capabilities::{Capabilities, CapabilityCap, Feature, Features, Shortfall};
use dml_core::plan::WorkBound;

use crate::device::commands::CommandPools;
use crate::device::desc::{DeviceDesc, check_desc, compile_threads};
use crate::device::enablement::Enablement;
use crate::device::queue::Queue;
use crate::device::staging::Staging;
use crate::device::upload_batches::UploadBatches;
use crate::error::{Error, Result};
use crate::instance::info::{DeviceInfo, packed_version};
use crate::instance::physical::{PhysicalDevice, lacks_timeline};
use crate::instance::raw::RawDevice;
use crate::memory::allocator::{MemoryAllocator, MemoryReport};
use crate::memory::buffer::BufferUsage;
use crate::pipeline::PipelineCache;
use crate::pipeline::file::PipelineFile;

/// A logical device.
///
/// A cheap handle, `Send + Sync`: clones share the device. A device that this crate created is destroyed after
/// everything made from it, and has the optional features enabled that [`PhysicalDevice::enablement`] lists. A
/// caller's own device is wrapped with [`Device::from_raw`] and never destroyed.
#[derive(Clone, Debug)]
pub struct Device {
    pub(crate) shared: Arc<DeviceShared>,
}

/// The state that the objects of a device share.
pub(crate) struct DeviceShared {
    /// `None` for a caller's device that was wrapped without a queue.
    queue: Option<Queue>,
    queue_family: u32,
    pub(crate) commands: Arc<CommandPools>,
    pub(crate) uploads: Arc<Staging>,
    pub(crate) read_backs: Arc<Staging>,
    pub(crate) upload_batches: UploadBatches,
    pub(crate) allocator: Arc<MemoryAllocator>,
    pub(crate) pipelines: PipelineCache,
    /// Limits, and the features that are enabled.
    pub(crate) capabilities: Capabilities,
    pub(crate) always_stage: bool,
    /// Whether the validation layer is known to be on.
    pub(crate) is_validated: bool,
    pub(crate) compile_threads: usize,
    pub(crate) work_bound: WorkBound,
    offered: Features,
    /// The usages that buffers of the device may have.
    usages: BufferUsage,
    shortfalls: Vec<Shortfall>,
    physical: PhysicalDevice,
    pub(crate) raw: Arc<RawDevice>,
}

impl Device {
    /// Creates a device with the default [`DeviceDesc`].
    ///
    /// # Errors
    ///
    /// As [`Device::with_desc`].
    pub fn new(physical: &PhysicalDevice) -> Result<Self> {
        Self::with_desc(physical, &DeviceDesc::default())
    }

    /// Creates a device.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if [`PhysicalDevice::unsuitable`] gives a reason, or the error of its driver if
    /// that failed; [`Error::Unsupported`] also if the device has no timeline semaphores below the cap's
    /// version of Vulkan; [`Error::InvalidArgument`] if everything is to be staged and no buffer may have
    /// transfer usage; [`Error::OutOfMemory`], [`Error::DeviceLost`], or [`Error::Vulkan`] if the driver
    /// refuses.
    pub fn with_desc(physical: &PhysicalDevice, desc: &DeviceDesc) -> Result<Self> {
        physical.instance.process.ensure_current()?;
        let family = physical.queue_family(desc.queue)?;
        check_desc(desc)?;
        let mut enablement = physical.enablement(desc);
        let enabled = enablement.features;
        if let Some(lacking) = lacks_timeline(enabled) {
            return Err(Error::unsupported(physical.info().name.clone(), lacking));
        }
        let version = usable_version(physical, desc);
        let raw = Arc::new(create(physical, family, version, &mut enablement)?);
        let queue = Some(Queue::new(&raw, family)?);
        let physical = physical.clone();
        let parts = Parts { raw, physical, queue, queue_family: family, enabled };
        let device = Self::assemble(parts, desc)?;
        log::debug!("created {:?}", device.shared);
        Ok(device)
    }

    /// Creates the device from parts that are made differently for own and for wrapped devices.
    pub(crate) fn assemble(parts: Parts, desc: &DeviceDesc) -> Result<Self> {
        let Parts { raw, physical, queue, queue_family, enabled } = parts;
        let (offered, shortfalls) = capped(&physical, &desc.cap);
        let features = enabled.and(offered.features);
        let capabilities = Capabilities { features, limits: offered.limits };
        let file = desc.pipeline_cache.as_deref();
        let file = file.map(|folder| PipelineFile::new(folder, &physical));
        let max_allocation = capabilities.limits.max_memory_allocation_size;
        let shared = DeviceShared {
            queue,
            queue_family,
            commands: Arc::new(CommandPools::new(&raw, queue_family)),
            uploads: Arc::new(Staging::upload()),
            read_backs: Arc::new(Staging::read_back()),
            upload_batches: UploadBatches::default(),
            allocator: Arc::new(MemoryAllocator::new(&raw, &physical, max_allocation)?),
            pipelines: PipelineCache::new(&raw, file)?,
            capabilities,
            always_stage: desc.always_stages(),
            is_validated: physical.is_validated(),
            compile_threads: compile_threads(desc),
            work_bound: desc.work_bound.unwrap_or(physical.info().device_type.work_bound()),
            offered: offered.features,
            usages: if desc.cap.no_transfer_usage() {
                BufferUsage::STORAGE
            } else {
                BufferUsage::all()
            },
            shortfalls,
            physical,
            raw,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The device's identity: name, driver, ids.
    pub fn info(&self) -> &DeviceInfo {
        self.shared.physical.info()
    }

    /// The physical device, with all features that it supports, enabled or not.
    pub fn physical(&self) -> &PhysicalDevice {
        &self.shared.physical
    }

    /// The limits and the enabled features that plans may rely on. Under a cap, the lowered limits.
    pub fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    /// The device's limits with all features that it supports under its cap, enabled or not.
    pub fn offered(&self) -> Capabilities {
        Capabilities {
            features: self.shared.offered,
            limits: self.shared.capabilities.limits.clone(),
        }
    }

    /// Every usage that buffers of the device may have: all usages, or storage alone under a cap.
    pub fn buffer_usages(&self) -> BufferUsage {
        self.shared.usages
    }

    /// The limits and features that the cap states and the physical device does not have.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.shared.shortfalls
    }

    /// The number of pipelines that the device has made so far, those included that were freed since. A new shape of
    /// an operator makes none, because pipelines do not depend on sizes and strides.
    pub fn pipeline_count(&self) -> usize {
        self.shared.pipelines.len()
    }

    /// The memory that the device's buffers have now; wrapped buffers do not count.
    pub fn memory_report(&self) -> MemoryReport {
        if let Some(queue) = &self.shared.queue
            && !self.shared.raw.is_forked()
            && let Err(error) = self.shared.upload_batches.retire_if_unlocked(queue)
        {
            log::debug!("the staging memory of uploads is not freed: {error}");
        }
        self.shared.allocator.report()
    }

    /// The most work that the device is given at one time. Lists are divided into batches by it; dispatches are
    /// divided when plans are made.
    pub fn work_bound(&self) -> WorkBound {
        self.shared.work_bound
    }

    /// Waits until the device's queue is idle.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the device was wrapped without a queue, [`Error::DeviceLost`],
    /// [`Error::OutOfMemory`].
    pub fn wait_idle(&self) -> Result<()> {
        self.flush_uploads()?;
        self.queue()?.wait_idle()
    }

    /// Fails if the device was lost, or if this process was forked from the one that created it: every call would then
    /// fail, or wait for threads that this process does not have.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Forked`].
    pub fn check_alive(&self) -> Result<()> {
        self.shared.raw.ensure_alive()
    }

    /// Whether the device was lost. If so, every call fails with [`Error::DeviceLost`].
    pub fn is_lost(&self) -> bool {
        self.shared.raw.is_lost()
    }

    /// `ash`'s device, for calls that this crate does not make.
    ///
    /// Its functions are unsafe to call, and it must not be used to destroy the device or an object that this
    /// crate made.
    pub fn raw(&self) -> &ash::Device {
        self.shared.raw.core()
    }

    /// The family of the device's queue.
    pub fn queue_family(&self) -> u32 {
        self.shared.queue_family
    }

    /// Calls `work` with the device's queue while nothing else uses it. What it submits sees all uploads before, such
    /// as the constants of compiled operators.
    ///
    /// `work` must not call this device's submissions, waits or timestamps: it would deadlock.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the device was wrapped without a queue, [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn with_queue<R>(&self, work: impl FnOnce(vk::Queue) -> R) -> Result<R> {
        let queue = self.queue()?;
        self.flush_uploads()?;
        Ok(queue.with(work))
    }

    /// The timeline semaphore that counts the batches of the device's submissions, to chain other work to
    /// [`crate::Submission::timeline_value`]. Callers may wait on it but never signal it. `None` if the
    /// device was wrapped without a queue.
    pub fn timeline_semaphore(&self) -> Option<vk::Semaphore> {
        self.shared.queue.as_ref().map(Queue::semaphore)
    }

    /// Whether this crate created the VkDevice, and destroys it.
    pub fn is_owned(&self) -> bool {
        self.shared.raw.is_owned()
    }

    /// Counts the objects that still use this device, even after its last handle is dropped.
    pub fn live_objects(&self) -> LiveObjects {
        LiveObjects(Arc::downgrade(&self.shared.raw))
    }

    pub(crate) fn queue(&self) -> Result<&Queue> {
        self.shared.queue.as_ref().ok_or_else(|| {
            Error::unsupported("submitting", "the device was wrapped without a queue")
        })
    }

    /// Whether `self` and `other` are the same device.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl DeviceShared {
    pub(crate) fn has_queue(&self) -> bool {
        self.queue.is_some()
    }
}

impl Drop for DeviceShared {
    fn drop(&mut self) {
        if let Some(queue) = &self.queue {
            self.upload_batches.end(queue);
        }
    }
}

impl fmt::Debug for DeviceShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceShared")
            .field("name", &self.physical.info().name)
            .field("enabled", &names(self.capabilities.features))
            .field("not_enabled", &names(self.offered.without(self.capabilities.features)))
            .field("raw", &self.raw)
            .finish_non_exhaustive()
    }
}

fn names(features: Features) -> Vec<&'static str> {
    features.iter().map(Feature::name).collect()
}

/// The objects of a device that are still alive: the device itself, and everything made from it.
///
/// A caller's own VkDevice must not be destroyed before [`LiveObjects::count`] is 0.
#[derive(Clone, Debug)]
pub struct LiveObjects(Weak<RawDevice>);

impl LiveObjects {
    /// The number of objects that still use the VkDevice. Internal parts of the device and of each object count
    /// separately.
    pub fn count(&self) -> usize {
        self.0.strong_count()
    }
}

/// The parts of a device that are made differently for own and for wrapped devices.
pub(crate) struct Parts {
    pub(crate) raw: Arc<RawDevice>,
    pub(crate) physical: PhysicalDevice,
    pub(crate) queue: Option<Queue>,
    pub(crate) queue_family: u32,
    pub(crate) enabled: Features,
}

/// The limits and features of `physical` under `cap`, and the shortfalls of `cap`.
fn capped(physical: &PhysicalDevice, cap: &CapabilityCap) -> (Capabilities, Vec<Shortfall>) {
    let (capabilities, shortfalls) = physical.capped(cap);
    for shortfall in &shortfalls {
        log::warn!("{}: the cap states {shortfall}", physical.info().name);
    }
    (capabilities, shortfalls)
}

/// The version of Vulkan to use with `physical` under the cap.
pub(crate) fn usable_version(physical: &PhysicalDevice, desc: &DeviceDesc) -> u32 {
    let version = desc.cap.api_version().map_or(u32::MAX, packed_version);
    physical.usable_version().min(version)
}

fn create(
    physical: &PhysicalDevice,
    family: u32,
    version: u32,
    enablement: &mut Enablement,
) -> Result<RawDevice> {
    let extensions: Vec<_> =
        enablement.extensions.iter().map(|extension| extension.as_ptr()).collect();
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(family)
        .queue_priorities(&priorities)];
    let mut features = enablement.chain();
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut features);
    let mut device = vk::Device::null();
    let instance = &physical.instance;
    let create = instance.table.core().fp_v1_0().create_device;
    // SAFETY: the physical device belongs to the instance, which is alive; the extensions and features
    // were seen to be offered; what `info` points to outlives the call.
    let result =
        unsafe { create(physical.handle, &raw const info, std::ptr::null(), &raw mut device) };
    if result != vk::Result::SUCCESS {
        return Err(Error::from_vk("vkCreateDevice", result));
    }
    let core_timeline = version >= vk::API_VERSION_1_2;
    let table = instance.table.load_device(device, core_timeline, instance.debug_utils);
    let raw = RawDevice::new(table, Arc::clone(instance), true);
    raw.set_name(device, "dml device");
    Ok(raw)
}
