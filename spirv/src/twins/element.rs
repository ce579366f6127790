//! `include/element.glsl` on the host.

use dml_core::host::{HostDispatch, HostError};

use crate::ElementWidth;

const WORDS: usize = 0;
const INPUT_WORDS: usize = 1;

/// The bit pattern of one element.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    pub(super) low: u32,
    pub(super) high: u32,
}

fn element_word(element_width: ElementWidth, base_word: u32, element: u32) -> u32 {
    base_word.wrapping_add(element / (32 / element_width.bits()))
}

fn element_shift(element_width: ElementWidth, element: u32) -> u32 {
    element % (32 / element_width.bits()) * element_width.bits()
}

/// Stores an element that is zero before.
pub(super) fn store_on_zero(
    dispatch: &mut HostDispatch<'_>,
    element_width: ElementWidth,
    base_word: u32,
    element: u32,
    pattern: Pattern,
) -> Result<(), HostError> {
    match element_width {
        ElementWidth::B4 | ElementWidth::B8 | ElementWidth::B16 => {
            let word = element_word(element_width, base_word, element);
            dispatch.atomic_or(WORDS, word, pattern.low << element_shift(element_width, element))
        }
        ElementWidth::B32 | ElementWidth::B64 => {
            store(dispatch, element_width, base_word, element, pattern)
        }
    }
}

/// Stores an element and leaves the other bits of its word alone.
pub(super) fn store(
    dispatch: &mut HostDispatch<'_>,
    element_width: ElementWidth,
    base_word: u32,
    element: u32,
    pattern: Pattern,
) -> Result<(), HostError> {
    match element_width {
        ElementWidth::B4 | ElementWidth::B8 | ElementWidth::B16 => {
            let mask = (1 << element_width.bits()) - 1;
            let word = element_word(element_width, base_word, element);
            let shift = element_shift(element_width, element);
            dispatch.atomic_and(WORDS, word, !(mask << shift))?;
            if pattern.low != 0 {
                dispatch.atomic_or(WORDS, word, pattern.low << shift)?;
            }
            Ok(())
        }
        ElementWidth::B32 => dispatch.store(WORDS, base_word.wrapping_add(element), pattern.low),
        ElementWidth::B64 => {
            let word = base_word.wrapping_add(element.wrapping_mul(2));
            dispatch.store(WORDS, word, pattern.low)?;
            dispatch.store(WORDS, word.wrapping_add(1), pattern.high)
        }
    }
}

/// `include/input.glsl` on the host: loads an element, with zeros above its bits.
pub(super) fn load(
    dispatch: &mut HostDispatch<'_>,
    element_width: ElementWidth,
    base_word: u32,
    element: u32,
) -> Result<Pattern, HostError> {
    match element_width {
        ElementWidth::B4 | ElementWidth::B8 | ElementWidth::B16 => {
            let mask = (1 << element_width.bits()) - 1;
            let word =
                dispatch.load(INPUT_WORDS, element_word(element_width, base_word, element))?;
            Ok(Pattern { low: word >> element_shift(element_width, element) & mask, high: 0 })
        }
        ElementWidth::B32 => {
            let low = dispatch.load(INPUT_WORDS, base_word.wrapping_add(element))?;
            Ok(Pattern { low, high: 0 })
        }
        ElementWidth::B64 => {
            let word = base_word.wrapping_add(element.wrapping_mul(2));
            let low = dispatch.load(INPUT_WORDS, word)?;
            let high = dispatch.load(INPUT_WORDS, word.wrapping_add(1))?;
            Ok(Pattern { low, high })
        }
    }
}
