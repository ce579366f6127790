//! The contract of the caller's barriers.

use crate::boundary::call;
use crate::memory::write;
use crate::types::HRESULT;

/// How operators touch the buffers that are bound to them, whatever they are made of: Vulkan's flags, for
/// vkCmdPipelineBarrier.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DmlVkAccess {
    /// VkPipelineStageFlags in which an operator touches memory.
    pub stages: u32,
    /// VkAccessFlags of inputs.
    pub inputs: u32,
    /// VkAccessFlags of outputs.
    pub outputs: u32,
    /// VkAccessFlags of temporary and persistent resources.
    pub resources: u32,
}

/// The masks for the caller's barriers around every operator.
///
/// # Safety
///
/// `masks` is null or a place for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dmlvk_get_access(masks: *mut DmlVkAccess) -> HRESULT {
    call("dmlvk_get_access", || {
        let contract = dml::vk::access();
        let answer = DmlVkAccess {
            stages: contract.stages.as_raw(),
            inputs: contract.inputs.as_raw(),
            outputs: contract.outputs.as_raw(),
            resources: contract.resources.as_raw(),
        };
        // SAFETY: the caller's promise.
        unsafe { write(masks, answer, "masks") }
    })
}
