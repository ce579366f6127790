//! `diagonal_write.comp`: writes every element of a tensor, the value in a band of
//! diagonals and zero elsewhere, and no byte between the elements of a strided tensor.

use dml_core::host::{HostDispatch, HostError};

use super::band::in_band;
use super::dispatch::for_each_index;
use super::element::{Pattern, store};
use crate::Family;

push_constants! {
    /// Words from the start of the descriptor to the tensor's first byte.
    base_word,
    /// Where a dispatch split over several continues.
    first_group,
    /// All elements of the tensor, at least 1.
    count,
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
    /// Diagonals in the band, which may come around from 2^32 - 1 to 0; 0 where no element gets the
    /// value.
    band_length,
    /// The value's low 32 bits, zero above a narrower element.
    value_low,
    /// The value's high 32 bits, for 64-bit elements.
    value_high,
}

families!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, family: Family) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let x = index % push.width;
        let row = index / push.width;
        let y = row % push.height;
        let batch = row / push.height;
        let element = (batch / push.size1)
            .wrapping_mul(push.stride0)
            .wrapping_add((batch % push.size1).wrapping_mul(push.stride1))
            .wrapping_add(y.wrapping_mul(push.stride2))
            .wrapping_add(x.wrapping_mul(push.stride3));

        let pattern = if in_band(push.height, y, x, push.band_begin, push.band_length) {
            Pattern { low: push.value_low, high: push.value_high }
        } else {
            Pattern { low: 0, high: 0 }
        };
        store(dispatch, family, push.base_word, element, pattern)
    })
}
