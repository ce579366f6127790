//! The corner cases of diagonal operators.

pub(super) mod diagonal_matrix;
pub(super) mod diagonal_matrix1;

use dml_core::operators::{DiagonalMatrix1Desc, DiagonalMatrixDesc};
use dml_core::{ScalarUnion, TensorDesc};

/// A matrix of zeros with one nonzero diagonal.
pub fn diagonal(output_tensor: TensorDesc, offset: i32, value: f32) -> DiagonalMatrixDesc {
    DiagonalMatrixDesc { output_tensor, offset, value }
}

/// A matrix with a band of equal elements, given by their bits, over an input or zeros.
pub fn band(
    input_tensor: Option<TensorDesc>,
    output_tensor: TensorDesc,
    value: u64,
    (diagonal_fill_begin, diagonal_fill_end): (i32, i32),
) -> DiagonalMatrix1Desc {
    DiagonalMatrix1Desc {
        input_tensor,
        value_data_type: output_tensor.data_type,
        output_tensor,
        value: ScalarUnion::from_bits(value),
        diagonal_fill_begin,
        diagonal_fill_end,
    }
}
