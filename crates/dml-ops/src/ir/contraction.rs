//! Sums of products: matrix products and convolutions.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS};

use super::buffer::Buffer;
use super::numbers::{Numbers, ZeroPoints};
use super::space::{IterationSpace, Operand};
use crate::target::ROWS_WORTH_A_COPY;

/// The least number of products in a part, for which a dispatch and temporary memory are worth it.
const PRODUCTS_OF_A_PART: u64 = 1024;

/// The least number of products of each sum for which a matrix-vector product is a reduction: one for each lane.
const PRODUCTS_OF_A_ROW: u32 = 16;

/// From so many sums on there is work for every invocation of a GPU, with eight sums each.
const MOST_SUMS: u64 = 1 << 16;

/// The number of operands: rows, columns, and sums.
pub(crate) const OPERANDS: usize = 3;
/// The index of the sums among them.
pub(crate) const SUMS: usize = 2;

/// A dimension, with its stride in each operand: rows, columns and sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) size: u32,
    pub(crate) strides: [i64; OPERANDS],
}

impl Dimension {
    pub(crate) const ONE: Self = Self { size: 1, strides: [0; OPERANDS] };
}

/// The position of the first word of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferPosition<B = Buffer> {
    pub(crate) buffer: B,
    /// The offset in elements, from the start of the buffer.
    pub(crate) base: i64,
    /// Whether elements up to the next multiple of four after any element may be read.
    pub(crate) has_slack: bool,
}

impl<B: Copy> BufferPosition<B> {
    /// The position of an operand's words, without readable elements after them.
    pub(crate) fn of(words: &Operand<B>) -> Self {
        let buffer = words.buffer.expect("what is multiplied is stored");
        Self { buffer, base: words.base, has_slack: false }
    }
}

/// The products that are added up. A sum begins at 0, or with the value there, and its products are added one
/// after the other, outermost depth first; depths are in the order of the descriptor. Few sums of many
/// products are added up in parts, see [`Sums::length_of_a_part`].
#[derive(Clone, Debug)]
pub(crate) struct Sums<B = Buffer> {
    /// The dimensions that rows and columns share, at most [`BATCHES`](dml_spirv::product::BATCHES).
    pub(crate) batches: Vec<Dimension>,
    pub(crate) row: Dimension,
    /// At most [`COLUMNS`](dml_spirv::product::COLUMNS).
    pub(crate) columns: Vec<Dimension>,
    /// At most [`DEPTHS`](dml_spirv::product::DEPTHS).
    pub(crate) depths: Vec<Dimension>,
    pub(crate) places: [BufferPosition<B>; OPERANDS],
    pub(crate) numbers: Numbers<B>,
    /// Whether sums are added to the values there, or begin at 0.
    pub(crate) goes_on: bool,
    /// The number of sums that these are a slice of; `None` for all sums of a node. The order of additions follows from it.
    pub(crate) slice_of: Option<u64>,
}

/// The matrices of one operand of a cooperative-matrix product, batch after batch.
#[derive(Clone, Debug)]
pub(crate) struct Matrices<B = Buffer> {
    /// The first element: a half in factors, a word in sums.
    pub(crate) place: Operand<B>,
    /// The number of elements of all matrices.
    pub(crate) count: u64,
    /// Elements from one batch to the next, outer and inner.
    pub(crate) batches: [u64; 2],
}

/// A product of halves whose sums a device adds in an order of its own: results differ between devices.
#[derive(Clone, Debug)]
pub(crate) struct WholeMatrices<B = Buffer> {
    /// The numbers of rows and columns of a cooperative matrix.
    pub(crate) matrix: [u32; 2],
    /// The numbers of rows, columns and depths, in whole cooperative matrices.
    pub(crate) sizes: [u32; 3],
    /// The numbers of outer and inner batches.
    pub(crate) batches: [u32; 2],
    /// Rows, columns, and sums, each within a descriptor's range.
    pub(crate) operands: [Matrices<B>; OPERANDS],
}

impl Sums {
    /// These sums with their buffers mapped by `place`, and those of zero points by `zero_points`.
    pub(crate) fn placed<T>(
        &self,
        place: impl Fn(BufferPosition) -> BufferPosition<T>,
        zero_points: impl Fn(ZeroPoints) -> ZeroPoints<T>,
    ) -> Sums<T> {
        Sums {
            batches: self.batches.clone(),
            row: self.row,
            columns: self.columns.clone(),
            depths: self.depths.clone(),
            places: self.places.map(place),
            numbers: self.numbers.placed(zero_points),
            goes_on: self.goes_on,
            slice_of: self.slice_of,
        }
    }

