//! The iteration space of a dispatch and its parameters: the uniform block of `skeletons/include/record.glsl`.

use super::MAX_INPUTS;

/// Dimensions of a space.
pub const DIMENSIONS: usize = 8;
const OUTER: usize = DIMENSIONS - 1;
const OPERANDS: usize = MAX_INPUTS + 1;
/// The largest number of parameter words of a program.
pub const MAX_PARAMETERS: usize = 64;

/// Elements that one invocation computes.
pub const QUAD: u32 = 4;

/// Division by a constant as a multiplication: `n / d` for every `n` of 32 bits, by the round-up
/// method (Granlund and Montgomery, 1994): with `h` the high word of `n * multiplier`, it is
/// `(h + (n - h >> shifts.0)) >> shifts.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    /// The multiplier.
    pub multiplier: u32,
    /// The first shift in the low half, the second in the high one.
    pub shifts: u32,
}

impl Divisor {
    /// The divisor for divisions by `divisor`, which must not be 0.
    #[expect(clippy::cast_possible_truncation, reason = "the multiplier is less than 2^32")]
    pub fn of(divisor: u32) -> Self {
        let bits = u32::BITS - (divisor - 1).leading_zeros();
        let divisor = u64::from(divisor);
        let multiplier = ((((1 << bits) - divisor) << 32) / divisor + 1) as u32;
        Self { multiplier, shifts: bits.min(1) | bits.saturating_sub(1) << 16 }
    }

    /// `number` divided by the divisor, as the kernel does it.
    pub fn divide(self, number: u32) -> u32 {
        let high = ((u64::from(number) * u64::from(self.multiplier)) >> 32) as u32;
        (((number - high) >> (self.shifts & 0xffff)) + high) >> (self.shifts >> 16)
    }
}

/// An operand in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperandRecord {
    /// The element at coordinate 0, counted from the start of the window.
    pub start: u32,
    /// Elements from a coordinate to the next in each dimension, outermost dimension first, modulo 2^32.
    pub strides: [u32; DIMENSIONS],
}

/// The space of one dispatch, and the parameters of its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Elements in each dimension, outermost first; unused dimensions have size 1.
    pub sizes: [u32; DIMENSIONS],
    /// The inputs; those beyond the program's inputs are never read.
    pub inputs: [OperandRecord; MAX_INPUTS],
    /// The output.
    pub output: OperandRecord,
    /// The program's parameters.
    pub parameters: Vec<u32>,
}

/// Offsets in the block, in words.
const OUTER_AT: usize = 4;
/// The size of the last outer dimension, in kernels that go through it: beside the size that rows have, and its
/// divisor.
const LAST_SIZE_AT: usize = OUTER_AT + 4 * (OUTER - 1) + 3;
const STARTS_AT: usize = OUTER_AT + 4 * OUTER;
const INNER_STRIDES_AT: usize = STARTS_AT + 8;
const STRIDES_AT: usize = INNER_STRIDES_AT + 8;
const PARAMETERS_AT: usize = STRIDES_AT + 8 * OPERANDS;
/// Words of the block, which one descriptor covers.
pub const BLOCK_WORDS: usize = PARAMETERS_AT + MAX_PARAMETERS;

impl Record {
    /// The number of rows: invocations of a dispatch that reduces them.
    pub fn rows(&self) -> u64 {
        self.sizes[..OUTER].iter().map(|size| u64::from(*size)).product()
    }

    /// The number of quads in all rows: invocations of a dispatch with one quad for each.
    pub fn quads(&self) -> u64 {
        self.rows() * u64::from(self.sizes[OUTER].div_ceil(QUAD))
    }

    /// The number of outer dimensions that the kernel needs: leading dimensions of size 1 are left out.
    pub fn outer_dimensions(&self) -> usize {
        let unused = self.sizes[..OUTER].iter().take_while(|size| **size == 1).count();
        OUTER - unused
    }

    /// The block of a kernel with so many outer dimensions.
    pub fn words(&self, outer_dimensions: usize) -> Vec<u32> {
        let mut words = vec![0; BLOCK_WORDS];
        let inner = self.sizes[OUTER];
        let quads = inner.div_ceil(QUAD);
        let Divisor { multiplier, shifts } = Divisor::of(quads);
        words[..OUTER_AT].copy_from_slice(&[inner, quads, multiplier, shifts]);
        // The kernel has the innermost of the outer dimensions, here from the outermost one on.
        let first = OUTER - outer_dimensions;
        for (size, place) in self.sizes[first..OUTER].iter().zip(words[OUTER_AT..].chunks_mut(4)) {
            let Divisor { multiplier, shifts } = Divisor::of(*size);
            place.copy_from_slice(&[*size, multiplier, shifts, 0]);
        }
        for (operand, index) in self.inputs.iter().chain([&self.output]).zip(0..) {
            words[STARTS_AT + index] = operand.start;
            words[INNER_STRIDES_AT + index] = operand.strides[OUTER];
            let strides = &operand.strides[first..OUTER];
            words[STRIDES_AT + 8 * index..][..strides.len()].copy_from_slice(strides);
        }
        words[PARAMETERS_AT..][..self.parameters.len()].copy_from_slice(&self.parameters);
        words
    }

    /// The block of a kernel for columns: the last outer dimension goes from a column to the next, and
    /// the output is written along it.
    pub fn words_of_columns(&self) -> Vec<u32> {
        let mut of_columns = self.clone();
        of_columns.output.strides[OUTER] = self.output.strides[OUTER - 1];
        of_columns.words_beside_last()
    }

