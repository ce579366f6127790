//! `diagonal_merge.comp`: writes every element of a tensor, the value in a band of diagonals and an
//! input's element elsewhere, and no byte between the elements of a strided tensor.

use dml_core::host::{HostDispatch, HostError};

use super::band::in_band;
use super::dispatch::for_each_index;
use super::element::{Pattern, load, store};
use crate::Family;

push_constants! {
    /// Words from the start of the descriptor to the output's first byte.
    base_word,
    /// Words from the start of the second descriptor to the input's first byte.
    input_word,
    /// Words from the start of the third descriptor to [`Constants`].
    constants_word,
    /// Where a dispatch split over several continues.
    first_group,
    /// All elements of the tensor, at least 1.
    count,
    /// The first diagonal of the band, counted from the bottom left corner.
    band_begin,
    /// Diagonals in the band, which may come around from 2^32 - 1 to 0; 0 where no element gets the
    /// value.
    band_length,
    /// The value's low 32 bits, zero above a narrower element.
    value_low,
    /// The value's high 32 bits, for 64-bit elements.
    value_high,
}

impl PushConstants {
    /// Byte offset of `input_word`, which is patched when buffers are bound.
    #[expect(clippy::cast_possible_truncation, reason = "at most 64 bytes")]
    pub const INPUT_WORD_AT: u32 = std::mem::offset_of!(Self, input_word) as u32;
    /// Byte offset of `constants_word`, which is patched when buffers are bound.
    #[expect(clippy::cast_possible_truncation, reason = "at most 64 bytes")]
    pub const CONSTANTS_WORD_AT: u32 = std::mem::offset_of!(Self, constants_word) as u32;
}

/// Sizes and strides of both tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Size of the inner batch dimension.
    pub size1: u32,
    /// Number of rows.
    pub height: u32,
    /// Number of columns.
    pub width: u32,
    /// The output's strides in elements: batches, rows, columns.
    pub output_strides: [u32; 4],
    /// The input's strides in elements, in the same order.
    pub input_strides: [u32; 4],
}

impl Constants {
    /// The bytes of the constant block.
    pub fn to_bytes(&self) -> Vec<u8> {
        let sizes = [self.size1, self.height, self.width];
        let strides = self.output_strides.iter().chain(&self.input_strides);
        sizes.iter().chain(strides).flat_map(|word| word.to_le_bytes()).collect()
    }
}

const CONSTANTS: usize = 2;
const SIZE1: u32 = 0;
const HEIGHT: u32 = 1;
const WIDTH: u32 = 2;
const OUTPUT_STRIDES: u32 = 3;
const INPUT_STRIDES: u32 = 7;

families!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, family: Family) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let size1 = constant(dispatch, &push, SIZE1)?;
        let height = constant(dispatch, &push, HEIGHT)?;
        let width = constant(dispatch, &push, WIDTH)?;
        let x = index % width;
        let row = index / width;
        let y = row % height;
        let batch = row / height;
        let coordinate = [batch / size1, batch % size1, y, x];

        let pattern = if in_band(height, y, x, push.band_begin, push.band_length) {
            Pattern { low: push.value_low, high: push.value_high }
        } else {
            let element = element_at(dispatch, &push, INPUT_STRIDES, coordinate)?;
            load(dispatch, family, push.input_word, element)?
        };
        let element = element_at(dispatch, &push, OUTPUT_STRIDES, coordinate)?;
        store(dispatch, family, push.base_word, element, pattern)
    })
}

fn constant(
    dispatch: &mut HostDispatch<'_>,
    push: &PushConstants,
    at: u32,
) -> Result<u32, HostError> {
    dispatch.load(CONSTANTS, push.constants_word.wrapping_add(at))
}

fn element_at(
    dispatch: &mut HostDispatch<'_>,
    push: &PushConstants,
    strides: u32,
    coordinate: [u32; 4],
) -> Result<u32, HostError> {
    (strides..).zip(coordinate).try_fold(0u32, |element, (at, index)| {
        let stride = constant(dispatch, push, at)?;
        Ok(element.wrapping_add(index.wrapping_mul(stride)))
    })
}