    /// The space of the products, if these are sums of a matrix and a vector: its rows are added up. Only sizes
    /// decide, never strides, because this decides the order of additions.
    pub(crate) fn of_a_vector(&self) -> Option<IterationSpace> {
        let is_long = |it: &Dimension| it.size > 1;
        // Sums of bytes are no program's.
        if !self.are_of_a_vector() || matches!(self.numbers, Numbers::Bytes(_)) {
            return None;
        }
        let dimensions: Vec<Dimension> = self.dimensions().filter(is_long).collect();
        let first = DIMENSIONS.checked_sub(dimensions.len())?;
        let mut sizes = [1; DIMENSIONS];
        let mut strides = [[0; DIMENSIONS]; OPERANDS];
        for (at, dimension) in (first..).zip(dimensions) {
            sizes[at] = dimension.size;
            for (strides, stride) in strides.iter_mut().zip(dimension.strides) {
                strides[at] = stride;
            }
        }
        let operand = |at: usize| {
            let BufferPosition { buffer, base, has_slack } = self.places[at];
            let strides = strides[at];
            Operand { strides, has_slack, ..Operand::at(buffer, ElementWidth::B32, base) }
        };
        // The vector first: if rows are the columns of the matrix, four of its elements are read at once.
        let inputs = if is_long(&self.row) {
            vec![operand(1), operand(0)]
        } else {
            vec![operand(0), operand(1)]
        };
        Some(IterationSpace { sizes, inputs, output: operand(SUMS) })
    }
}

impl<B> Sums<B> {
    /// The number of outermost-depth products in a part, if each sum is added up in parts, and then these:
    /// there are few sums of many products, and more invocations can work on parts. Only sizes decide, so
    /// that every device adds in the same order, whatever the strides are.
    pub(crate) fn length_of_a_part(&self) -> Option<u32> {
        let (products, outermost) = (count(&self.depths), self.outermost_depth()?.size);
        let most = (MOST_SUMS / self.slice_of.unwrap_or_else(|| self.count()))
            .min(MAX_INPUTS as u64)
            .min(outermost.into());
        let parts = (products / PRODUCTS_OF_A_PART).min(most);
        let parts = u32::try_from(parts).ok().filter(|it| *it > 1 && !self.goes_on)?;
        Some(outermost.div_ceil(parts))
    }

    /// The number of sums.
    pub(crate) fn count(&self) -> u64 {
        count(&self.batches) * u64::from(self.row.size) * count(&self.columns)
    }

    /// Whether a copy of the columns as quads is worthwhile: many rows read it, and it is one matrix for each batch.
    pub(crate) fn columns_are_worth_a_copy(&self) -> bool {
        let is_matrix = self.columns.len() == 1 && self.depths.len() <= 1;
        is_matrix && self.row.size >= ROWS_WORTH_A_COPY
    }

    /// Whether each sum is added up in the order of its depths: neither in parts, nor as a row.
    pub(crate) fn are_in_order(&self) -> bool {
        !self.goes_on && self.length_of_a_part().is_none() && !self.are_of_a_vector()
    }

    /// Whether these are sums of a matrix and a vector, of many products each.
    fn are_of_a_vector(&self) -> bool {
        let long = |all: &[Dimension]| all.iter().filter(|it| it.size > 1).count();
        let is_vector = self.row.size == 1 || long(&self.columns) == 0;
        is_vector
            && long(&self.columns) <= 1
            && long(&self.depths) == 1
            && self
                .outermost_depth()
                .is_some_and(|outermost_depth| outermost_depth.size >= PRODUCTS_OF_A_ROW)
    }

    /// The outermost depth of more than one element.
    pub(crate) fn outermost_depth(&self) -> Option<Dimension> {
        self.depths.iter().copied().find(|depth| depth.size > 1)
    }

    /// All dimensions, outermost first: batches, the row, columns, and depths.
    pub(crate) fn dimensions(&self) -> impl Iterator<Item = Dimension> + '_ {
        let outer = self.batches.iter().chain([&self.row]).chain(&self.columns);
        outer.chain(&self.depths).copied()
    }
}

/// The number of coordinates.
fn count(dimensions: &[Dimension]) -> u64 {
    dimensions.iter().map(|dimension| u64::from(dimension.size)).product()
}
