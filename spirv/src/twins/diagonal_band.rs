//! `diagonal_band.comp`: writes a value to the elements of a tensor in a band of diagonals, and
//! nothing else.

use dml_core::host::{HostDispatch, HostError};

use super::band::row_diagonal;
use super::dispatch::for_each_index;
use super::element::{Pattern, store};
use crate::Family;

push_constants! {
    /// Words from the start of the descriptor to the tensor's first byte.
    base_word,
    /// Where a dispatch split over several continues.
    first_group,
    /// Batches times `height` times `columns`, at least 1.
    count,
    /// The most elements that a row has in the band, at most `width`.
    columns,
    /// Size of the inner batch dimension.
    size1,
    /// Number of rows.
    height,
    /// Number of columns.
    width,
    /// Stride of the outer batch dimension in elements.
    stride0,
    /// Stride of the inner batch dimension in elements.
    stride1,
    /// Row stride in elements.
    stride2,
    /// Column stride in elements.
    stride3,
    /// The first diagonal of the band, counted from the bottom left corner.
    band_begin,
    /// The diagonal after the last one, at most `height + width - 1`.
    band_end,
    /// The value's low 32 bits, zero above a narrower element.
    value_low,
    /// The value's high 32 bits, for 64-bit elements.
    value_high,
}

families!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, family: Family) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let column = index % push.columns;
        let row = index / push.columns;
        let y = row % push.height;
        let batch = row / push.height;

        let diagonal = row_diagonal(push.height, y);
        let first = push.band_begin.max(diagonal).wrapping_sub(diagonal);
        let end = push.band_end.max(diagonal).wrapping_sub(diagonal).min(push.width);
        if first >= end || column >= end.wrapping_sub(first) {
            return Ok(());
        }
        let element = (batch / push.size1)
            .wrapping_mul(push.stride0)
            .wrapping_add((batch % push.size1).wrapping_mul(push.stride1))
            .wrapping_add(y.wrapping_mul(push.stride2))
            .wrapping_add(first.wrapping_add(column).wrapping_mul(push.stride3));
        let pattern = Pattern { low: push.value_low, high: push.value_high };
        store(dispatch, family, push.base_word, element, pattern)
    })
}