    /// The block of a kernel that goes through the last outer dimension in each invocation or work group: rows
    /// do not have it.
    pub fn words_beside_last(&self) -> Vec<u32> {
        let mut of_rows = self.clone();
        of_rows.sizes[OUTER - 1] = 1;
        let mut words = of_rows.words(OUTER);
        words[LAST_SIZE_AT] = self.sizes[OUTER - 1];
        words
    }
}

/// The coordinate of a row, outermost dimension first.
pub(crate) type Coordinate = [u32; OUTER];

/// The block as a kernel reads it.
pub(crate) struct Space {
    outer_dimensions: usize,
    words: Vec<u32>,
}

impl Space {
    /// Reads the block of a kernel with so many outer dimensions.
    pub(crate) fn of(outer_dimensions: usize, word: impl Fn(usize) -> u32) -> Self {
        Self { outer_dimensions, words: (0..BLOCK_WORDS).map(word).collect() }
    }

    /// The number of elements in a row.
    pub(crate) fn inner(&self) -> u32 {
        self.words[0]
    }

    /// The size of an outer dimension, of a kernel with all of them.
    pub(crate) fn outer_size(&self, dimension: usize) -> u32 {
        self.words[OUTER_AT + 4 * dimension]
    }

    /// A parameter of the program.
    pub(crate) fn parameter(&self, index: usize) -> u32 {
        self.words[PARAMETERS_AT + index]
    }

    /// The size of the last outer dimension, in the block of a kernel that goes through it.
    pub(crate) fn last_size(&self) -> u32 {
        self.words[LAST_SIZE_AT]
    }

    fn divisor(&self, at: usize) -> Divisor {
        Divisor { multiplier: self.words[at], shifts: self.words[at + 1] }
    }

    /// The position of the `index`-th quad: its row's coordinate, outermost dimension first, and its first element
    /// in the row.
    pub(crate) fn coordinate(&self, index: u32) -> (Coordinate, u32) {
        if self.outer_dimensions == 0 {
            return ([0; OUTER], index.wrapping_mul(QUAD));
        }
        let row = self.divisor(2).divide(index);
        let x = index.wrapping_sub(row.wrapping_mul(self.words[1])).wrapping_mul(QUAD);
        (self.outer_coordinate(row), x)
    }

    /// The coordinate of a row, outermost dimension first.
    pub(crate) fn outer_coordinate(&self, mut row: u32) -> Coordinate {
        let mut coordinate = [0; OUTER];
        if self.outer_dimensions == 0 {
            return coordinate;
        }
        for dimension in (1..self.outer_dimensions).rev() {
            let at = OUTER_AT + 4 * dimension;
            let rows = self.divisor(at + 1).divide(row);
            coordinate[dimension] = row.wrapping_sub(rows.wrapping_mul(self.words[at]));
            row = rows;
        }
        coordinate[0] = row;
        coordinate
    }

    /// The element of an operand at `x` of a row.
    pub(crate) fn element(&self, operand: usize, coordinate: &Coordinate, x: u32) -> u32 {
        let inner_stride = self.words[INNER_STRIDES_AT + operand];
        let strides = &self.words[STRIDES_AT + 8 * operand..];
        let first = self.words[STARTS_AT + operand].wrapping_add(x.wrapping_mul(inner_stride));
        let terms = coordinate.iter().zip(strides).map(|(at, stride)| at.wrapping_mul(*stride));
        terms.fold(first, u32::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_divide_every_number() {
        let edges = (0..32).flat_map(|it| {
            let power = 1_u32 << it;
            [power - 1, power, power | 1, u32::MAX - power, u32::MAX / power, power.wrapping_mul(3)]
        });
        let edges: Vec<u32> = edges.chain([u32::MAX]).collect();
        for divisor in edges.iter().copied().filter(|edge| *edge > 0) {
            let it = Divisor::of(divisor);
            let multiples = (0..20).map(|by| divisor.wrapping_mul(by));
            for number in edges.iter().copied().chain(multiples) {
                for number in [number.wrapping_sub(1), number, number.wrapping_add(1)] {
                    assert_eq!(it.divide(number), number / divisor, "{number} / {divisor}");
                }
            }
        }
    }

    #[test]
    fn the_block_is_at_most_1_kib_whatever_it_holds() {
        let record = Record {
            sizes: [2, 3, 4, 5, 6, 7, 8, 9],
            inputs: Default::default(),
            output: OperandRecord { start: 5, strides: [1, 2, 3, 4, 5, 6, 7, 8] },
            parameters: vec![1; MAX_PARAMETERS],
        };
        let words = record.words(record.outer_dimensions());
        assert!(words.len() == BLOCK_WORDS && BLOCK_WORDS <= 256);
        assert_eq!(words[..2], [9, 3]);
        assert_eq!(
            words[OUTER_AT..OUTER_AT + 28].iter().step_by(4).copied().collect::<Vec<_>>(),
            [2, 3, 4, 5, 6, 7, 8]
        );
        assert_eq!((words[STARTS_AT + 7], words[INNER_STRIDES_AT + 7]), (5, 8));
        assert_eq!(words[STRIDES_AT + 56..][..7], [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(words[PARAMETERS_AT..], [1; MAX_PARAMETERS]);
    }
}
