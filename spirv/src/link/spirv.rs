//! The numbers of SPIR-V that the linker uses.

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

/// Capabilities.
mod capability {
    pub(super) const INT64: u32 = 11;
    pub(super) const INT16: u32 = 22;
    pub(super) const INT8: u32 = 39;
    pub(super) const STORAGE_BUFFER_16_BIT_ACCESS: u32 = 4433;
    pub(super) const STORAGE_BUFFER_8_BIT_ACCESS: u32 = 4448;
    pub(super) const UNIFORM_AND_STORAGE_BUFFER_8_BIT_ACCESS: u32 = 4449;
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
/// The version 1.3, which Vulkan 1.1 supports.
pub(super) const VERSION: u32 = 0x0001_0300;

/// The capabilities and extensions for integer types, each with their bits. A module may declare them for functions
/// that are not linked.
const OF_INTEGERS: [(u32, u32); 6] = [
    (capability::INT64, 64),
    (capability::INT16, 16),
    (capability::INT8, 8),
    (capability::STORAGE_BUFFER_16_BIT_ACCESS, 16),
    (capability::STORAGE_BUFFER_8_BIT_ACCESS, 8),
    (capability::UNIFORM_AND_STORAGE_BUFFER_8_BIT_ACCESS, 8),
];
const EXTENSIONS_OF_INTEGERS: [(&str, u32); 2] =
    [("SPV_KHR_8bit_storage", 8), ("SPV_KHR_16bit_storage", 16)];

/// Whether a kernel whose integers have these widths needs the capability or the extension that an instruction
/// declares.
pub(super) fn is_needed(words: &[u32], widths: &[u32]) -> bool {
    let found = match words[0] & 0xffff {
        op::CAPABILITY => OF_INTEGERS.iter().find(|(code, _)| *code == words[1]).map(|it| it.1),
        _ => {
            let name: Vec<u8> = words[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
            let is_its = |it: &&(&str, u32)| name.starts_with(it.0.as_bytes());
            EXTENSIONS_OF_INTEGERS.iter().find(is_its).map(|it| it.1)
        }
    };
    found.is_none_or(|width| widths.contains(&width))
}

/// The first word of an instruction of so many words.
#[expect(clippy::cast_possible_truncation, reason = "a program has fewer calls than 2^16")]
pub(super) fn instruction(opcode: u32, words: usize) -> u32 {
    opcode | (words as u32) << 16
}
