//! `fill_write.comp`: writes one value to every element of a tensor, and no byte between the elements
//! of a strided one.

use dml_core::host::{HostDispatch, HostError};

use super::dispatch::for_each_index;
use super::element::{Pattern, store};
use crate::Family;

push_constants! {
    /// Words from the start of the descriptor to the tensor's first byte.
    base_word,
    /// Words from the start of the second descriptor to [`Constants`].
    constants_word,
    /// Where a dispatch split over several continues.
    first_group,
    /// All elements of the tensor, at least 1.
    count,
    /// The value's low 32 bits, zero above a narrower element.
    value_low,
    /// The value's high 32 bits, for 64-bit elements.
    value_high,
}

impl PushConstants {
    /// Byte offset of `constants_word`, which is patched when buffers are bound.
    #[expect(clippy::cast_possible_truncation, reason = "at most 64 bytes")]
    pub const CONSTANTS_WORD_AT: u32 = std::mem::offset_of!(Self, constants_word) as u32;
}

/// The dimensions of the tensor, outermost first; unused ones have size 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Elements in each dimension.
    pub sizes: [u32; DIMENSIONS],
    /// Distance between neighbours in each dimension, in elements.
    pub strides: [u32; DIMENSIONS],
}

impl Constants {
    /// The bytes of the constant block.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.sizes.iter().chain(&self.strides).flat_map(|word| word.to_le_bytes()).collect()
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
        let mut element = 0u32;
        for inner in 0..8 {
            let at = push.constants_word + 7 - inner;
            let size = dispatch.load(CONSTANTS, at)?;
            let stride = dispatch.load(CONSTANTS, at + 8)?;
            element = element.wrapping_add((remaining % size).wrapping_mul(stride));
            remaining /= size;
        }
        let pattern = Pattern { low: push.value_low, high: push.value_high };
        store(dispatch, family, push.base_word, element, pattern)
    })
}
