//! `diagonal_band.comp`: writes a value to the elements of a tensor in a band of diagonals, and
//! nothing else.

use dml_core::host::{HostDispatch, HostError};

use super::band::row_diagonal;
use super::dispatch::for_each_index;
use super::element::store;
use super::matrices::{Matrices, offset_of};
use crate::Family;

push_constants! {
    /// Words from the start of the descriptor to the window's first byte.
    base_word: u32,
    /// Where a dispatch split over several continues.
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

families!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, family: Family) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let matrices = push.matrices;
        let [batch0, batch1, y, column] = matrices.coordinate_of(index, push.columns);

        let diagonal = row_diagonal(matrices.height, y);
        let first = push.band_begin.max(diagonal).wrapping_sub(diagonal);
        let end = push.band_end.max(diagonal).wrapping_sub(diagonal).min(matrices.width);
        if first >= end || column >= end.wrapping_sub(first) {
            return Ok(());
        }
        let at = [batch0, batch1, y, first.wrapping_add(column)];
        let element = matrices.start.wrapping_add(offset_of(at, push.strides));
        store(dispatch, family, push.base_word, element, matrices.value())
    })
}
