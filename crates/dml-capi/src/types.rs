//! The types of the interface that are DirectML's, Vulkan's or Windows', and the handles.
//!
//! DirectML's own come from `dml_core::c_layout`, and its descriptors of operators from the schema; the header
//! has both in `directml_types.h`. What is declared here beside the handles is in that header as well.
#![allow(non_camel_case_types, non_snake_case, reason = "the names are DirectML's and Vulkan's")]

use dml::ash::vk;

pub use dml::core::c_layout::*;

/// A result code of Windows: negative is a failure.
pub type HRESULT = i32;
/// The number of a feature level, such as 0x5100; 0 where none is stated.
pub type DML_FEATURE_LEVEL = u32;
/// Which question [`crate::dmlvk_check_feature_support`] answers.
pub type DML_FEATURE = u32;
/// DML_EXECUTION_FLAGS.
pub type DML_EXECUTION_FLAGS = u32;

/// What binding an operator takes beside its tensors.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DML_BINDING_PROPERTIES {
    /// Descriptors.
    pub RequiredDescriptorCount: u32,
    /// Bytes; 0 where none is needed.
    pub TemporaryResourceSize: u64,
    /// Bytes; 0 where none is needed.
    pub PersistentResourceSize: u64,
}

/// The question DML_FEATURE_FEATURE_LEVELS.
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
    /// The highest of those asked for that the device supports.
    pub MaxSupportedFeatureLevel: DML_FEATURE_LEVEL,
}

/// The question DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT.
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
    /// Whether any operator takes tensors of the type.
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
/// vkGetInstanceProcAddr; null where there is none.
pub type PFN_vkGetInstanceProcAddr = Option<vk::PFN_vkGetInstanceProcAddr>;

/// Locks or unlocks a queue that the caller shares; called with `queue_lock_data`.
pub type DmlVkQueueCallback = Option<unsafe extern "C" fn(data: *mut std::ffi::c_void)>;

/// Whether results are the same bits on every device: DMLVK_NUMERICS_*.
pub type DmlVkNumerics = u32;

/// What a device handle points to as far as C is concerned. Nothing lies there.
#[derive(Debug)]
pub struct DmlVkDevice_T(());
/// What an operator handle points to as far as C is concerned. Nothing lies there.
#[derive(Debug)]
pub struct DmlVkOperator_T(());
/// What a buffer handle points to as far as C is concerned. Nothing lies there.
#[derive(Debug)]
pub struct DmlVkBuffer_T(());
/// What a binding table's handle points to as far as C is concerned. Nothing lies there.
#[derive(Debug)]
pub struct DmlVkBindingTable_T(());
/// What a submission's handle points to as far as C is concerned. Nothing lies there.
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
