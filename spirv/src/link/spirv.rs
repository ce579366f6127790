//! The few numbers of SPIR-V that the linker knows.

/// Opcodes.
pub(super) mod op {
    pub(crate) const SOURCE: u32 = 3;
    pub(crate) const SOURCE_EXTENSION: u32 = 4;
    pub(crate) const NAME: u32 = 5;
    pub(crate) const MEMBER_NAME: u32 = 6;
    pub(crate) const EXTENSION: u32 = 10;
    pub(crate) const EXT_INST_IMPORT: u32 = 11;
    pub(crate) const MEMORY_MODEL: u32 = 14;
    pub(crate) const CAPABILITY: u32 = 17;
    pub(crate) const TYPE_INT: u32 = 21;
    pub(crate) const CONSTANT: u32 = 43;
    pub(crate) const FUNCTION: u32 = 54;
    pub(crate) const FUNCTION_PARAMETER: u32 = 55;
    pub(crate) const FUNCTION_END: u32 = 56;
    pub(crate) const FUNCTION_CALL: u32 = 57;
    pub(crate) const VARIABLE: u32 = 59;
    pub(crate) const DECORATE: u32 = 71;
    pub(crate) const MEMBER_DECORATE: u32 = 72;
    pub(crate) const LABEL: u32 = 248;
    pub(crate) const RETURN: u32 = 253;
}

/// Decorations.
pub(super) mod decoration {
    pub(crate) const BUILT_IN: u32 = 11;
}

/// Built-in variables and constants.
pub(super) mod built_in {
    pub(crate) const WORKGROUP_SIZE: u32 = 25;
}

pub(super) const MAGIC: u32 = 0x0723_0203;
/// 1.3, that of Vulkan 1.1.
pub(super) const VERSION: u32 = 0x0001_0300;
