//! Tensors of corner cases.

use dml_core::{DataType, TensorDesc};

/// The bits of a value of eight different bytes.
pub(crate) const MIXED: u64 = 0xf1e2_d3c4_b5a6_9788;

/// Sizes or strides of tensors of rank 8, of which the last ones are used.
pub(crate) type Sizes = [u32; 8];

/// Small sizes, odd unless they are 1 or 2.
pub(crate) const SMALL: Sizes = [2, 1, 2, 1, 2, 3, 2, 3];
/// Strides of [`SMALL`] with gaps of two elements between neighbours, and larger ones between rows.
pub(crate) const PADDED: Sizes = [800, 1, 300, 0, 130, 40, 11, 3];
/// Strides of [`SMALL`] with the first dimension innermost.
pub(crate) const REVERSED: Sizes = [1, 0, 2, 0, 4, 8, 24, 48];

/// Named shapes of tensors of rank `rank` for the cases of any element-wise operator.
pub(crate) fn shapes(rank: usize) -> [(&'static str, Sizes); 5] {
    [
        ("shape_single_element", [1; 8]),
        ("shape_all_dimensions", [2, 1, 3, 2, 1, 2, 3, 2]),
        ("shape_innermost_only", [1, 1, 1, 1, 1, 1, 1, 131]),
        ("shape_outermost_only", std::array::from_fn(|at| if at == 8 - rank { 37 } else { 1 })),
        ("shape_many_groups", [1, 1, 1, 2, 3, 5, 17, 67]),
    ]
}

/// Makes tensors of one type and rank, from sizes of which the last ones are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorGenerator {
    pub(crate) data_type: DataType,
    pub(crate) rank: usize,
}

impl TensorGenerator {
    pub(crate) fn packed<const N: usize>(&self, sizes: [u32; N]) -> TensorDesc {
        TensorDesc::packed(self.data_type, &sizes[N - self.rank..])
    }

    pub(crate) fn strided<const N: usize>(&self, sizes: [u32; N], strides: [u32; N]) -> TensorDesc {
        self.packed(sizes).with_strides(&strides[N - self.rank..])
    }
}
