//! What a Vulkan device has, as plain data: the input of lowering that depends on the device.
//!
//! A device *offers* features and *enables* some of them. [`Features`] is a set of either kind; whoever
//! hands out a [`Capabilities`] says which. A [`CapabilityCap`] lowers both.

mod cap;
mod limit;
mod version;

pub use cap::{CapabilityCap, Capped, Shortfall};
pub use limit::Limit;
pub use version::ApiVersion;

use crate::plan::kernel::Feature;

/// Limits of a device, under Vulkan's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// maxStorageBufferRange: bytes that one descriptor can show.
    pub max_storage_buffer_range: u64,
    /// minStorageBufferOffsetAlignment: a power of two, at most 256.
    pub min_storage_buffer_offset_alignment: u64,
    /// maxComputeWorkGroupCount.
    pub max_compute_work_group_count: [u32; 3],
    /// maxComputeWorkGroupInvocations.
    pub max_compute_work_group_invocations: u32,
    /// maxComputeWorkGroupSize.
    pub max_compute_work_group_size: [u32; 3],
    /// maxPushConstantsSize.
    pub max_push_constants_size: u32,
    /// maxMemoryAllocationSize: bytes that one allocation can have.
    pub max_memory_allocation_size: u64,
    /// maxBufferSize where the device states it, else the largest allocation.
    pub max_buffer_size: u64,
}

/// A set of optional features: what a device offers, or what of it is enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `shaderInt8`
    pub shader_int8: bool,
    /// `shaderInt16`
    pub shader_int16: bool,
    /// `shaderInt64`
    pub shader_int64: bool,
    /// `shaderFloat16`
    pub shader_float16: bool,
    /// `shaderFloat64`
    pub shader_float64: bool,
    /// `storageBuffer8BitAccess`
    pub storage_buffer_8bit_access: bool,
    /// `storageBuffer16BitAccess`
    pub storage_buffer_16bit_access: bool,
    /// `bufferDeviceAddress`
    pub buffer_device_address: bool,
}

impl Features {
    /// No feature.
    pub const NONE: Self = Self {
        shader_int8: false,
        shader_int16: false,
        shader_int64: false,
        shader_float16: false,
        shader_float64: false,
        storage_buffer_8bit_access: false,
        storage_buffer_16bit_access: false,
        buffer_device_address: false,
    };

    /// Whether `feature` is there.
    pub fn has(&self, feature: Feature) -> bool {
        match feature {
            Feature::ShaderInt8 => self.shader_int8,
            Feature::ShaderInt16 => self.shader_int16,
            Feature::ShaderInt64 => self.shader_int64,
            Feature::ShaderFloat16 => self.shader_float16,
            Feature::ShaderFloat64 => self.shader_float64,
            Feature::StorageBuffer8BitAccess => self.storage_buffer_8bit_access,
            Feature::StorageBuffer16BitAccess => self.storage_buffer_16bit_access,
            Feature::BufferDeviceAddress => self.buffer_device_address,
        }
    }

    /// The set with `feature`, or without it.
    #[must_use]
    pub fn with(mut self, feature: Feature, is_there: bool) -> Self {
        let member = match feature {
            Feature::ShaderInt8 => &mut self.shader_int8,
            Feature::ShaderInt16 => &mut self.shader_int16,
            Feature::ShaderInt64 => &mut self.shader_int64,
            Feature::ShaderFloat16 => &mut self.shader_float16,
            Feature::ShaderFloat64 => &mut self.shader_float64,
            Feature::StorageBuffer8BitAccess => &mut self.storage_buffer_8bit_access,
            Feature::StorageBuffer16BitAccess => &mut self.storage_buffer_16bit_access,
            Feature::BufferDeviceAddress => &mut self.buffer_device_address,
        };
        *member = is_there;
        self
    }

    /// Every feature that is there, in the order of [`Feature::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(|feature| self.has(*feature))
    }
}

/// What lowering may rely on: limits, and the features that are enabled. For the question what a
/// device could do ([`crate::support`]) the features are those that it offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Features.
    pub features: Features,
    /// Limits.
    pub limits: Limits,
}

impl Capabilities {
    /// The least that Vulkan 1.1 guarantees, with no optional feature: what every device can do.
    pub fn vulkan_minimum() -> Self {
        Self {
            features: Features::default(),
            limits: Limits {
                max_storage_buffer_range: 1 << 27,
                min_storage_buffer_offset_alignment: 256,
                max_compute_work_group_count: [65_535; 3],
                max_compute_work_group_invocations: 128,
                max_compute_work_group_size: [128, 128, 64],
                max_push_constants_size: 128,
                max_memory_allocation_size: 1 << 30,
                max_buffer_size: 1 << 30,
            },
        }
    }
}
