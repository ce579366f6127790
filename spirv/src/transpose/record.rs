//! The elements that a dispatch copies: the uniform block of `kernels/copy_tiles.comp`.

use super::Transpose;
use crate::element_wise::Divisor;

/// Dimensions beside those of the tiles.
pub const OUTER: usize = 6;

/// The elements that one dispatch copies. Strides are modulo 2^32, and no size is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The dimension along which the input has neighbours. Its stride is in units in the input and in elements'
    /// units in the output.
    pub x: Dimension,
    /// The dimension along which the output has neighbours, a multiple of a unit's elements. Its stride is that of
    /// an element in the input, and of a unit in the output.
    pub y: Dimension,
    /// The other dimensions from the innermost one on, at most [`OUTER`].
    pub outer: Vec<Dimension>,
    /// The first unit of the input, and of the output, counted from the start of the window.
    pub starts: [u32; 2],
}

/// A dimension of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The number of elements.
    pub size: u32,
    /// Units from a coordinate to the next, in the input and in the output.
    pub strides: [u32; 2],
}

/// Words of the block.
const WORDS: usize = 4 * (3 + 2 + 2 * OUTER);
const SPLITS_AT: usize = 12;
const OUTER_STRIDES_AT: usize = SPLITS_AT + 4 * (2 + OUTER);

impl Record {
    /// The number of tiles along x, and along y.
    fn tiles(&self, kernel: Transpose) -> [u32; 2] {
        [self.x, self.y].map(|it| it.size.div_ceil(kernel.side()))
    }

    /// The number of tiles, each of which is a work group.
    pub fn count(&self, kernel: Transpose) -> u64 {
        let outer = self.outer.iter().map(|it| it.size);
        self.tiles(kernel).into_iter().chain(outer).map(u64::from).product()
    }

    /// The block of a kernel.
    pub fn words(&self, kernel: Transpose) -> Vec<u32> {
        let mut words = vec![0; WORDS];
        let [from, to] = self.starts;
        let strides = [self.x, self.y].map(|it| it.strides);
        let [[x_from, x_to], [y_from, y_to]] = strides;
        let head =
            [[self.x.size, self.y.size, 0, 0], [from, to, 0, 0], [x_from, y_from, x_to, y_to]];
        words[..SPLITS_AT].copy_from_slice(head.as_flattened());
        let outer = self.outer.iter().map(|it| it.size).chain([1; OUTER]).take(OUTER);
        for (size, place) in
            self.tiles(kernel).into_iter().chain(outer).zip(words[SPLITS_AT..].chunks_mut(4))
        {
            let Divisor { multiplier, shifts } = Divisor::of(size);
            place.copy_from_slice(&[size, multiplier, shifts, 0]);
        }
        for (dimension, place) in self.outer.iter().zip(words[OUTER_STRIDES_AT..].chunks_mut(4)) {
            place[..2].copy_from_slice(&dimension.strides);
        }
        words
    }
}

/// The block as a kernel reads it.
pub(super) struct Block {
    words: [u32; WORDS],
}

impl Block {
    pub(super) fn of(word: impl Fn(usize) -> u32) -> Self {
        Self { words: std::array::from_fn(word) }
    }

    /// The number of elements along x, and along y.
    pub(super) fn sizes(&self) -> [u32; 2] {
        [self.words[0], self.words[1]]
    }

    /// Strides in the input in units: from a unit along x to the next, and from an element along y to the next.
    pub(super) fn input_strides(&self) -> [u32; 2] {
        [self.words[8], self.words[9]]
    }

    /// Strides in the output in units: from an element along x to the next, and from a unit along y to the next.
    pub(super) fn output_strides(&self) -> [u32; 2] {
        [self.words[10], self.words[11]]
    }

    fn split(&self, by: usize, index: &mut u32) -> u32 {
        let at = SPLITS_AT + 4 * by;
        let (size, multiplier, shifts) = (self.words[at], self.words[at + 1], self.words[at + 2]);
        let quotient = Divisor { multiplier, shifts }.divide(*index);
        let rest = index.wrapping_sub(quotient.wrapping_mul(size));
        *index = quotient;
        rest
    }

    /// The tile of a group along x and along y, and the offsets of its outer coordinate in the input and in the
    /// output.
    pub(super) fn tile(&self, group: u32) -> ([u32; 2], [u32; 2]) {
        let mut rest = group;
        let tile = [0, 1].map(|by| self.split(by, &mut rest));
        let mut starts = [self.words[4], self.words[5]];
        for outer in 0..OUTER {
            let at = self.split(2 + outer, &mut rest);
            for (start, stride) in
                starts.iter_mut().zip(&self.words[OUTER_STRIDES_AT + 4 * outer..])
            {
                *start = start.wrapping_add(at.wrapping_mul(*stride));
            }
        }
        (tile, starts)
    }
}
