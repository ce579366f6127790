//! DirectML's C structs, with its names and its layout on 64-bit machines, except the descriptors of
//! operators, which are read by their schemas.
//!
//! Definitions only: `dml-capi` reads the pointers. Enums are `u32`, as C compilers make them; DirectML's
//! documentation describes every pointer.
#![allow(non_camel_case_types, non_snake_case, reason = "the names are DirectML's")]

mod graph;

pub use graph::*;

use std::ffi::c_void;

use crate::types::ScalarUnion;

/// A Boolean of Windows: 0 is false.
pub type BOOL = i32;
/// The number of a [`crate::DataType`]; 0 is UNKNOWN.
pub type DML_TENSOR_DATA_TYPE = u32;
/// 1 is BUFFER, the only kind of tensor.
pub type DML_TENSOR_TYPE = u32;
/// The bits of [`crate::TensorFlags`].
pub type DML_TENSOR_FLAGS = u32;
/// The number of an operator, as in [`crate::schema::OperatorSchema::operator_type`].
pub type DML_OPERATOR_TYPE = u32;

/// A tensor of some kind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_TENSOR_DESC {
    /// The kind of tensor.
    pub Type: DML_TENSOR_TYPE,
    /// The descriptor of that kind: a [`DML_BUFFER_TENSOR_DESC`].
    pub Desc: *const c_void,
}

/// A tensor in a buffer; [`crate::TensorDesc`] states the units.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_BUFFER_TENSOR_DESC {
    /// The type of an element.
    pub DataType: DML_TENSOR_DATA_TYPE,
    /// NONE (0) or OWNED_BY_DML (1).
    pub Flags: DML_TENSOR_FLAGS,
    /// The number of elements of `Sizes` and `Strides`.
    pub DimensionCount: u32,
    /// Elements in each dimension.
    pub Sizes: *const u32,
    /// Distance between neighbours in each dimension, in elements; null means packed.
    pub Strides: *const u32,
    /// The tensor's size in bytes.
    pub TotalTensorSizeInBytes: u64,
    /// The guaranteed alignment of the binding's offset, in bytes; 0 guarantees nothing.
    pub GuaranteedBaseOffsetAlignment: u32,
}

/// An operator of some type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DML_OPERATOR_DESC {
    /// The operator's number.
    pub Type: DML_OPERATOR_TYPE,
    /// The descriptor of that operator, such as a `DML_DIAGONAL_MATRIX_OPERATOR_DESC`: the fields of its
    /// [`crate::schema::OperatorSchema`], in their order.
    pub Desc: *const c_void,
}

/// A scale and a bias.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DML_SCALE_BIAS {
    /// The factor of each element.
    pub Scale: f32,
    /// The number that is added to the product.
    pub Bias: f32,
}

/// A size in two dimensions, in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DML_SIZE_2D {
    /// Elements in a row.
    pub Width: u32,
    /// Rows.
    pub Height: u32,
}

/// A scalar whose type another field of the descriptor states.
///
/// A union in C. Here only its bytes are visible, which the other members alias, so that no `unsafe` is needed
/// to read it. The alignment is that of the largest member.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DML_SCALAR_UNION {
    /// The scalar in the first bytes.
    pub Bytes: [u8; 8],
}

impl From<DML_SCALAR_UNION> for ScalarUnion {
    fn from(scalar: DML_SCALAR_UNION) -> Self {
        Self::from_bytes(scalar.Bytes)
    }
}

impl From<ScalarUnion> for DML_SCALAR_UNION {
    fn from(scalar: ScalarUnion) -> Self {
        Self { Bytes: scalar.to_bytes() }
    }
}

// The numbers are those of a C compiler with 8-byte pointers.
#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use super::*;

    /// Asserts the size of a struct and the offset of each field, in bytes.
    macro_rules! assert_layout {
        ($type:ty, $size:literal, { $($field:ident: $offset:literal),* }) => {
            assert_eq!(size_of::<$type>(), $size, stringify!($type));
            $(assert_eq!(offset_of!($type, $field), $offset, stringify!($type::$field));)*
        };
    }

    #[test]
    fn tensors_and_operators_have_directml_s_layout() {
        assert_layout!(DML_TENSOR_DESC, 16, { Type: 0, Desc: 8 });
        assert_layout!(DML_OPERATOR_DESC, 16, { Type: 0, Desc: 8 });
        assert_layout!(DML_BUFFER_TENSOR_DESC, 48, {
            DataType: 0,
            Flags: 4,
            DimensionCount: 8,
            Sizes: 16,
            Strides: 24,
            TotalTensorSizeInBytes: 32,
            GuaranteedBaseOffsetAlignment: 40
        });
    }

    #[test]
    fn graphs_have_directml_s_layout() {
        assert_layout!(DML_GRAPH_DESC, 72, {
            InputCount: 0,
            OutputCount: 4,
            NodeCount: 8,
            Nodes: 16,
            InputEdgeCount: 24,
            InputEdges: 32,
            OutputEdgeCount: 40,
            OutputEdges: 48,
            IntermediateEdgeCount: 56,
            IntermediateEdges: 64
        });
        assert_layout!(DML_GRAPH_NODE_DESC, 16, { Type: 0, Desc: 8 });
        assert_layout!(DML_OPERATOR_GRAPH_NODE_DESC, 16, { Operator: 0, Name: 8 });
        assert_layout!(DML_CONSTANT_DATA_GRAPH_NODE_DESC, 24, { Data: 0, DataSize: 8, Name: 16 });
        assert_layout!(DML_GRAPH_EDGE_DESC, 16, { Type: 0, Desc: 8 });
        assert_layout!(DML_INPUT_GRAPH_EDGE_DESC, 24, {
            GraphInputIndex: 0,
            ToNodeIndex: 4,
            ToNodeInputIndex: 8,
            Name: 16
        });
        assert_layout!(DML_OUTPUT_GRAPH_EDGE_DESC, 24, {
            FromNodeIndex: 0,
            FromNodeOutputIndex: 4,
            GraphOutputIndex: 8,
            Name: 16
        });
        assert_layout!(DML_INTERMEDIATE_GRAPH_EDGE_DESC, 24, {
            FromNodeIndex: 0,
            FromNodeOutputIndex: 4,
            ToNodeIndex: 8,
            ToNodeInputIndex: 12,
            Name: 16
        });
    }

    #[test]
    fn small_values_have_directml_s_layout() {
        assert_layout!(DML_SCALAR_UNION, 8, { Bytes: 0 });
        assert_eq!(align_of::<DML_SCALAR_UNION>(), 8);
        assert_layout!(DML_SCALE_BIAS, 8, { Scale: 0, Bias: 4 });
        assert_layout!(DML_SIZE_2D, 8, { Width: 0, Height: 4 });
    }

    #[test]
    fn scalars_convert_in_both_directions() {
        let scalar = ScalarUnion::from(-2.5f64);
        assert_eq!(ScalarUnion::from(DML_SCALAR_UNION::from(scalar)), scalar);
    }
}
