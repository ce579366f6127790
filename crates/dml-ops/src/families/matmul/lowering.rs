//! Lowers matrix multiplications: the rows of the Contract are those of A, its columns those of B.
//!
//! GEMM of FLOAT32 [2, 3] by [3, 4], plus a matrix C:
//!
//! ```text
//! GEMM
//!   input 0 = ATensor FLOAT32 [2, 3]
//!   input 1 = BTensor FLOAT32 [3, 4]
//!   input 2 = CTensor FLOAT32 [2, 4]
//!   output 0 = OutputTensor FLOAT32 [2, 4]
//!   %0 = 8 elements of 32 bits
//!   %0 = contract input 0 by input 1: batches [], rows 2, columns [4], depths [3]
//!     104 bytes, 48 operations, 8 invocations
//!   output 0 over [2, 4] = map add (%0, input 2)
//!     96 bytes, 8 operations, 8 invocations
//! ```
//!
//! [`crate::families::products`] has the steps that matrix multiplications and convolutions share.

use dml_core::{Error, Validated};

use super::cooperative::Shape;
use crate::Target;
use crate::families::products::{
    BYTES, ByteStorage, Geometry, ProductRecorder, Storage, Words, lower, transposed,
};
use crate::ir::{self, Dimension, Numbers, Sums};

/// The factors and their zero points.
const A: [&str; 2] = ["ATensor", "AZeroPointTensor"];
const B: [&str; 2] = ["BTensor", "BZeroPointTensor"];

/// The geometry of matrix multiplications: rows are A's rows, and columns are B's columns.
pub(super) struct Matrices;

/// Lowers a matrix multiplication: by cooperative matrices where the device prefers them, else by a Contract.
pub(super) fn matrices(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    if let Some(shape) = Shape::of(operator, target)? {
        let mut products = ProductRecorder::new(operator, target, false);
        let (sums, output) = (products.cooperative_sums(&shape)?, products.output()?);
        return products.finish(sums, output);
    }
    lower::<Matrices>(operator, target)
}

impl Geometry for Matrices {
    const FACTORS: [&'static str; 2] = ["ATensor", "BTensor"];

    fn add_up(products: &mut ProductRecorder<'_>, output: &Words) -> Result<(), Error> {
        let operator = products.operator;
        let sizes = operator.required_tensor("OutputTensor")?.sizes();
        let [is_a_transposed, is_b_transposed] = transposed(operator)?;
        let [first, last] = [sizes.len() - 2, sizes.len() - 1];
        let [row_of_a, depth_of_a] = if is_a_transposed { [last, first] } else { [first, last] };
        let [depth_of_b, column_of_b] = if is_b_transposed { [last, first] } else { [first, last] };
        let depth = operator.required_tensor("ATensor")?.sizes()[depth_of_a];
        // A vector is contiguous along the depth, and the matrix that it is multiplied by keeps its layout.
        let [is_row, is_column] = [first, last].map(|at| sizes[at] == 1);
        let [of_a, of_b] = match (is_row, is_column) {
            (true, true) => [depth_of_a, depth_of_b],
            (true, false) => [depth_of_a, last],
            (false, true) => [last, depth_of_b],
            (false, false) => [row_of_a, column_of_b],
        };
        let bytes = |depth, line| ByteStorage { depth, line, channels: 1, margins: &[] };
        let bytes = [bytes(depth_of_a, row_of_a), bytes(depth_of_b, column_of_b)];
        // A vector's products are reductions.
        let is_by_dot_products =
            !is_row && !is_column && products.has_dot_products([A, B], bytes)?;
        let (a, b, depths, numbers) = if is_by_dot_products {
            let [a, b] = [products.packed_bytes(A, bytes[0])?, products.packed_bytes(B, bytes[1])?];
            (a.words, b.words, depth.div_ceil(BYTES), Numbers::Bytes([a.bytes, b.bytes]))
        } else {
            let stored =
                |innermost| Storage { innermost, margins: &[], channels: 1, is_copied: false };
            let (a, b) = (products.factor(A, &stored(of_a))?, products.factor(B, &stored(of_b))?);
            (a, b, depth, products.numbers(Self::FACTORS)?)
        };
        let batch = |at: usize| Dimension {
            size: sizes[at],
            strides: [a.strides[at], b.strides[at], output.strides[at]],
        };
        products.recorder.multiply(Sums {
            batches: (0..first).map(batch).collect(),
            row: Dimension {
                size: sizes[first],
                strides: [a.strides[row_of_a], 0, output.strides[first]],
            },
            columns: vec![Dimension {
                size: sizes[last],
                strides: [0, b.strides[column_of_b], output.strides[last]],
            }],
            depths: vec![Dimension {
                size: depths,
                strides: [a.strides[depth_of_a], b.strides[depth_of_b], 0],
            }],
            places: [a.place, b.place, output.place],
            numbers,
            goes_on: false,
            slice_of: None,
        })
    }
}
