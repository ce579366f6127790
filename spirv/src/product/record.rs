//! The sizes and strides of the sums that a dispatch computes: the uniform block of `kernels/product.comp`.

use super::{Arithmetic, Sign, Tile};
use crate::element_wise::Divisor;

/// Dimensions that rows and columns have in common, outermost first.
pub const BATCHES: usize = 2;
/// Dimensions of columns.
pub const COLUMNS: usize = 4;
/// Dimensions along which products are added up.
pub const DEPTHS: usize = 4;

/// The position of an operand's elements: the first one, and the distances between coordinates, modulo 2^32.
/// Dimensions that an operand does not have get stride 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    /// The first element, counted from the start of the window.
    pub start: u32,
    /// Strides of the batches.
    pub batches: [u32; BATCHES],
    /// Stride of the rows.
    pub row: u32,
    /// Strides of the columns.
    pub columns: [u32; COLUMNS],
    /// Strides of the depths.
    pub depths: [u32; DEPTHS],
}

/// The sums of one dispatch. No size is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whether sums are added to the output's values.
    pub goes_on: bool,
    /// Sizes of the batches, which rows and columns share.
    pub batches: [u32; BATCHES],
    /// The number of rows.
    pub rows: u32,
    /// Sizes of columns.
    pub columns: [u32; COLUMNS],
    /// Sizes of the dimensions that are summed over.
    pub depths: [u32; DEPTHS],
    /// The products of each part that tiles of few rows add up sums in, or at least as many as a sum has. With
    /// several parts sums begin at 0.
    pub part: u32,
    /// The rows, the columns, and the sums.
    pub operands: [Strides; 3],
}

/// The position of a factor's zero points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZeroPoints {
    /// The first byte, counted from the start of the window.
    pub start: u32,
    /// Bytes from a row's zero point, or a column's, to the next; 0 for one zero point.
    pub stride: u32,
}

/// Words of the block.
const WORDS: usize = 80;
/// Quads of words before those of zero points, which only kernels of bytes have.
const ZEROS_AT: usize = 18;

impl Record {
    fn all_columns(&self) -> u32 {
        self.columns.iter().product()
    }

    /// The number of tiles along the columns, and along the rows.
    fn tiles(&self, tile: Tile) -> [u32; 2] {
        let [rows, columns] = tile.sides();
        [self.all_columns().div_ceil(columns), self.rows.div_ceil(rows)]
    }

    /// The number of tiles: invocations of a dispatch, or its work groups.
    pub fn count(&self, tile: Tile) -> u64 {
        let sizes = self.tiles(tile).into_iter().chain(self.batches);
        sizes.map(u64::from).product()
    }

    /// The block of a kernel with such tiles.
    pub fn words(&self, tile: Tile) -> Vec<u32> {
        let splits = self.tiles(tile).into_iter().chain([self.batches[1]]);
        let inner = self.columns[1..].iter().chain(&self.depths[1..]).copied();
        let splits = splits.chain(inner).flat_map(split);
        let placed = |it: Strides, stride| [it.start, stride, it.batches[0], it.batches[1]];
        let [row, column, sum] = self.operands;
        let mut words = vec![self.rows, self.all_columns(), u32::from(self.goes_on), self.part];
        words.extend(splits);
        words.extend(self.depths);
        words.extend([placed(row, row.row), row.depths].concat());
        words.extend([placed(column, 0), column.columns, column.depths].concat());
        words.extend([placed(sum, sum.row), sum.columns].concat());
        words
    }
}

/// The words of the zero points of a kernel with such arithmetic, which follow those of its record: of the rows and of
/// the columns, `None` where there are none. Empty unless factors are bytes.
pub fn words_of_zeros(arithmetic: Arithmetic, zeros: [Option<ZeroPoints>; 2]) -> Vec<u32> {
    let Arithmetic::Bytes { rows, columns } = arithmetic else { return vec![] };
    let words = |(sign, zeros): (Sign, Option<ZeroPoints>)| {
        let sign_bit = if sign == Sign::Signed { 0x80 } else { 0 };
        let bits = if zeros.is_some() { 0xff } else { 0 };
        let ZeroPoints { start, stride } = zeros.unwrap_or_default();
        [start, stride, sign_bit, bits]
    };
    [rows, columns].into_iter().zip(zeros).flat_map(words).collect()
}

/// The words by which a kernel divides an index: a size and its divisor.
pub(super) fn split(size: u32) -> [u32; 4] {
    let Divisor { multiplier, shifts } = Divisor::of(size);
    [size, multiplier, shifts, 0]
}

/// The number of words in the block of a kernel with such arithmetic.
pub(super) fn block_words(arithmetic: Arithmetic) -> usize {
    match arithmetic {
        Arithmetic::Bytes { .. } => WORDS,
        _ => 4 * ZEROS_AT,
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

    pub(super) fn rows(&self) -> u32 {
        self.words[0]
    }

    pub(super) fn columns(&self) -> u32 {
        self.words[1]
    }

    pub(super) fn goes_on(&self) -> bool {
        self.words[2] != 0
    }

    pub(super) fn part(&self) -> u32 {
        self.words[3]
    }

    /// The coordinate in dimension `by`. `index` is divided by its size, for the dimensions further out.
    pub(super) fn split(&self, by: usize, index: &mut u32) -> u32 {
        let at = 4 + 4 * by;
        let (size, multiplier, shifts) = (self.words[at], self.words[at + 1], self.words[at + 2]);
        let quotient = Divisor { multiplier, shifts }.divide(*index);
        let rest = index.wrapping_sub(quotient.wrapping_mul(size));
        *index = quotient;
        rest
    }

    pub(super) fn depths(&self) -> [u32; DEPTHS] {
        self.four(10)
    }

    /// The first element, stride of rows and strides of batches of an operand: rows, columns or sums.
    pub(super) fn placed(&self, operand: usize) -> [u32; 4] {
        self.four([11, 13, 16][operand])
    }

    /// Strides of the depths in an operand: rows or columns.
    pub(super) fn along_depths(&self, operand: usize) -> [u32; DEPTHS] {
        self.four([12, 15][operand])
    }

    /// Strides of the columns in an operand: columns or sums.
    pub(super) fn along_columns(&self, operand: usize) -> [u32; COLUMNS] {
        self.four([14, 17][operand])
    }

    /// The words of the zero points of rows or of columns, as [`words_of_zeros`] has them.
    pub(super) fn zeros(&self, factor: usize) -> [u32; 4] {
        self.four(ZEROS_AT + factor)
    }

    fn four(&self, at: usize) -> [u32; 4] {
        std::array::from_fn(|lane| self.words[4 * at + lane])
    }
}
