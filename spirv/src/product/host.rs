//! `kernels/product.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::record::{Block, COLUMNS, DEPTHS, block_words};
use super::{Arithmetic, Product, Sign};
use crate::element_wise::PushConstants;
use crate::twins::dispatch::{for_each_group_below, for_each_index};

const ROWS_AT: usize = 0;
const COLUMNS_AT: usize = 1;

/// Runs the kernel for every tile of a dispatch. Products are rounded before they are added, even if the kernel
/// lets a driver fuse both: the result is that of exact numerics.
pub(super) fn run(kernel: Product, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let words = block_words(kernel.arithmetic);
    let block = Block::of(|index| if index < words { dispatch.uniform_word(index) } else { 0 });
    let push = PushConstants::of(dispatch);
    let [one, other, of_rows, of_columns, .., sums] = push.base_words;
    let (bases, zeros) = ([one, other, sums], [of_rows, of_columns]);
    let sums = Sums { kernel, block: &block, bases, zeros };
    let [rows, columns] = kernel.tile.sides();
    let tile = |dispatch: &mut HostDispatch<'_>, index| {
        let mut rest = index;
        let column = block.split(0, &mut rest) * columns;
        let row = block.split(1, &mut rest) * rows;
        let batch = [block.split(2, &mut rest), rest];
        for row in row..block.rows().min(row + rows) {
            for column in column..block.columns().min(column + columns) {
                sums.add(dispatch, batch, row, column)?;
            }
        }
        Ok(())
    };
    match kernel.tile.is_shared() {
        true => for_each_group_below(dispatch, push.first_group, push.count, tile),
        false => for_each_index(dispatch, push.first_group, push.count, tile),
    }
}

/// The state that all sums of a dispatch share.
struct Sums<'a> {
    kernel: Product,
    block: &'a Block,
    /// The first word of the windows of rows, columns and sums.
    bases: [u32; 3],
    /// The first word of the windows of zero points of rows and columns.
    zeros: [u32; 2],
}

impl Sums<'_> {
    /// The first element of an operand in a batch, and its stride of rows.
    fn start(&self, operand: usize, [inner, outer]: [u32; 2]) -> [u32; 2] {
        let [start, row, of_outer, of_inner] = self.block.placed(operand);
        let batch = outer.wrapping_mul(of_outer).wrapping_add(inner.wrapping_mul(of_inner));
        [self.bases[operand].wrapping_add(start).wrapping_add(batch), row]
    }

    /// Computes one sum and stores it.
    fn add(
        &self,
        dispatch: &mut HostDispatch<'_>,
        batch: [u32; 2],
        row: u32,
        column: u32,
    ) -> Result<(), HostError> {
        let coordinate = self.coordinate(column);
        let (first, of_quad) = self.row(batch, row);
        let (second, of_column) = self.column(batch, column);
        let [sums, of_row] = self.start(2, batch);
        let sum = moved(sums, coordinate, self.block.along_columns(1));
        let sum = sum.wrapping_add(row.wrapping_mul(of_row));
        let before = match self.block.goes_on() {
            true => dispatch.load(self.sums_at(), sum)?,
            false => 0,
        };
        let sizes = self.block.depths();
        let [of_rows, of_columns] = [0, 1].map(|operand| self.block.along_depths(operand));
        let zeros = [self.zero(dispatch, 0, row)?, self.zero(dispatch, 1, column)?];
        let products: u32 = sizes.iter().product();
        let part = match self.kernel.tile.is_of_few_rows() {
            true => self.block.part().min(products),
            false => products,
        };
        let arithmetic = self.kernel.arithmetic;
        let mut all = None;
        for begin in (0..products).step_by(part as usize) {
            let mut bits = before;
            for depth in begin..products.min(begin + part) {
                let at = depth_of(depth, sizes);
                let one = dispatch.load(ROWS_AT, within(moved(first, at, of_rows), of_quad))?;
                let place = within(moved(second, at, of_columns), of_column);
                let other = dispatch.load(COLUMNS_AT, place)?;
                bits = arithmetic.with_product(bits, [one, other], zeros);
            }
            let with = |all| arithmetic.with_product(all, [bits, arithmetic.one()], [0; 2]);
            all = Some(all.map_or(bits, with));
        }
        dispatch.store(self.sums_at(), sum, all.unwrap_or(before))
    }

    /// The number of the sums' binding among those of the kernel.
    fn sums_at(&self) -> usize {
        if matches!(self.kernel.arithmetic, Arithmetic::Bytes { .. }) { 4 } else { 2 }
    }

    /// The zero point of a row or of a column.
    fn zero(
        &self,
        dispatch: &mut HostDispatch<'_>,
        factor: usize,
        index: u32,
    ) -> Result<u32, HostError> {
        let Arithmetic::Bytes { .. } = self.kernel.arithmetic else { return Ok(0) };
        let [start, stride, sign_bit, bits] = self.block.zeros(factor);
        let at = start.wrapping_add(index.wrapping_mul(stride));
        let word = dispatch.load(2 + factor, self.zeros[factor].wrapping_add(at / 4))?;
        Ok(((word >> (8 * (at % 4)) & bits) ^ sign_bit).wrapping_sub(sign_bit))
    }

    /// The position of a row's elements, or of the quad that holds the row, and the row's lane in that quad.
    fn row(&self, batch: [u32; 2], row: u32) -> (u32, Option<u32>) {
        let [start, stride] = self.start(ROWS_AT, batch);
        match self.kernel.tile.reads_elements() {
            true => (start.wrapping_add(row.wrapping_mul(stride)), None),
            false => (start.wrapping_add(row & !LANES), Some(row & LANES)),
        }
    }

    /// The position of a column's elements, or of the quad that holds the column, and the column's lane
    /// in that quad.
    fn column(&self, batch: [u32; 2], column: u32) -> (u32, Option<u32>) {
        let [start, _] = self.start(COLUMNS_AT, batch);
        let is_whole = self.kernel.columns_are_whole;
        let (first, lane) =
            if is_whole { (column & !LANES, Some(column & LANES)) } else { (column, None) };
        (moved(start, self.coordinate(first), self.block.along_columns(0)), lane)
    }

    fn coordinate(&self, column: u32) -> [u32; COLUMNS] {
        let mut rest = column;
        let [last, third, second] = [5, 4, 3].map(|by| self.block.split(by, &mut rest));
        [rest, second, third, last]
    }
}

