//! What must hold between the fields of an operator: one function per rule, named in `schema/*.toml`.
//!
//! A rule sees an operator whose fields are all valid by themselves.

use crate::error::{Error, InvalidField};
use crate::validate::Validated;

/// `ValueDataType` is the type of `OutputTensor`.
pub(crate) fn value_data_type_matches_output(operator: &Validated) -> Result<(), Error> {
    let given = operator.data_type_field("ValueDataType")?;
    let accepted = operator.required_tensor("OutputTensor")?.data_type();
    if given == accepted {
        return Ok(());
    }
    let problem = "differs from the type of OutputTensor";
    let field = InvalidField::new("ValueDataType", given, problem, accepted.name());
    Err(Error::Invalid { operator: operator.schema().name, field })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::{DataType, DataTypeSet};
    use crate::feature_level::FeatureLevel;
    use crate::operator::{AbstractOperator, FieldValue};
    use crate::scalar::ScalarUnion;
    use crate::schema::{
        Comparison, FieldKind, FieldSchema, FieldType, OperatorSchema, RankSet, Rule, SupportTable,
        TENSOR_DATA_TYPE, TensorSupport,
    };
    use crate::tensor::TensorDesc;
    use crate::validate::validate;

    /// As FILL_VALUE_CONSTANT, at one level.
    static FILL: OperatorSchema = OperatorSchema {
        name: "FILL",
        operator_type: 9999,
        summary: "a tensor with the same value everywhere",
        implemented: false,
        in_place: false,
        comparison: Comparison::BitExact,
        fields: &[
            FieldSchema::new("OutputTensor", FieldKind::Output, FieldType::Tensor),
            FieldSchema::new("ValueDataType", FieldKind::Attribute, FieldType::Uint)
                .with_enumeration(&TENSOR_DATA_TYPE),
            FieldSchema::new("Value", FieldKind::Attribute, FieldType::ScalarUnion)
                .with_scalar_type("ValueDataType"),
        ],
        rule: Some(Rule {
            name: "value_data_type_matches_output",
            check: value_data_type_matches_output,
        }),
        tables: &[SupportTable {
            level: FeatureLevel::V1_0,
            tensors: &[TensorSupport {
                field: "OutputTensor",
                ranks: RankSet::range(1, 8),
                data_types: DataTypeSet::ALL,
            }],
        }],
    };

    fn fill(value_data_type: u32, value: ScalarUnion) -> Result<Validated, String> {
        let fields = vec![
            FieldValue::Tensor(Some(TensorDesc::packed(DataType::Float32, &[2]))),
            FieldValue::Uint(value_data_type),
            FieldValue::ScalarUnion(value),
        ];
        let operator = AbstractOperator::new(&FILL, fields).unwrap();
        validate(&operator, FeatureLevel::V1_0).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_of_another_type_than_the_output_is_refused() {
        let message = "FILL: ValueDataType: INT32 differs from the type of OutputTensor; \
                       accepted: FLOAT32";
        assert_eq!(fill(6, 1.into()), Err(message.to_owned()));
    }

    #[test]
    fn what_the_rule_accepts_is_reached_by_name() {
        let operator = fill(1, 1.5f32.into()).unwrap();
        assert_eq!(operator.uint("ValueDataType"), Ok(1));
        assert_eq!(operator.data_type_field("ValueDataType"), Ok(DataType::Float32));
        assert_eq!(operator.scalar("Value"), Ok(ScalarUnion::from(1.5f32)));
        assert!(operator.uint("Value").is_err() && operator.scalar("ValueDataType").is_err());
    }

    #[test]
    fn a_number_of_no_data_type_is_refused_before_the_rule() {
        for number in [0, 14, 99] {
            let message = fill(number, 1.into()).unwrap_err();
            let start = format!(
                "FILL: ValueDataType: {number} is no number of DML_TENSOR_DATA_TYPE; \
                 accepted: 1 (FLOAT32), 2 (FLOAT16), "
            );
            assert!(message.starts_with(&start), "{message}");
        }
    }
}
