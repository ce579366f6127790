//! DirectML's structs and numbers: compared with the `windows` crate as far as that goes (feature levels
//! to 5_0, operators to 149), with DirectML.h of version 1.15 beyond.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::mem::{align_of, offset_of, size_of};

use dml::core::operators::OPERATORS;
use dml::{DataType, FeatureLevel};
use windows::Win32::AI::MachineLearning::DirectML as win;

const TYPES: &str = include_str!("../include/dmlvk/directml_types.h");

/// Asserts that a struct of ours and the one of the same name in the `windows` crate agree.
macro_rules! same {
    ($($name:ident { $($field:ident),* })*) => {$(
        assert_eq!(size_of::<dmlvk::$name>(), size_of::<win::$name>(), stringify!($name));
        assert_eq!(align_of::<dmlvk::$name>(), align_of::<win::$name>(), stringify!($name));
        $(assert_eq!(
            offset_of!(dmlvk::$name, $field),
            offset_of!(win::$name, $field),
            stringify!($name::$field)
        );)*
    )*};
}

#[test]
fn structs_are_laid_out_as_in_the_windows_crate() {
    same! {
        DML_TENSOR_DESC { Type, Desc }
        DML_OPERATOR_DESC { Type, Desc }
        DML_BUFFER_TENSOR_DESC {
            DataType, Flags, DimensionCount, Sizes, Strides, TotalTensorSizeInBytes,
            GuaranteedBaseOffsetAlignment
        }
        DML_SCALE_BIAS { Scale, Bias }
        DML_SIZE_2D { Width, Height }
        DML_SCALAR_UNION { Bytes }
        DML_GRAPH_DESC {
            InputCount, OutputCount, NodeCount, Nodes, InputEdgeCount, InputEdges, OutputEdgeCount,
            OutputEdges, IntermediateEdgeCount, IntermediateEdges
        }
        DML_GRAPH_NODE_DESC { Type, Desc }
        DML_OPERATOR_GRAPH_NODE_DESC { Operator, Name }
        DML_GRAPH_EDGE_DESC { Type, Desc }
        DML_INPUT_GRAPH_EDGE_DESC { GraphInputIndex, ToNodeIndex, ToNodeInputIndex, Name }
        DML_OUTPUT_GRAPH_EDGE_DESC { FromNodeIndex, FromNodeOutputIndex, GraphOutputIndex, Name }
        DML_INTERMEDIATE_GRAPH_EDGE_DESC {
            FromNodeIndex, FromNodeOutputIndex, ToNodeIndex, ToNodeInputIndex, Name
        }
        DML_BINDING_PROPERTIES {
            RequiredDescriptorCount, TemporaryResourceSize, PersistentResourceSize
        }
        DML_FEATURE_QUERY_FEATURE_LEVELS { RequestedFeatureLevelCount, RequestedFeatureLevels }
        DML_FEATURE_DATA_FEATURE_LEVELS { MaxSupportedFeatureLevel }
        DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT { DataType }
        DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT { IsSupported }
    }
}

/// The constants of the header's enums and macros: names and numbers.
fn header() -> BTreeMap<&'static str, u32> {
    let number = |text: &str| {
        let text = text.trim_end_matches(',');
        match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    let entry = |line: &'static str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [name, "=", value] | ["#define", name, value] if name.starts_with("DML_") => {
                Some((name, number(value)?))
            }
            _ => None,
        }
    };
    TYPES.lines().filter_map(entry).collect()
}

macro_rules! values {
    ($($name:ident),* $(,)?) => {
        [$((stringify!($name), win::$name.0)),*]
    };
}

