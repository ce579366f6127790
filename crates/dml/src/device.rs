//! The device: opened at a feature level, it compiles and executes operators.

mod compile;
mod execute;
mod transfer;

use std::num::NonZeroUsize;

use dml_core::plan::WorkBound;
use dml_core::{Capabilities, CapabilityCap, FeatureLevel, Numerics, Tuning};
use dml_vk::{
    Buffer, BufferDesc, BufferUsage, DeviceDesc, DeviceSelector, DeviceType, Instance,
    InstanceDesc, MemoryLocation, PhysicalDevice, QueueChoice,
};

pub use crate::device::execute::Initialization;
use crate::error::{Error, Result};
use crate::pipeline_cache::PipelineCache;

/// How to open a [`Device`].
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    /// The feature level of the device: operators and types above it are refused. The default is the
    /// highest.
    pub feature_level: FeatureLevel,
    /// DirectML's minimum feature level: opening fails if `feature_level` is lower. The default is no
    /// minimum.
    pub minimum_feature_level: Option<FeatureLevel>,
    /// Whether sums of products have the same bits on every device, or may differ and be faster. The default is
    /// [`Numerics::Exact`].
    pub numerics: Numerics,
    /// A cap on the device's features and limits. The default, `None`, is the profile in the environment
    /// variable `DML_PROFILE`, or no cap if it is not set.
    pub cap: Option<CapabilityCap>,
    /// The folder for compiled pipelines. The default is the environment variable `DML_PIPELINE_CACHE`, or
    /// the user's cache folder if it is not set.
    pub pipeline_cache: PipelineCache,
    /// Whether the device keeps accesses of defective kernels within the bound ranges (robustBufferAccess),
    /// which costs time on some GPUs. The default, `None`, is the environment variable `DML_ROBUST_ACCESS`,
    /// `on` or `off`, or on if it is not set.
    pub robust_access: Option<bool>,
    /// Whether the host never touches device memory directly, so that every transfer goes through a staging
    /// buffer, as on most discrete GPUs: for tests on CPU drivers and integrated GPUs. The default, `None`,
    /// is the environment variable `DML_STAGED_TRANSFERS`, `on` or `off`. It is off if the variable is not
    /// set, or if the cap leaves buffers without transfer usage.
    #[cfg(feature = "testing")]
    pub staged_transfers: Option<bool>,
    /// The number of threads that make the pipelines of one operator or graph. The default, `None`, is one
    /// for each core of the host.
    pub compile_threads: Option<NonZeroUsize>,
    /// The most work that the device is given at one time, so that no watchdog resets it and a desktop that it
    /// draws goes on. `None`, the default, is the value of the environment variable `DML_WORK_BOUND`, the operations
    /// of a dispatch or `off`; without it the estimate for the [type of the device](dml_vk::DeviceType::work_bound).
    pub work_bound: Option<WorkBound>,
    /// The queue family to use. The default is one that only computes, if there is one.
    pub queue: QueueChoice,
    /// The physical device to open. The default is the best one.
    pub selector: DeviceSelector,
    /// The Vulkan instance to create.
    pub instance: InstanceDesc,
}

/// A Vulkan device that accepts the operators, types and dimension counts of its feature level.
///
/// A cheap handle: clones share the device.
#[derive(Clone, Debug)]
pub struct Device {
    vulkan: dml_vk::Device,
    feature_level: FeatureLevel,
    tuning: Tuning,
}

impl Device {
    /// Opens the best device of this machine at `feature_level`.
    ///
    /// # Errors
    /// [`Error::Vulkan`]: there is no loader or no usable device, with a hint what to install; or the
    /// driver failed.
    pub fn open(feature_level: FeatureLevel) -> Result<Self> {
        Self::open_with(&DeviceOptions { feature_level, ..DeviceOptions::default() })
    }

    /// Opens a device with `options`.
    ///
    /// # Errors
    /// As [`Device::open`] and [`Device::on_with`], and if the selector matches no device or several.
    pub fn open_with(options: &DeviceOptions) -> Result<Self> {
        let options = options.resolved()?;
        let instance = Instance::new(&options.instance)?;
        Self::on_with(&instance.select(&options.selector)?, &options)
    }

    /// Opens `physical_device` at `feature_level`.
    ///
    /// # Errors
    /// [`Error::Vulkan`]: the device lacks a required feature or limit, or its driver failed.
    pub fn on(physical_device: &PhysicalDevice, feature_level: FeatureLevel) -> Result<Self> {
        Self::on_with(physical_device, &DeviceOptions { feature_level, ..DeviceOptions::default() })
    }

