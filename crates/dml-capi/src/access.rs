//! The stages and accesses for the caller's barriers.

use crate::boundary::call;
use crate::memory::write;
use crate::types::HRESULT;

/// Pipeline stages and accesses of operators to the buffers that are bound to them, as Vulkan's flags for
/// vkCmdPipelineBarrier. They cover every operator.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DmlVkAccess {
    /// VkPipelineStageFlags in which an operator accesses memory.
    pub stages: u32,
    /// VkAccessFlags of inputs.
    pub inputs: u32,
    /// VkAccessFlags of outputs.
    pub outputs: u32,
    /// VkAccessFlags of temporary and persistent resources.
    pub resources: u32,
}

/// Gives the stage and access masks for the caller's barriers before and after any operator.
///
/// # Safety
///
/// `masks` is null or points to memory for them.
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
