//! `diagonal_scatter.comp`: writes a value along the diagonals of a tensor that was filled with
//! zeros.

use dml_core::host::{HostDispatch, HostError};

use super::dispatch::for_each_index;
use super::element::{Pattern, store_on_zero};
use super::push::push_constants;
use crate::ElementWidth;

push_constants! {
    @patched base_word at BASE_WORD_AT;
    /// Words from the start of the descriptor to the window's first byte.
    base_word: u32,
    /// The first group of this dispatch, if several dispatches share the work.
    first_group: u32,
    /// Elements to write: batches times `diagonal_length`, at least 1.
    count: u32,
    /// Length of one diagonal, at least 1.
    diagonal_length: u32,
    /// Size of the inner batch dimension.
    size1: u32,
    /// Stride of the outer batch dimension in elements.
    stride0: u32,
    /// Stride of the inner batch dimension in elements.
    stride1: u32,
    /// Row stride plus column stride in elements.
    diagonal_stride: u32,
    /// The first element of the first diagonal, counted from the window's first word.
    start: u32,
    /// The value's low 32 bits, zero above a narrower element.
    value_low: u32,
    /// The value's high 32 bits, for 64-bit elements.
    value_high: u32,
}

element_widths!(run: b8 = B8, b16 = B16, b32 = B32, b64 = B64);

fn run(dispatch: &mut HostDispatch<'_>, element_width: ElementWidth) -> Result<(), HostError> {
    let push = PushConstants::of(dispatch);
    for_each_index(dispatch, push.first_group, push.count, |dispatch, index| {
        let batch = index / push.diagonal_length;
        let along = index % push.diagonal_length;
        let element = push
            .start
            .wrapping_add((batch / push.size1).wrapping_mul(push.stride0))
            .wrapping_add((batch % push.size1).wrapping_mul(push.stride1))
            .wrapping_add(along.wrapping_mul(push.diagonal_stride));
        let pattern = Pattern { low: push.value_low, high: push.value_high };
        store_on_zero(dispatch, element_width, push.base_word, element, pattern)
    })
}
