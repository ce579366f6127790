//! The descriptors of operators that tests fill, with the names and the layout of DirectML.h.
#![allow(dead_code, reason = "each test file uses its own part, and the library reads the fields")]
#![allow(unreachable_pub, reason = "a module of several test crates")]
#![allow(non_camel_case_types, non_snake_case, reason = "the names are DirectML's")]

use super::{DML_OPERATOR_DESC, DML_SCALAR_UNION, DML_TENSOR_DESC};

macro_rules! descs {
    ($($name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        #[repr(C)]
        pub struct $name {
            $(pub $field: $type),*
        }
    )*};
}

descs! {
    DML_ACTIVATION_RELU_OPERATOR_DESC {
        InputTensor: *const DML_TENSOR_DESC,
        OutputTensor: *const DML_TENSOR_DESC,
    }
    DML_DIAGONAL_MATRIX_OPERATOR_DESC {
        OutputTensor: *const DML_TENSOR_DESC,
        Offset: i32,
        Value: f32,
    }
    DML_DIAGONAL_MATRIX1_OPERATOR_DESC {
        InputTensor: *const DML_TENSOR_DESC,
        OutputTensor: *const DML_TENSOR_DESC,
        ValueDataType: u32,
        Value: DML_SCALAR_UNION,
        DiagonalFillBegin: i32,
        DiagonalFillEnd: i32,
    }
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC {
        ATensor: *const DML_TENSOR_DESC,
        BTensor: *const DML_TENSOR_DESC,
        OutputTensor: *const DML_TENSOR_DESC,
    }
    DML_GEMM_OPERATOR_DESC {
        ATensor: *const DML_TENSOR_DESC,
        BTensor: *const DML_TENSOR_DESC,
        CTensor: *const DML_TENSOR_DESC,
        OutputTensor: *const DML_TENSOR_DESC,
        TransA: u32,
        TransB: u32,
        Alpha: f32,
        Beta: f32,
        FusedActivation: *const DML_OPERATOR_DESC,
    }
    DML_ROI_ALIGN_GRAD_OPERATOR_DESC {
        InputTensor: *const DML_TENSOR_DESC,
        InputGradientTensor: *const DML_TENSOR_DESC,
        ROITensor: *const DML_TENSOR_DESC,
        BatchIndicesTensor: *const DML_TENSOR_DESC,
        OutputGradientTensor: *const DML_TENSOR_DESC,
        OutputROIGradientTensor: *const DML_TENSOR_DESC,
        ReductionFunction: u32,
        InterpolationMode: u32,
        SpatialScaleX: f32,
        SpatialScaleY: f32,
        InputPixelOffset: f32,
        OutputPixelOffset: f32,
        MinimumSamplesPerOutput: u32,
        MaximumSamplesPerOutput: u32,
        AlignRegionsToCorners: i32,
    }
}
