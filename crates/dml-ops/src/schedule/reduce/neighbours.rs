//! Sums of products of neighbouring rows that have a factor in common: an invocation of a CPU driver has several, and
//! reads that factor once for all.

use dml_spirv::element_wise::{DIMENSIONS, LANES, Record};
use dml_spirv::reduce::{Form, NEIGHBOURS, Reduce};

use crate::Target;
use crate::schedule::piece::Piece;

/// The dimension from a row to its neighbour.
const ROWS: usize = DIMENSIONS - 2;

/// The form for neighbouring rows, if a kernel can have it and the driver gains by it. A CPU driver takes most of the time to
/// read elements; a GPU has caches, and needs as many invocations as there are rows.
pub(super) fn form(kernel: &Reduce, piece: &Piece<'_>, target: &Target<'_>) -> Option<Form> {
    let is_worthwhile = !target.tuning.shared_tiles
        && piece.sizes[ROWS] >= NEIGHBOURS
        && piece.are_in_multiples(LANES);
    is_worthwhile.then(|| kernel.common_factor(|input| piece.have_in_common(input))).flatten()
}

/// The block of such a kernel, and its invocations.
pub(super) fn block_and_count(record: &Record) -> (Vec<u32>, u64) {
    let neighbours = record.sizes[ROWS];
    let others = record.rows() / u64::from(neighbours);
    (record.words_beside_last(), others * u64::from(Form::invocations_of_neighbours(neighbours)))
}
