//! `diagonal_merge.comp`: writes every element of a tensor, the value in a band of diagonals and an
//! input's element elsewhere, and no byte between the elements of a strided tensor.

use dml_core::host::{HostDispatch, HostError};

use super::band::in_band;
use super::dispatch::for_each_run;
use super::element::{load, store};
use super::matrices::{Matrices, offset_of};
use super::push::push_constants;
use crate::ElementWidth;

push_constants! {
    @patched base_word at BASE_WORD_AT, input_word at INPUT_WORD_AT, constants_word at CONSTANTS_WORD_AT;
    /// Words from the start of the descriptor to the output window's first byte.
    base_word: u32,
    /// Words from the start of the second descriptor to the input window's first byte.
    input_word: u32,
    /// Words from the start of the third descriptor to [`Constants`].
    constants_word: u32,
    /// The first group of this dispatch, if several dispatches share the work.
    first_group: u32,
    /// The number of elements, at least 1.
    count: u32,
    /// The output's elements and the value.
    matrices: Matrices,
    /// The input's first element, counted from its window's first word.
    input_start: u32,
    /// The first diagonal of the band, counted from the bottom left corner.
    band_begin: u32,
    /// The number of diagonals in the band, which may wrap from 2^32 - 1 to 0; 0 if no element gets the value.
    band_length: u32,
}

/// Strides of both tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// The output's strides in elements: batches, rows, columns.
    pub output_strides: [u32; 4],
    /// The input's strides in elements, in the same order.
    pub input_strides: [u32; 4],
}

impl Constants {
    /// The bytes of the constant block.
    pub fn to_bytes(&self) -> Vec<u8> {
        let strides = self.output_strides.iter().chain(&self.input_strides);
        strides.flat_map(|word| word.to_le_bytes()).collect()
    }
}

const CONSTANTS: usize = 2;
const OUTPUT_STRIDES: u32 = 0;
const INPUT_STRIDES: u32 = 4;

element_widths!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, element_width: ElementWidth) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_run(dispatch, push.first_group, push.count, |dispatch, run| {
        let matrices = push.matrices;
        let input_strides = strides_at(dispatch, &push, INPUT_STRIDES)?;
        let output_strides = strides_at(dispatch, &push, OUTPUT_STRIDES)?;
        for at in matrices.coordinates_of(run, matrices.width) {
            let [_, _, y, x] = at;
            let pattern = if in_band(matrices.height, y, x, push.band_begin, push.band_length) {
                matrices.value()
            } else {
                let element = push.input_start.wrapping_add(offset_of(at, input_strides));
                load(dispatch, element_width, push.input_word, element)?
            };
            let element = matrices.start.wrapping_add(offset_of(at, output_strides));
            store(dispatch, element_width, push.base_word, element, pattern)?;
        }
        Ok(())
    })
}

fn strides_at(
    dispatch: &mut HostDispatch<'_>,
    push: &PushConstants,
    offset: u32,
) -> Result<[u32; 4], HostError> {
    let mut strides = [0; 4];
    for (at, stride) in (offset..).zip(&mut strides) {
        *stride = dispatch.load(CONSTANTS, push.constants_word.wrapping_add(at))?;
    }
    Ok(strides)
}