    /// Opens `physical_device` with `options`, except their selector and instance. A cap on the version
    /// of Vulkan needs an instance made for it, see [`DeviceOptions::resolved`].
    ///
    /// # Errors
    /// As [`Device::on`]; [`Error::MinimumFeatureLevel`]: the minimum cannot be met;
    /// [`Error::Profile`]: the profile in the environment is invalid.
    pub fn on_with(physical_device: &PhysicalDevice, options: &DeviceOptions) -> Result<Self> {
        check_minimum(options)?;
        let resolved = options.resolved()?;
        #[allow(clippy::needless_update, reason = "dml-vk may have its feature `testing` alone")]
        let desc = DeviceDesc {
            cap: resolved.cap.unwrap_or_default(),
            pipeline_cache: resolved.pipeline_cache.folder(),
            compile_threads: options.compile_threads,
            work_bound: resolved.work_bound,
            queue: options.queue,
            without_robust_access: resolved.robust_access == Some(false),
            #[cfg(feature = "testing")]
            always_stage: resolved.staged_transfers == Some(true),
            ..DeviceDesc::default()
        };
        Self::from_vulkan(dml_vk::Device::with_desc(physical_device, &desc)?, options)
    }

    /// Uses an existing Vulkan device: one that was wrapped with [`dml_vk::Device::from_raw`], or created
    /// with a [`dml_vk::DeviceDesc`]. Of `options` only the feature levels and the numerics are used; a cap
    /// is part of the device.
    ///
    /// A device that was wrapped without a queue compiles operators and records them with
    /// [`dml_vk::record_plan`]; functions that submit work fail.
    ///
    /// # Errors
    /// [`Error::MinimumFeatureLevel`]: the minimum cannot be met.
    pub fn from_vulkan(vulkan: dml_vk::Device, options: &DeviceOptions) -> Result<Self> {
        check_minimum(options)?;
        let tuning = tuning_for(vulkan.info().device_type)
            .with_numerics(options.numerics)
            .with_dispatch_bound(vulkan.work_bound().dispatch);
        Ok(Self { vulkan, feature_level: options.feature_level, tuning })
    }

    /// This device at another feature level.
    pub fn at_feature_level(&self, feature_level: FeatureLevel) -> Self {
        Self { feature_level, ..self.clone() }
    }

    /// This device with another tuning, but for its [`Numerics`], which only [`DeviceOptions::numerics`] chooses. No
    /// tuning affects results, except [`dml_core::Strategy::CooperativeMatrices`]. Batches keep the device's [work
    /// bound](dml_vk::Device::work_bound).
    pub fn with_tuning(&self, tuning: Tuning) -> Self {
        Self { tuning: tuning.with_numerics(self.tuning.numerics), ..self.clone() }
    }

    /// The device's tuning.
    pub fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// Whether results may differ between devices for speed.
    pub fn numerics(&self) -> Numerics {
        self.tuning.numerics
    }

    /// The level that the device was created at.
    pub fn feature_level(&self) -> FeatureLevel {
        self.feature_level
    }

    /// The capabilities that kernels may use: the limits under the device's cap, and the enabled features.
    /// [`Device::offered`] gives all features that the device supports.
    pub fn capabilities(&self) -> &Capabilities {
        self.vulkan.capabilities()
    }

    /// The Vulkan device, for recording with [`crate::vk`].
    pub fn vulkan(&self) -> &dml_vk::Device {
        &self.vulkan
    }

    /// Creates a buffer of `size` bytes in device memory that can be bound to any operator and read
    /// back.
    ///
    /// # Errors
    /// [`Error::Vulkan`]: the size is 0 or beyond a limit of the device, or memory ran out.
    pub fn create_buffer(&self, size: u64) -> Result<Buffer> {
        Ok(self.vulkan.create_buffer(&BufferDesc {
            size,
            usage: BufferUsage::all(),
            location: MemoryLocation::Device,
            name: "buffer",
        })?)
    }
}

/// The default tuning of devices of this type.
///
/// CPU drivers and one GPU were measured (docs/benchmarks/h100.md). On that GPU each region of a copy is a separate
/// command, and tiles in shared memory are faster; other GPUs are assumed to be alike.
pub fn tuning_for(device_type: DeviceType) -> Tuning {
    let tuning = Tuning::new().with_dispatch_bound(device_type.work_bound().dispatch);
    match device_type {
        DeviceType::Cpu => tuning,
        // On GPUs even one large region takes longer than a kernel.
        _ => tuning.with_most_regions(0).with_shared_tiles(),
    }
}

fn check_minimum(options: &DeviceOptions) -> Result<()> {
    let created_at = options.feature_level;
    match options
        .minimum_feature_level
        .filter(|minimum_feature_level| *minimum_feature_level > created_at)
    {
        Some(minimum) => Err(Error::MinimumFeatureLevel { minimum, created_at }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpu_drivers_copy_regions_and_do_without_shared_tiles() {
        assert_eq!(tuning_for(DeviceType::Cpu), Tuning::new());
        let gpus = [DeviceType::Discrete, DeviceType::Integrated, DeviceType::Virtual];
        for tuning in gpus.map(tuning_for) {
            assert_eq!((tuning.most_regions, tuning.shared_tiles), (0, true));
        }
    }
}
