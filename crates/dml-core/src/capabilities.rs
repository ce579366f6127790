//! Features and limits of a Vulkan device as plain data: the device-dependent input of lowering.
//!
//! A device *offers* (supports) features and *enables* some of them. [`Features`] is a set of either kind; the
//! function that returns a [`Capabilities`] states which. A [`CapabilityCap`] lowers both.

mod cap;
mod feature;
mod float_modes;
mod limit;
mod spirv;
mod table;
mod version;
mod work_group;

pub use cap::{CapResult, CapabilityCap, Shortfall};
pub use feature::{Enabling, Extension, Feature, Features, SpirvCapability};
pub use float_modes::with_float_modes;
pub use limit::Limit;
pub use spirv::{UnknownNeed, required_features};
pub use version::ApiVersion;
pub use work_group::{WorkGroup, work_group};

/// The least number of storage buffers of a kernel that a device must support
/// (maxPerStageDescriptorStorageBuffers). Vulkan guarantees 4, which is not enough for a kernel with four inputs;
/// SwiftShader has 30, lavapipe 32.
pub const REQUIRED_STORAGE_BUFFERS: u32 = 8;

/// Limits of a device, under Vulkan's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// maxStorageBufferRange: the most bytes of a storage buffer descriptor.
    pub max_storage_buffer_range: u64,
    /// minStorageBufferOffsetAlignment: a power of two, at most 256.
    pub min_storage_buffer_offset_alignment: u64,
    /// maxUniformBufferRange: the most bytes of a uniform block.
    pub max_uniform_buffer_range: u64,
    /// minUniformBufferOffsetAlignment: a power of two, at most 256.
    pub min_uniform_buffer_offset_alignment: u64,
    /// maxPerStageDescriptorStorageBuffers: the most storage buffers of a kernel.
    pub max_per_stage_descriptor_storage_buffers: u32,
    /// maxPerStageDescriptorUniformBuffers: the most uniform blocks of a kernel.
    pub max_per_stage_descriptor_uniform_buffers: u32,
    /// maxComputeWorkGroupCount.
    pub max_compute_work_group_count: [u32; 3],
    /// maxComputeWorkGroupInvocations.
    pub max_compute_work_group_invocations: u32,
    /// maxComputeWorkGroupSize.
    pub max_compute_work_group_size: [u32; 3],
    /// maxComputeSharedMemorySize: the most bytes of shared memory of a work group.
    pub max_compute_shared_memory_size: u32,
    /// subgroupSize: invocations of a subgroup, unless a kernel requires another size.
    pub subgroup_size: u32,
    /// minSubgroupSize: the least subgroup size that a kernel may require, or subgroupSize if it may not.
    pub min_subgroup_size: u32,
    /// maxSubgroupSize: the greatest subgroup size that a kernel may require, or subgroupSize if it may not.
    pub max_subgroup_size: u32,
    /// MSize, NSize and KSize of cooperative matrices: a subgroup multiplies FLOAT16 matrices of MSize x KSize
    /// and KSize x NSize, and adds the product to a FLOAT32 matrix. 0 if unsupported.
    pub cooperative_matrix_size: [u32; 3],
    /// maxPushConstantsSize.
    pub max_push_constants_size: u32,
    /// maxMemoryAllocationSize: the most bytes of an allocation.
    pub max_memory_allocation_size: u64,
    /// maxBufferSize if the device states it, else maxMemoryAllocationSize.
    pub max_buffer_size: u64,
}

/// The features and limits that lowering may rely on. The features are the enabled ones, or, for queries of a
/// device's support ([`crate::support`]), all that it offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The enabled or offered features.
    pub features: Features,
    /// The limits.
    pub limits: Limits,
}

impl Capabilities {
    /// The limits that Vulkan 1.1 guarantees, with [`Features::LEAST`] and
    /// [`REQUIRED_STORAGE_BUFFERS`]: the capabilities of every device that the runtime supports.
    pub fn vulkan_minimum() -> Self {
        Self {
            features: Features::LEAST,
            limits: Limits {
                max_storage_buffer_range: 1 << 27,
                min_storage_buffer_offset_alignment: 256,
                max_uniform_buffer_range: 16 << 10,
                min_uniform_buffer_offset_alignment: 256,
                max_per_stage_descriptor_storage_buffers: REQUIRED_STORAGE_BUFFERS,
                max_per_stage_descriptor_uniform_buffers: 12,
                max_compute_work_group_count: [65_535; 3],
                max_compute_work_group_invocations: 128,
                max_compute_work_group_size: [128, 128, 64],
                max_compute_shared_memory_size: 16 << 10,
                subgroup_size: 1,
                min_subgroup_size: 1,
                max_subgroup_size: 1,
                cooperative_matrix_size: [0; 3],
                max_push_constants_size: 128,
                max_memory_allocation_size: 1 << 30,
                max_buffer_size: 1 << 30,
            },
        }
    }
}
