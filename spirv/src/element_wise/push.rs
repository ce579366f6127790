//! `kernels/element_wise.comp`: its push constants.

use dml_core::kernel::are_same_fields;

use super::{MAX_INPUTS, OUTPUT_BINDING, SKELETONS};
use crate::twins::push::push_constants;

push_constants! {
    @patched base_words at BASE_WORDS_AT;
    /// Words from the start of each operand's descriptor to its window's first byte, the output's
    /// last.
    base_words: [u32; MAX_INPUTS + 1],
    /// Where a dispatch split over several continues.
    first_group: u32,
    /// Quads of all rows, at least 1.
    count: u32,
}

impl PushConstants {
    /// Byte offset of the base word of the n-th input.
    pub const fn base_word_at(input: u32) -> u32 {
        Self::BASE_WORDS_AT + 4 * input
    }

    /// Byte offset of the output's base word.
    pub const BASE_WORD_OF_OUTPUT_AT: u32 = Self::base_word_at(OUTPUT_BINDING);
}

// Shader and mirror agree, or nothing compiles.
const _: () = {
    let mut at = 0;
    while at < SKELETONS.len() {
        let fields = SKELETONS[at].1.interface.push_fields;
        assert!(are_same_fields(fields, PushConstants::FIELDS));
        at += 1;
    }
};