#[test]
fn values_are_those_of_the_windows_crate() {
    let header = header();
    let enums = values![
        DML_TENSOR_DATA_TYPE_UNKNOWN,
        DML_TENSOR_DATA_TYPE_FLOAT32,
        DML_TENSOR_DATA_TYPE_FLOAT16,
        DML_TENSOR_DATA_TYPE_UINT32,
        DML_TENSOR_DATA_TYPE_UINT16,
        DML_TENSOR_DATA_TYPE_UINT8,
        DML_TENSOR_DATA_TYPE_INT32,
        DML_TENSOR_DATA_TYPE_INT16,
        DML_TENSOR_DATA_TYPE_INT8,
        DML_TENSOR_DATA_TYPE_FLOAT64,
        DML_TENSOR_DATA_TYPE_UINT64,
        DML_TENSOR_DATA_TYPE_INT64,
        DML_TENSOR_TYPE_INVALID,
        DML_TENSOR_TYPE_BUFFER,
        DML_TENSOR_FLAG_NONE,
        DML_TENSOR_FLAG_OWNED_BY_DML,
        DML_EXECUTION_FLAG_NONE,
        DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION,
        DML_EXECUTION_FLAG_DISABLE_META_COMMANDS,
        DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE,
        DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT,
        DML_FEATURE_FEATURE_LEVELS,
        DML_GRAPH_NODE_TYPE_INVALID,
        DML_GRAPH_NODE_TYPE_OPERATOR,
        DML_GRAPH_EDGE_TYPE_INVALID,
        DML_GRAPH_EDGE_TYPE_INPUT,
        DML_GRAPH_EDGE_TYPE_OUTPUT,
        DML_GRAPH_EDGE_TYPE_INTERMEDIATE,
        DML_FEATURE_LEVEL_1_0,
        DML_FEATURE_LEVEL_2_0,
        DML_FEATURE_LEVEL_2_1,
        DML_FEATURE_LEVEL_3_0,
        DML_FEATURE_LEVEL_3_1,
        DML_FEATURE_LEVEL_4_0,
        DML_FEATURE_LEVEL_4_1,
        DML_FEATURE_LEVEL_5_0,
        DML_REDUCE_FUNCTION_ARGMAX,
        DML_REDUCE_FUNCTION_LOG_SUM_EXP,
        DML_REDUCE_FUNCTION_SUM_SQUARE,
        DML_MATRIX_TRANSFORM_TRANSPOSE,
        DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        DML_CONVOLUTION_DIRECTION_BACKWARD,
        DML_PADDING_MODE_CONSTANT,
        DML_PADDING_MODE_REFLECTION,
        DML_PADDING_MODE_SYMMETRIC,
        DML_INTERPOLATION_MODE_LINEAR,
        DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL,
        DML_ROUNDING_MODE_TOWARD_INFINITY,
        DML_IS_INFINITY_MODE_NEGATIVE,
        DML_AXIS_DIRECTION_DECREASING,
        DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH,
        DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10,
        DML_OPERATOR_INVALID,
        DML_OPERATOR_ELEMENT_WISE_IDENTITY,
        DML_OPERATOR_GEMM,
        DML_OPERATOR_DIAGONAL_MATRIX,
        DML_OPERATOR_FILL_VALUE_CONSTANT,
        DML_OPERATOR_ROI_ALIGN1,
    ];
    for (name, value) in enums {
        assert_eq!(header.get(name).copied(), u32::try_from(value).ok(), "{name}");
    }
    let constants = [
        ("DML_TENSOR_DIMENSION_COUNT_MAX", win::DML_TENSOR_DIMENSION_COUNT_MAX),
        ("DML_TENSOR_DIMENSION_COUNT_MAX1", win::DML_TENSOR_DIMENSION_COUNT_MAX1),
        ("DML_TEMPORARY_BUFFER_ALIGNMENT", win::DML_TEMPORARY_BUFFER_ALIGNMENT),
        ("DML_PERSISTENT_BUFFER_ALIGNMENT", win::DML_PERSISTENT_BUFFER_ALIGNMENT),
        ("DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT", win::DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT),
    ];
    for (name, value) in constants {
        assert_eq!(header.get(name), Some(&value), "{name}");
    }
}

/// Values that DirectML introduced after the `windows` crate.
#[test]
fn later_values_are_those_of_directml_h() {
    let header = header();
    for (name, value) in [
        ("DML_TENSOR_DATA_TYPE_UINT4", 12),
        ("DML_TENSOR_DATA_TYPE_INT4", 13),
        ("DML_FEATURE_LEVEL_5_1", 0x5100),
        ("DML_FEATURE_LEVEL_5_2", 0x5200),
        ("DML_FEATURE_LEVEL_6_0", 0x6000),
        ("DML_FEATURE_LEVEL_6_1", 0x6100),
        ("DML_FEATURE_LEVEL_6_2", 0x6200),
        ("DML_FEATURE_LEVEL_6_3", 0x6300),
        ("DML_FEATURE_LEVEL_6_4", 0x6400),
        ("DML_OPERATOR_ROI_ALIGN_GRAD", 150),
        ("DML_OPERATOR_ACTIVATION_GELU", 157),
        ("DML_OPERATOR_DIAGONAL_MATRIX1", 163),
        ("DML_OPERATOR_MULTIHEAD_ATTENTION", 164),
        ("DML_OPERATOR_UNFOLD", 177),
        ("DML_GRAPH_NODE_TYPE_CONSTANT", 2),
        ("DML_PADDING_MODE_WRAP", 4),
        ("DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN", 4),
        ("DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT", 2),
    ] {
        assert_eq!(header.get(name), Some(&value), "{name}");
    }
    assert!(TYPES.contains("DML_OPERATOR_SCATTER = DML_OPERATOR_SCATTER_ELEMENTS"));
}

/// The header has the operator types and levels that the library reads.
#[test]
fn the_header_has_every_operator_type_and_level() {
    let header = header();
    for schema in OPERATORS {
        let name = format!("DML_OPERATOR_{}", schema.name);
        assert_eq!(header.get(name.as_str()), Some(&schema.operator_type), "{name}");
        let desc = format!("typedef struct DML_{}_OPERATOR_DESC {{", schema.name);
        assert!(TYPES.contains(&desc), "{desc}");
    }
    for data_type in DataType::ALL {
        let name = format!("DML_TENSOR_DATA_TYPE_{}", data_type.name());
        assert_eq!(header.get(name.as_str()), Some(&data_type.dml_value()), "{name}");
    }
    for level in FeatureLevel::ALL {
        let name = format!("DML_FEATURE_LEVEL_{level}");
        assert_eq!(header.get(name.as_str()), Some(&level.dml_value()), "{name}");
    }
}
