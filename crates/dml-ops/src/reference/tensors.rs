//! The tensors of corner cases.

use dml_core::{DataType, TensorDesc};

/// The bits of a value: eight bytes, all different.
pub(crate) const MIXED: u64 = 0xf1e2_d3c4_b5a6_9788;

/// Makes tensors of one type and one number of dimensions, from sizes of which the last ones are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorMaker {
    pub(crate) data_type: DataType,
    pub(crate) rank: usize,
}

impl TensorMaker {
    pub(crate) fn packed<const N: usize>(&self, sizes: [u32; N]) -> TensorDesc {
        TensorDesc::packed(self.data_type, &sizes[N - self.rank..])
    }

    pub(crate) fn strided<const N: usize>(&self, sizes: [u32; N], strides: [u32; N]) -> TensorDesc {
        self.packed(sizes).with_strides(&strides[N - self.rank..])
    }
}
