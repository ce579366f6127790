//! Dense outputs with the same word everywhere, or with bytes that are part of a command.

use std::ops::Range;

use dml_core::Error;
use dml_core::kernel::Shared;
use dml_core::plan::{Fill, Slot, Step, Update, Window};
use dml_spirv::twins::fill_words::PushConstants;
use dml_spirv::{ElementWidth, kernels};

use crate::Target;
use crate::ir::low_and_high;
use crate::schedule::cost;
use crate::schedule::dispatches::Dispatches;

/// Writes the first bytes of the output, in whole words, at most [`dml_core::plan::MAX_UPDATE_BYTES`].
pub(crate) fn inline(data: Vec<u8>) -> Step {
    Step::Update(Update { slot: Slot::Output(0), offset: 0, data })
}

/// The word that repeats in a dense tensor of `value`; `None` if two words differ.
pub(crate) fn repeated(value: u64, element_width: ElementWidth) -> Option<u32> {
    let [low, high] = low_and_high(value);
    match element_width {
        ElementWidth::B4 => Some(low * 0x1111_1111),
        ElementWidth::B8 => Some(low * 0x0101_0101),
        ElementWidth::B16 => Some(low * 0x0001_0001),
        ElementWidth::B32 => Some(low),
        ElementWidth::B64 => (low == high).then_some(low),
    }
}

/// Fills `bytes` of the output. If elements cover only a part of the last word, zeros follow them.
pub(crate) fn fill(bytes: u64, pattern: u32) -> Vec<Step> {
    let slot = Slot::Output(0);
    let (whole, last) = whole_words(bytes, pattern);
    let mut steps = Vec::new();
    if whole > 0 {
        steps.push(Step::Fill(Fill { slot, range: 0..whole, pattern }));
    }
    if let Some(last) = last {
        let data = last.to_le_bytes().to_vec();
        steps.push(Step::Update(Update { slot, offset: whole, data }));
    }
    steps
}

/// As [`fill`] with dispatches, for an output without transfer usage. Errors name `operator` and `field`.
///
/// # Errors
/// As [`Dispatches::push`].
pub(crate) fn fill_by_kernel(
    (operator, field): (&'static str, &'static str),
    bytes: u64,
    pattern: u32,
    target: &Target<'_>,
) -> Result<Vec<Step>, Error> {
    let mut dispatches = Dispatches::new(operator, field, target);
    let (whole, last) = whole_words(bytes, pattern);
    for (range, count) in target.word_pieces(whole) {
        push_words(&mut dispatches, range, count, pattern)?;
    }
    if let Some(last) = last {
        push_words(&mut dispatches, whole..whole + 4, 1, last)?;
    }
    Ok(dispatches.into_steps())
}

/// The bytes that are filled with whole words, and the word after them if the elements cover a part of it.
fn whole_words(bytes: u64, pattern: u32) -> (u64, Option<u32>) {
    let part = bytes % 4;
    match pattern {
        _ if part == 0 => (bytes, None),
        // After the elements there may be zeros.
        0 => (bytes.next_multiple_of(4), None),
        _ => (bytes - part, Some(pattern & !(u32::MAX << (8 * part)))),
    }
}

fn push_words(
    dispatches: &mut Dispatches<'_>,
    range: Range<u64>,
    count: u32,
    pattern: u32,
) -> Result<(), Error> {
    let variant = Shared::Static(&kernels::FILL_WORDS_B32);
    let access = variant.bindings[0].access;
    let base_word_at = PushConstants::BASE_WORD_AT;
    let window = Window { slot: Slot::Output(0), range, access, base_word_at };
    let push = PushConstants { count, pattern, ..Default::default() };
    dispatches.push(&variant, &[window], &push, cost::of_writing(count, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_last_element_is_zero() {
        assert_eq!(whole_words(8, 0x0101_0101), (8, None));
        assert_eq!(whole_words(7, 0x0403_0201), (4, Some(0x0003_0201)));
        assert_eq!(whole_words(2, 0x0403_0201), (0, Some(0x0000_0201)));
        assert_eq!(whole_words(5, 0), (8, None));
    }
}
