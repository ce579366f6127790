//! The operators that this runtime knows: one row each, and the descriptor that a caller fills.
//!
//! A row states what DirectML's page of the operator states under "Tensor support".

use crate::data_type::{DataType, DataTypeSet};
use crate::feature_level::FeatureLevel;
use crate::operator::{AbstractOperator, FieldValue};
use crate::schema::{
    Comparison, FieldKind, FieldSchema, FieldType, OperatorSchema, RankSet, SupportTable,
    TensorSupport,
};
use crate::tensor::TensorDesc;

/// Every row, by ascending operator number.
pub static OPERATORS: &[&OperatorSchema] = &[&DIAGONAL_MATRIX];

/// The row of the operator called `name` (DirectML's name in any case, with or without the prefix
/// `DML_OPERATOR_`).
pub fn find(name: &str) -> Option<&'static OperatorSchema> {
    let upper = name.to_ascii_uppercase();
    let name = upper.strip_prefix("DML_OPERATOR_").unwrap_or(&upper);
    OPERATORS.iter().copied().find(|schema| schema.name == name)
}

const FLOATS_16_32: DataTypeSet = DataTypeSet::of(&[DataType::Float32, DataType::Float16]);
const SCALARS_8_TO_32: DataTypeSet = FLOATS_16_32.with(&[
    DataType::Int32,
    DataType::Int16,
    DataType::Int8,
    DataType::Uint32,
    DataType::Uint16,
    DataType::Uint8,
]);
const SCALARS_8_TO_64: DataTypeSet =
    SCALARS_8_TO_32.with(&[DataType::Float64, DataType::Int64, DataType::Uint64]);

/// DML_OPERATOR_DIAGONAL_MATRIX, introduced at level 2_0.
pub static DIAGONAL_MATRIX: OperatorSchema = OperatorSchema {
    name: "DIAGONAL_MATRIX",
    operator_type: 93,
    comparison: Comparison::BitExact,
    fields: &[
        FieldSchema {
            name: "OutputTensor",
            kind: FieldKind::Output,
            field_type: FieldType::Tensor,
            optional: false,
        },
        FieldSchema {
            name: "Offset",
            kind: FieldKind::Attribute,
            field_type: FieldType::Int,
            optional: false,
        },
        FieldSchema {
            name: "Value",
            kind: FieldKind::Attribute,
            field_type: FieldType::Float,
            optional: false,
        },
    ],
    tables: &[
        SupportTable {
            level: FeatureLevel::V2_0,
            tensors: &[TensorSupport {
                field: "OutputTensor",
                ranks: RankSet::range(4, 4),
                data_types: FLOATS_16_32,
            }],
        },
        SupportTable {
            level: FeatureLevel::V2_1,
            tensors: &[TensorSupport {
                field: "OutputTensor",
                ranks: RankSet::range(4, 4),
                data_types: SCALARS_8_TO_32,
            }],
        },
        SupportTable {
            level: FeatureLevel::V4_0,
            tensors: &[TensorSupport {
                field: "OutputTensor",
                ranks: RankSet::range(2, 4),
                data_types: SCALARS_8_TO_32,
            }],
        },
        SupportTable {
            level: FeatureLevel::V5_1,
            tensors: &[TensorSupport {
                field: "OutputTensor",
                ranks: RankSet::range(2, 4),
                data_types: SCALARS_8_TO_64,
            }],
        },
    ],
};

/// DML_DIAGONAL_MATRIX_OPERATOR_DESC: a stack of matrices with `value` along one diagonal and zeros
/// elsewhere.
///
/// `out[.., y, x] = (y + offset == x) ? value : 0`, in unbounded integer arithmetic. Dimensions
/// before the last two are batches.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagonalMatrixDesc {
    /// What is written: 2 to 4 dimensions.
    pub output_tensor: TensorDesc,
    /// Which diagonal: positive is right and up, negative left and down.
    pub offset: i32,
    /// Converted to the tensor's type as [`crate::value::element_bits`] states.
    pub value: f32,
}

impl From<DiagonalMatrixDesc> for AbstractOperator {
    fn from(desc: DiagonalMatrixDesc) -> Self {
        Self::from_typed(
            &DIAGONAL_MATRIX,
            vec![
                FieldValue::Tensor(Some(desc.output_tensor)),
                FieldValue::Int(desc.offset),
                FieldValue::Float(desc.value),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_found_by_name() {
        assert_eq!(find("diagonal_matrix"), Some(&DIAGONAL_MATRIX));
        assert_eq!(find("DML_OPERATOR_DIAGONAL_MATRIX"), Some(&DIAGONAL_MATRIX));
        assert_eq!(find("GEMM"), None);
    }

    #[test]
    fn the_typed_descriptor_has_the_fields_of_its_row() {
        let desc = DiagonalMatrixDesc {
            output_tensor: TensorDesc::packed(DataType::Float32, &[3, 3]),
            offset: 0,
            value: 1.0,
        };
        let operator = AbstractOperator::from(desc);
        let fields = operator.fields().to_vec();
        assert_eq!(AbstractOperator::new(&DIAGONAL_MATRIX, fields), Ok(operator));
    }
}
