//! The logical device: one queue, one allocator, one pipeline cache.

pub(crate) mod buffers;
pub(crate) mod commands;
pub(crate) mod enablement;
pub(crate) mod queue;
pub(crate) mod staging;
pub(crate) mod wrap;

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use ash::vk;
use dml_core::capabilities::{Capabilities, CapabilityCap, Feature, Features, Shortfall};
use dml_core::plan::WorkBound;

use crate::device::commands::CommandPools;
use crate::device::enablement::Enablement;
use crate::device::queue::Queue;
use crate::device::staging::Staging;
use crate::error::{Error, Result};
use crate::instance::info::{DeviceInfo, packed_version};
use crate::instance::physical::{PhysicalDevice, lacks_timeline};
use crate::instance::queues::QueueChoice;
use crate::instance::raw::RawDevice;
use crate::memory::allocator::{MemoryAllocator, MemoryReport};
use crate::memory::buffer::BufferUsage;
use crate::pipeline::PipelineCache;
use crate::pipeline::file::PipelineFile;

/// How to create a [`Device`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceDesc {
    /// Behave as if the host could not see memory of [`crate::MemoryLocation::Device`], so that
    /// every transfer goes through a staging buffer, as on most discrete GPUs. The default is off.
    #[cfg(feature = "testing")]
    pub always_stage: bool,
    /// Behave as a device that has less. The default changes nothing.
    pub cap: CapabilityCap,
    /// The folder in which compiled pipelines outlive the process: one file for each device and driver
    /// version, written while operators are compiled and when the device is destroyed, so that a
    /// process that is killed leaves most of them. Damaged or foreign files are ignored and replaced,
    /// several processes may use the folder at once, and what fails is only logged. Nobody else should
    /// be able to write there, as drivers trust such data. The default, `None`, keeps nothing.
    pub pipeline_cache: Option<PathBuf>,
    /// Create the device without robustBufferAccess. With it, a kernel with a defect stays inside of
    /// what is bound; without it, nothing hides such a defect, and some GPUs compute addresses faster.
    /// Of a caller's own device it decides what [`PhysicalDevice::enablement`] answers.
    pub without_robust_access: bool,
    /// On how many threads the pipelines of one operator or graph are made. The default, `None`, is one
    /// for each core of the host.
    pub compile_threads: Option<NonZeroUsize>,
    /// The most work that the device is given at one time. The default, `None`, is that of its
    /// [type](crate::DeviceType::work_bound).
    pub work_bound: Option<WorkBound>,
    /// Which family of queues to use. A caller's own device has its family already.
    pub queue: QueueChoice,
}

impl DeviceDesc {
    /// Whether no transfer may use memory of [`crate::MemoryLocation::Device`] directly.
    fn always_stages(&self) -> bool {
        #[cfg(feature = "testing")]
        let always_stages = self.always_stage;
        #[cfg(not(feature = "testing"))]
        let always_stages = false;
        always_stages
    }
}

/// A logical device.
///
/// A cheap handle, `Send + Sync`: clones share the device. One that this crate created is destroyed
/// after everything made from it; of the optional features it has those enabled that
/// [`PhysicalDevice::enablement`] lists. A caller's own device is wrapped with [`Device::from_raw`] and
/// never destroyed.
#[derive(Clone, Debug)]
pub struct Device {
    pub(crate) shared: Arc<DeviceShared>,
}

/// What the objects of a device share.
pub(crate) struct DeviceShared {
    /// A caller's device may have none.
    queue: Option<Queue>,
    queue_family: u32,
    pub(crate) commands: Arc<CommandPools>,
    pub(crate) uploads: Arc<Staging>,
    pub(crate) read_backs: Arc<Staging>,
    pub(crate) allocator: Arc<MemoryAllocator>,
    pub(crate) pipelines: PipelineCache,
    /// With the features that are enabled.
    pub(crate) capabilities: Capabilities,
    pub(crate) always_stage: bool,
    /// Whether the validation layer is known to be on.
    pub(crate) is_validated: bool,
    pub(crate) compile_threads: usize,
    pub(crate) work_bound: WorkBound,
    offered: Features,
    /// What the buffers of the device may be used for.
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
    /// [`Error::Unsupported`] where [`PhysicalDevice::unsuitable`] says why, or the error of its driver
    /// where that failed; [`Error::Unsupported`] also where the device has no timeline semaphores below
    /// the cap's version of Vulkan; [`Error::InvalidArgument`] where everything is to be staged and no
    /// buffer may have transfer usage; [`Error::OutOfMemory`], [`Error::DeviceLost`], or
    /// [`Error::Vulkan`] where the driver refuses.
    pub fn with_desc(physical: &PhysicalDevice, desc: &DeviceDesc) -> Result<Self> {
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

    /// What a created and a wrapped device have in common.
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

    /// Who the device is.
    pub fn info(&self) -> &DeviceInfo {
        self.shared.physical.info()
    }

    /// The physical device, with what it offers beyond what is enabled.
    pub fn physical(&self) -> &PhysicalDevice {
        &self.shared.physical
    }

    /// Its limits and the features that are enabled: what lowering may rely on. Under a cap these are
    /// the lowered limits.
    pub fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    /// The same limits with the features that the device offers under its cap, enabled or not.
    pub fn offered(&self) -> Capabilities {
        Capabilities {
            features: self.shared.offered,
            limits: self.shared.capabilities.limits.clone(),
        }
    }

    /// Every usage that buffers of the device may have: all, or storage alone under a cap.
    pub fn buffer_usages(&self) -> BufferUsage {
        self.shared.usages
    }

    /// What the cap states and the physical device does not have.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.shared.shortfalls
    }

