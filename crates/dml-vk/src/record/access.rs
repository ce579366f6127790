//! The contract for a caller's barriers around an operator.

use ash::vk;

/// How operators access the buffers that are bound to them, with any strategy.
///
/// Recording an operator only places barriers between its own steps. A caller that writes an input before, or
/// reads an output after, records a barrier with these masks: it covers every kernel and every strategy of
/// this and later versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessContract {
    /// The stages in which an operator accesses memory.
    pub stages: vk::PipelineStageFlags,
    /// The accesses to inputs.
    pub inputs: vk::AccessFlags,
    /// The accesses to outputs.
    pub outputs: vk::AccessFlags,
    /// The accesses to temporary and persistent resources.
    pub resources: vk::AccessFlags,
}

/// The contract. It is the same for every operator.
pub fn access() -> AccessContract {
    let shader = vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE;
    AccessContract {
        stages: vk::PipelineStageFlags::TRANSFER | vk::PipelineStageFlags::COMPUTE_SHADER,
        inputs: vk::AccessFlags::TRANSFER_READ | vk::AccessFlags::SHADER_READ,
        outputs: vk::AccessFlags::TRANSFER_WRITE | shader,
        resources: vk::AccessFlags::TRANSFER_READ | vk::AccessFlags::TRANSFER_WRITE | shader,
    }
}
