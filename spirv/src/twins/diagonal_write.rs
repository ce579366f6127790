//! `diagonal_write.comp`: writes every element of a tensor, the value in a band of
//! diagonals and zero elsewhere, and no byte between the elements of a strided tensor.

use dml_core::host::{HostDispatch, HostError};

use super::band::in_band;
use super::dispatch::for_each_run;
use super::element::{Pattern, store};
use super::matrices::{Matrices, offset_of};
use super::push::push_constants;
use crate::ElementWidth;

push_constants! {
    @patched base_word at BASE_WORD_AT;
    /// Words from the start of the descriptor to the window's first byte.
    base_word: u32,
    /// The first group of this dispatch, if several dispatches share the work.
    first_group: u32,
    /// The number of elements, at least 1.
    count: u32,
    /// The elements and the value.
    matrices: Matrices,
    /// Strides in elements: batches, rows, columns.
    strides: [u32; 4],
    /// The first diagonal of the band, counted from the bottom left corner.
    band_begin: u32,
    /// The number of diagonals in the band, which may wrap from 2^32 - 1 to 0; 0 if no element gets the value.
    band_length: u32,
}

element_widths!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, element_width: ElementWidth) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_run(dispatch, push.first_group, push.count, |dispatch, run| {
        let matrices = push.matrices;
        for at in matrices.coordinates_of(run, matrices.width) {
            let [_, _, y, x] = at;
            let pattern = if in_band(matrices.height, y, x, push.band_begin, push.band_length) {
                matrices.value()
            } else {
                Pattern { low: 0, high: 0 }
            };
            let element = matrices.start.wrapping_add(offset_of(at, push.strides));
            store(dispatch, element_width, push.base_word, element, pattern)?;
        }
        Ok(())
    })
}
