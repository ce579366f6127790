//! The push constants of `kernels/element_wise.comp`.

use super::{MAX_INPUTS, OUTPUT_BINDING};
use crate::twins::PushBlock;

/// Words before the first group: the base word of each operand, patched when buffers are bound.
const BASE_WORDS: usize = MAX_INPUTS + 1;

/// What changes with a dispatch of a space: its share of the quads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushConstants {
    /// The first work group of the dispatch.
    pub first_group: u32,
    /// Quads of all rows, at least 1.
    pub count: u32,
}

/// Bytes of the push constants.
pub const PUSH_CONSTANT_BYTES: u32 = 28;
const _: () = assert!(PUSH_CONSTANT_BYTES as usize == 4 * (BASE_WORDS + 2));

impl PushConstants {
    /// Places in words.
    pub(super) const FIRST_GROUP: usize = BASE_WORDS;
    pub(super) const COUNT: usize = BASE_WORDS + 1;

    /// Byte offset of the output's base word.
    pub const OUTPUT_BASE_WORD_AT: u32 = Self::input_base_word_at(OUTPUT_BINDING);

    /// Byte offset of the base word of an input.
    pub const fn input_base_word_at(input: u32) -> u32 {
        4 * input
    }
}

impl PushBlock for PushConstants {
    fn count(&self) -> u32 {
        self.count
    }

    fn with_first_group(&self, first_group: u32) -> Self {
        Self { first_group, ..*self }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let base_words = [0; BASE_WORDS];
        let words = base_words.into_iter().chain([self.first_group, self.count]);
        words.flat_map(u32::to_le_bytes).collect()
    }
}