    /// How many pipelines the device has made so far. A new shape of an operator makes none, as sizes
    /// and strides are no part of a pipeline.
    pub fn pipeline_count(&self) -> usize {
        self.shared.pipelines.len()
    }

    /// How much memory the device's buffers have at this moment; wrapped buffers do not count.
    pub fn memory_report(&self) -> MemoryReport {
        self.shared.allocator.report()
    }

    /// The most work that the device is given at one time. Lists are divided into batches as it says;
    /// dispatches are divided where plans are made.
    pub fn work_bound(&self) -> WorkBound {
        self.shared.work_bound
    }

    /// Waits until the device's queue has nothing to do.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the device was wrapped without a queue, [`Error::DeviceLost`],
    /// [`Error::OutOfMemory`].
    pub fn wait_idle(&self) -> Result<()> {
        self.queue()?.wait_idle()
    }

    /// Whether the device was lost. If so, every call fails with [`Error::DeviceLost`].
    pub fn is_lost(&self) -> bool {
        self.shared.raw.is_lost()
    }

    /// `ash`'s device, for calls that this crate does not make.
    ///
    /// Its functions are unsafe; it must not be used to destroy the device or anything that this
    /// crate made.
    pub fn raw(&self) -> &ash::Device {
        self.shared.raw.core()
    }

    /// The family of the device's queue.
    pub fn queue_family(&self) -> u32 {
        self.shared.queue_family
    }

    /// Calls `work` with the device's queue while nothing else uses it.
    ///
    /// `work` must not call back into this device's submissions, waits or timestamps: it would wait for
    /// itself.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the device was wrapped without a queue.
    pub fn with_queue<R>(&self, work: impl FnOnce(vk::Queue) -> R) -> Result<R> {
        Ok(self.queue()?.with(work))
    }

    /// The timeline semaphore that counts the batches of the device's submissions, to chain other work to
    /// [`crate::Submission::timeline_value`]. Others may wait on it, never signal it. `None` where
    /// the device was wrapped without a queue.
    pub fn timeline_semaphore(&self) -> Option<vk::Semaphore> {
        self.shared.queue.as_ref().map(Queue::semaphore)
    }

    /// Whether this crate created the VkDevice, and destroys it.
    pub fn is_owned(&self) -> bool {
        self.shared.raw.is_owned()
    }

    /// Tells when nothing of this device is left, even after the last handle to it is gone.
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

/// What is left of a device: it, and everything made from it.
///
/// A caller's own VkDevice must not be destroyed before [`LiveObjects::count`] is 0.
#[derive(Clone, Debug)]
pub struct LiveObjects(Weak<RawDevice>);

impl LiveObjects {
    /// How many objects still use the VkDevice. The parts of the device and of each object count one
    /// by one.
    pub fn count(&self) -> usize {
        self.0.strong_count()
    }
}

/// What is made in one way for an own device and in another for a caller's.
pub(crate) struct Parts {
    pub(crate) raw: Arc<RawDevice>,
    pub(crate) physical: PhysicalDevice,
    pub(crate) queue: Option<Queue>,
    pub(crate) queue_family: u32,
    pub(crate) enabled: Features,
}

/// What `physical` offers under `cap`, and what the cap states beyond it.
fn capped(physical: &PhysicalDevice, cap: &CapabilityCap) -> (Capabilities, Vec<Shortfall>) {
    let (capabilities, shortfalls) = physical.capped(cap);
    for shortfall in &shortfalls {
        log::warn!("{}: the cap states {shortfall}", physical.info().name);
    }
    (capabilities, shortfalls)
}

fn compile_threads(desc: &DeviceDesc) -> usize {
    let all = || std::thread::available_parallelism().ok();
    desc.compile_threads.or_else(all).map_or(1, NonZeroUsize::get)
}

/// Checks what has nothing to do with the device.
pub(crate) fn check_desc(desc: &DeviceDesc) -> Result<()> {
    if desc.always_stages() && desc.cap.no_transfer_usage() {
        return Err(Error::invalid("always_stage", "true, but no buffer has transfer usage"));
    }
    Ok(())
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
    let extensions: Vec<_> = enablement.extensions.iter().map(|it| it.as_ptr()).collect();
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
