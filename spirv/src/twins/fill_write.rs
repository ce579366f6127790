//! `fill_write.comp`: writes one value to every element of a tensor, and no byte between the elements
//! of a strided one.

use dml_core::host::{HostDispatch, HostError};

use super::dispatch::for_each_index;
use super::element::{Pattern, store};
use crate::Family;

// The length of `sizes` is a literal: rustc 1.95 crashes on closures that capture an array field with
// a named one.
push_constants! {
    /// Words from the start of the descriptor to the window's first byte.
    base_word: u32,
    /// Words from the start of the second descriptor to [`Constants`].
    constants_word: u32,
    /// Where a dispatch split over several continues.
    first_group: u32,
    /// All elements, at least 1.
    count: u32,
    /// The first element, counted from the window's first word.
    start: u32,
    /// Elements in each dimension, outermost first; unused dimensions have size 1.
    sizes: [u32; 8],
    /// The value's low 32 bits, zero above a narrower element.
    value_low: u32,
    /// The value's high 32 bits, for 64-bit elements.
    value_high: u32,
}

impl PushConstants {
    /// Byte offset of `constants_word`, which is patched when buffers are bound.
    #[expect(clippy::cast_possible_truncation, reason = "at most 64 bytes")]
    pub const CONSTANTS_WORD_AT: u32 = std::mem::offset_of!(Self, constants_word) as u32;
}

/// What does not fit the push constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Distance between neighbours in each dimension, in elements.
    pub strides: [u32; DIMENSIONS],
}

impl Constants {
    /// The bytes of the constant block.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.strides.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// As many dimensions as a tensor can have.
pub const DIMENSIONS: usize = 8;

const CONSTANTS: usize = 1;

families!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, family: Family) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let mut remaining = index;
        let mut element = push.start;
        for (at, size) in (0..8).zip(push.sizes).rev() {
            let stride = dispatch.load(CONSTANTS, push.constants_word.wrapping_add(at))?;
            element = element.wrapping_add((remaining % size).wrapping_mul(stride));
            remaining /= size;
        }
        let pattern = Pattern { low: push.value_low, high: push.value_high };
        store(dispatch, family, push.base_word, element, pattern)
    })
}
