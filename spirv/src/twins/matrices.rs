//! `include/matrices.glsl` on the host.

use super::dispatch::{Run, add_with_carry};
use super::element::Pattern;
use super::push::push_structure;

push_structure! {
    /// A stack of matrices for the kernels on bands of diagonals: a whole tensor, or a box of one.
    Matrices {
        /// The first element, counted from the window's first word.
        start: u32,
        /// Size of the inner batch dimension.
        size1: u32,
        /// Number of rows.
        height: u32,
        /// Number of columns.
        width: u32,
        /// The value's low 32 bits, zero above a narrower element.
        value_low: u32,
        /// The value's high 32 bits, for 64-bit elements.
        value_high: u32,
    }
}

impl Matrices {
    pub(super) fn value(&self) -> Pattern {
        Pattern { low: self.value_low, high: self.value_high }
    }

    /// Both batches, row and column of the index-th element in row-major order, of rows with
    /// `columns` elements.
    pub(super) fn coordinate_of(&self, index: u32, columns: u32) -> [u32; 4] {
        let row = index / columns;
        let batch = row / self.height;
        [batch / self.size1, batch % self.size1, row % self.height, index % columns]
    }

    /// The coordinates of a run, as [`Self::coordinate_of`] has them.
    pub(super) fn coordinates_of(self, run: Run, columns: u32) -> impl Iterator<Item = [u32; 4]> {
        let step = self.coordinate_of(run.step, columns);
        let first = self.coordinate_of(run.first, columns);
        let next = move |at: &[u32; 4]| Some(self.advance(*at, step, columns));
        (0..run.count).zip(std::iter::successors(Some(first), next)).map(|(_, at)| at)
    }

    /// The coordinate that is `step` elements after `at`. After the last element the result is meaningless.
    fn advance(&self, mut at: [u32; 4], step: [u32; 4], columns: u32) -> [u32; 4] {
        let mut carry = 0;
        add_with_carry(columns, step[3], &mut at[3], &mut carry);
        add_with_carry(self.height, step[2], &mut at[2], &mut carry);
        add_with_carry(self.size1, step[1], &mut at[1], &mut carry);
        at[0] = at[0].wrapping_add(step[0]).wrapping_add(carry);
        at
    }
}

/// The offset of an element from the first one.
pub(super) fn offset_of(coordinate: [u32; 4], strides: [u32; 4]) -> u32 {
    let terms = coordinate.into_iter().zip(strides);
    terms.fold(0, |sum, (at, stride)| sum.wrapping_add(at.wrapping_mul(stride)))
}
