//! The contract of a caller's own barriers around an operator.

use ash::vk;

/// How operators touch the buffers that are bound to them, whatever the strategy.
///
/// Recording an operator places barriers between its own steps only. Whoever writes an input
/// before, or reads an output after, places a barrier with these masks: it covers every kernel and
/// every strategy of this and later versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessContract {
    /// The stages in which an operator touches memory.
    pub stages: vk::PipelineStageFlags,
    /// How it touches inputs.
    pub inputs: vk::AccessFlags,
    /// How it touches outputs.
    pub outputs: vk::AccessFlags,
    /// How it touches temporary and persistent resources.
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