impl Arithmetic {
    /// The number 1: a product with it is exact.
    fn one(self) -> u32 {
        if self == Self::Integers { 1 } else { 1.0_f32.to_bits() }
    }

    /// A sum after a product was added, of factors from which zero points are subtracted.
    pub(crate) fn with_product(self, sum: u32, [one, other]: [u32; 2], zeros: [u32; 2]) -> u32 {
        match self {
            Self::Integers => sum.wrapping_add(one.wrapping_mul(other)),
            Self::Bytes { rows, columns } => {
                let (ones, others) = (one.to_le_bytes(), other.to_le_bytes());
                ones.into_iter().zip(others).fold(sum, |sum, (one, other)| {
                    let one = rows.extended(one).wrapping_sub(zeros[0]);
                    let other = columns.extended(other).wrapping_sub(zeros[1]);
                    sum.wrapping_add(one.wrapping_mul(other))
                })
            }
            Self::Floats | Self::FusedFloats | Self::Halves => {
                let [sum, one, other] = [sum, one, other].map(f32::from_bits);
                let product = one * other;
                (sum + product).to_bits()
            }
        }
    }
}

impl Sign {
    /// An integer of 8 bits as one of 32.
    fn extended(self, byte: u8) -> u32 {
        match self {
            Self::Signed => i32::from(byte.cast_signed()).cast_unsigned(),
            Self::Unsigned => byte.into(),
        }
    }
}

/// Mask of the lane in a quad. Quads are read at once, and start at a multiple of four elements.
const LANES: u32 = 3;

/// The position of an element, or of one lane of a quad.
fn within(place: u32, lane: Option<u32>) -> u32 {
    lane.map_or(place, |lane| (place & !LANES) + lane)
}

fn moved(start: u32, at: [u32; DEPTHS], strides: [u32; DEPTHS]) -> u32 {
    let terms = at.into_iter().zip(strides).map(|(at, stride)| at.wrapping_mul(stride));
    terms.fold(start, u32::wrapping_add)
}

fn depth_of(mut index: u32, sizes: [u32; DEPTHS]) -> [u32; DEPTHS] {
    let mut at = [0; DEPTHS];
    for (at, size) in at.iter_mut().zip(sizes).rev() {
        (*at, index) = (index % size, index / size);
    }
    at
}
