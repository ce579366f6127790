//! Types of the interface from DirectML, Vulkan and Windows, and the handles.
//!
//! DirectML's structs come from `dml_core::c_layout`, and its operator descriptors from the schema; the header
//! `directml_types.h` has both. It also has the types that are declared here, except the handles.
#![allow(non_camel_case_types, non_snake_case, reason = "the names are DirectML's and Vulkan's")]

use dml::ash::vk;

pub use dml::core::c_layout::*;

/// A result code of Windows: negative is a failure.
pub type HRESULT = i32;
/// The number of a feature level, such as 0x5100; 0 if no level is stated.
pub type DML_FEATURE_LEVEL = u32;
/// The kind of query of [`crate::dmlvk_check_feature_support`].
pub type DML_FEATURE = u32;
/// DML_EXECUTION_FLAGS.
pub type DML_EXECUTION_FLAGS = u32;

/// The descriptors and resources that an operator needs in addition to its tensors.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DML_BINDING_PROPERTIES {
    /// The number of descriptors.
    pub RequiredDescriptorCount: u32,
    /// The size of the temporary resource in bytes; 0 if it is not needed.
    pub TemporaryResourceSize: u64,
    /// The size of the persistent resource in bytes; 0 if it is not needed.
    pub PersistentResourceSize: u64,
}

/// The query DML_FEATURE_FEATURE_LEVELS.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_FEATURE_QUERY_FEATURE_LEVELS {
    /// The number of levels.
    pub RequestedFeatureLevelCount: u32,
    /// The levels.
    pub RequestedFeatureLevels: *const DML_FEATURE_LEVEL,
}

/// The answer to DML_FEATURE_FEATURE_LEVELS.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DML_FEATURE_DATA_FEATURE_LEVELS {
    /// The highest requested level that the device supports.
    pub MaxSupportedFeatureLevel: DML_FEATURE_LEVEL,
}

/// The query DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT {
    /// The type.
    pub DataType: DML_TENSOR_DATA_TYPE,
}

/// The answer to DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT {
    /// Whether any operator accepts tensors of the type.
    pub IsSupported: BOOL,
}

/// VkInstance.
pub type VkInstance = vk::Instance;
/// VkPhysicalDevice.
pub type VkPhysicalDevice = vk::PhysicalDevice;
/// VkDevice.
pub type VkDevice = vk::Device;
/// VkQueue.
pub type VkQueue = vk::Queue;
/// VkCommandBuffer.
pub type VkCommandBuffer = vk::CommandBuffer;
/// VkBuffer.
pub type VkBuffer = vk::Buffer;
/// VkSemaphore.
pub type VkSemaphore = vk::Semaphore;
/// vkGetInstanceProcAddr; may be null.
pub type PFN_vkGetInstanceProcAddr = Option<vk::PFN_vkGetInstanceProcAddr>;

/// Locks or unlocks a queue that the caller shares; called with `queue_lock_data`.
pub type DmlVkQueueCallback = Option<unsafe extern "C" fn(data: *mut std::ffi::c_void)>;

/// Whether results have the same bits on every device: DMLVK_NUMERICS_*.
pub type DmlVkNumerics = u32;

/// The opaque type of device handles. A handle is never dereferenced.
#[derive(Debug)]
pub struct DmlVkDevice_T(());
/// The opaque type of operator handles. A handle is never dereferenced.
#[derive(Debug)]
pub struct DmlVkOperator_T(());
/// The opaque type of buffer handles. A handle is never dereferenced.
#[derive(Debug)]
pub struct DmlVkBuffer_T(());
/// The opaque type of binding table handles. A handle is never dereferenced.
#[derive(Debug)]
pub struct DmlVkBindingTable_T(());
/// The opaque type of submission handles. A handle is never dereferenced.
#[derive(Debug)]
pub struct DmlVkSubmission_T(());

/// A device: created or wrapped.
pub type DmlVkDevice = *mut DmlVkDevice_T;
/// A compiled operator.
pub type DmlVkOperator = *mut DmlVkOperator_T;
/// A buffer: created or wrapped.
pub type DmlVkBuffer = *mut DmlVkBuffer_T;
/// An operator with its buffers, ready to be recorded.
pub type DmlVkBindingTable = *mut DmlVkBindingTable_T;
/// Work that was submitted.
pub type DmlVkSubmission = *mut DmlVkSubmission_T;
