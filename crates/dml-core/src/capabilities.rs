//! What a Vulkan device has, as plain data: the input of lowering that depends on the device.
//!
//! A device *offers* features and *enables* some of them. [`Features`] is a set of either kind; whoever
//! hands out a [`Capabilities`] says which. A [`CapabilityCap`] lowers both.

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

/// Storage buffers that a device must let a kernel bind (maxPerStageDescriptorStorageBuffers). Vulkan
/// guarantees 4, which is not enough for a kernel of four inputs; SwiftShader has 30, lavapipe 32.
pub const REQUIRED_STORAGE_BUFFERS: u32 = 8;

/// Limits of a device, under Vulkan's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// maxStorageBufferRange: bytes that one descriptor can show.
    pub max_storage_buffer_range: u64,
    /// minStorageBufferOffsetAlignment: a power of two, at most 256.
    pub min_storage_buffer_offset_alignment: u64,
    /// maxUniformBufferRange: bytes that a uniform block can have.
    pub max_uniform_buffer_range: u64,
    /// minUniformBufferOffsetAlignment: a power of two, at most 256.
    pub min_uniform_buffer_offset_alignment: u64,
    /// maxPerStageDescriptorStorageBuffers: storage buffers that a kernel can bind.
    pub max_per_stage_descriptor_storage_buffers: u32,
    /// maxPerStageDescriptorUniformBuffers: uniform blocks that a kernel can have.
    pub max_per_stage_descriptor_uniform_buffers: u32,
    /// maxComputeWorkGroupCount.
    pub max_compute_work_group_count: [u32; 3],
    /// maxComputeWorkGroupInvocations.
    pub max_compute_work_group_invocations: u32,
    /// maxComputeWorkGroupSize.
    pub max_compute_work_group_size: [u32; 3],
    /// maxComputeSharedMemorySize: bytes that the invocations of a work group can share.
    pub max_compute_shared_memory_size: u32,
    /// subgroupSize: invocations of a subgroup, unless a kernel asks for another size.
    pub subgroup_size: u32,
    /// minSubgroupSize: the fewest that a kernel may ask for, or subgroupSize where it may not ask.
    pub min_subgroup_size: u32,
    /// maxSubgroupSize: the most that a kernel may ask for, or subgroupSize where it may not ask.
    pub max_subgroup_size: u32,
    /// MSize, NSize and KSize of cooperative matrices: a subgroup multiplies MSize x KSize numbers of FLOAT16
    /// by KSize x NSize, and adds them to sums of FLOAT32. 0 where it cannot.
    pub cooperative_matrix_size: [u32; 3],
    /// maxPushConstantsSize.
    pub max_push_constants_size: u32,
    /// maxMemoryAllocationSize: bytes that one allocation can have.
    pub max_memory_allocation_size: u64,
    /// maxBufferSize where the device states it, else the largest allocation.
    pub max_buffer_size: u64,
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
    /// The least that Vulkan 1.1 guarantees, with [`Features::LEAST`] and
    /// [`REQUIRED_STORAGE_BUFFERS`]: what every device can do that the runtime takes.
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
