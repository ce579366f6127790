//! `diagonal_band.comp`: writes a value to the elements of a tensor in a band of diagonals, and
//! nothing else.

use dml_core::host::{HostDispatch, HostError};

use super::band::row_diagonal;
use super::dispatch::for_each_run;
use super::element::store;
use super::matrices::{Matrices, offset_of};
use super::push::push_constants;
use crate::ElementWidth;

push_constants! {
    @patched base_word at BASE_WORD_AT;
    /// Words from the start of the descriptor to the window's first byte.
    base_word: u32,
    /// The first group of this dispatch, if several dispatches share the work.
    first_group: u32,
    /// Batches times rows times `columns`, at least 1.
    count: u32,
    /// The most elements that a row has in the band, at most its width.
    columns: u32,
    /// The elements and the value.
    matrices: Matrices,
    /// Strides in elements: batches, rows, columns.
    strides: [u32; 4],
    /// The first diagonal of the band, counted from the bottom left corner.
    band_begin: u32,
    /// The diagonal after the last one, at most `height + width - 1`.
    band_end: u32,
}

element_widths!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, element_width: ElementWidth) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_run(dispatch, push.first_group, push.count, |dispatch, run| {
        let matrices = push.matrices;
        for at in matrices.coordinates_of(run, push.columns) {
            if let Some(element) = element_in_row(&push, at) {
                store(dispatch, element_width, push.base_word, element, matrices.value())?;
            }
        }
        Ok(())
    })
}

/// The element at a column of the row's part of the band; `None` if that has fewer columns.
fn element_in_row(push: &PushConstants, [batch0, batch1, y, column]: [u32; 4]) -> Option<u32> {
    let matrices = push.matrices;
    let diagonal = row_diagonal(matrices.height, y);
    let first = push.band_begin.max(diagonal).wrapping_sub(diagonal);
    let end = push.band_end.max(diagonal).wrapping_sub(diagonal).min(matrices.width);
    if first >= end || column >= end.wrapping_sub(first) {
        return None;
    }
    let at = [batch0, batch1, y, first.wrapping_add(column)];
    Some(matrices.start.wrapping_add(offset_of(at, push.strides)))
}
