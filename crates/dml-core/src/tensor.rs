//! Tensor descriptors, unchecked as a caller fills them.

mod layout;
mod overlap;

pub use layout::TensorLayout;

use crate::types::DataType;

/// DML_TENSOR_DIMENSION_COUNT_MAX1: the most dimensions of a tensor.
pub const MAX_DIMENSION_COUNT: usize = 8;

/// The most elements of a tensor, and the greatest distance of an element from the first one, in elements.
pub const MAX_ELEMENT_COUNT: u64 = u32::MAX as u64;

/// DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT: every binding starts at a multiple of this many bytes.
pub const MINIMUM_TENSOR_ALIGNMENT: u32 = 16;

/// DML_TENSOR_FLAGS: whether the runtime keeps a tensor's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TensorFlags(u32);

impl TensorFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The tensor is bound at initialization only; the runtime keeps its contents.
    pub const OWNED_BY_DML: Self = Self(1);

    /// The flags with DirectML's bits; validation refuses bits that have no meaning.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// DirectML's bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// DML_BUFFER_TENSOR_DESC: the type, sizes and memory layout of a tensor in a buffer.
///
/// The fields are unchecked; [`crate::TensorLayout::new`] states and checks the rules. The number of
/// dimensions is the length of `sizes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorDesc {
    /// The type of an element.
    pub data_type: DataType,
    /// NONE or OWNED_BY_DML.
    pub flags: TensorFlags,
    /// Elements in each dimension, outermost first; 1 to 8 of them, each at least 1.
    pub sizes: Vec<u32>,
    /// Distance between neighbours in each dimension, in elements; `None` means packed, the last
    /// dimension innermost.
    pub strides: Option<Vec<u32>>,
    /// TotalTensorSizeInBytes; `None` means the minimum that sizes and strides imply.
    pub total_tensor_size_in_bytes: Option<u64>,
    /// The bound offset is promised to be a multiple of this many bytes; 0 promises nothing.
    pub guaranteed_base_offset_alignment: u32,
}

impl TensorDesc {
    /// A packed tensor.
    pub fn packed(data_type: DataType, sizes: &[u32]) -> Self {
        Self {
            data_type,
            flags: TensorFlags::NONE,
            sizes: sizes.to_vec(),
            strides: None,
            total_tensor_size_in_bytes: None,
            guaranteed_base_offset_alignment: 0,
        }
    }

    /// This tensor, with strides in elements.
    pub fn with_strides(mut self, strides: &[u32]) -> Self {
        self.strides = Some(strides.to_vec());
        self
    }

    /// This tensor, with a stated total size in bytes.
    pub fn with_total_size(mut self, bytes: u64) -> Self {
        self.total_tensor_size_in_bytes = Some(bytes);
        self
    }
}
