//! `include/matrices.glsl` on the host.

use super::element::Pattern;
use super::words::Words;

/// A stack of matrices as the kernels on bands of diagonals are told: a whole tensor, or a box of
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Matrices {
    /// The first element, counted from the window's first word.
    pub start: u32,
    /// Size of the inner batch dimension.
    pub size1: u32,
    /// Number of rows.
    pub height: u32,
    /// Number of columns.
    pub width: u32,
    /// The value's low 32 bits, zero above a narrower element.
    pub value_low: u32,
    /// The value's high 32 bits, for 64-bit elements.
    pub value_high: u32,
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

    /// The coordinate that is `step` elements behind `at`. Behind the last element it means nothing.
    pub(super) fn advance(&self, at: [u32; 4], step: [u32; 4], columns: u32) -> [u32; 4] {
        let mut next = at;
        let mut carry = 0;
        let sizes = [self.size1, self.height, columns];
        for ((next, step), size) in next[1..].iter_mut().zip(&step[1..]).zip(sizes).rev() {
            let sum = next.wrapping_add(*step).wrapping_add(carry);
            carry = u32::from(sum >= size);
            *next = sum.wrapping_sub(carry.wrapping_mul(size));
        }
        next[0] = next[0].wrapping_add(step[0]).wrapping_add(carry);
        next
    }
}

/// How far an element is from the first one.
pub(super) fn offset_of(coordinate: [u32; 4], strides: [u32; 4]) -> u32 {
    let terms = coordinate.into_iter().zip(strides);
    terms.fold(0, |sum, (at, stride)| sum.wrapping_add(at.wrapping_mul(stride)))
}

impl Words for Matrices {
    fn append(&self, words: &mut Vec<u32>) {
        let Self { start, size1, height, width, value_low, value_high } = *self;
        words.extend([start, size1, height, width, value_low, value_high]);
    }

    fn take(words: &mut impl Iterator<Item = u32>) -> Self {
        let [start, size1, height, width, value_low, value_high] = Words::take(words);
        Self { start, size1, height, width, value_low, value_high }
    }
}
