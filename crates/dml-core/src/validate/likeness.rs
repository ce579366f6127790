//! Checks of types and sizes that must equal those of another tensor (`type_of` and `sizes_of`).

use crate::error::Error;
use crate::schema::validated::Validated;
use crate::schema::{FieldKind, FieldSchema, TensorPath};
use crate::tensor::TensorLayout;
use crate::types::InvalidField;

/// Checks every field that must have the type or the sizes of another one. Tensors that are left out are not
/// checked.
pub(super) fn check(operator: &Validated) -> Result<(), Error> {
    let invalid = |field| Error::Invalid { operator: operator.schema().name, field };
    for field in operator.schema().fields {
        if let Some((other, tensor)) = like(operator, field.type_of)? {
            types_match(operator, field, other, tensor).map_err(invalid)?;
        }
        if let Some((other, tensor)) = like(operator, field.sizes_of)? {
            let mut tensors = tensors(operator, field);
            tensors
                .try_for_each(|(path, it)| sizes_match(path, it, other, tensor))
                .map_err(invalid)?;
        }
    }
    Ok(())
}

/// The tensor called `name`, with its name; `None` without a name, or if the tensor is left out.
fn like<'a>(
    operator: &'a Validated,
    name: Option<&'static str>,
) -> Result<Option<(&'static str, &'a TensorLayout)>, Error> {
    let Some(name) = name else { return Ok(None) };
    Ok(operator.tensor(name)?.map(|tensor| (name, tensor)))
}

/// The tensors of a field that are not left out.
fn tensors<'a>(
    operator: &'a Validated,
    field: &'static FieldSchema,
) -> impl Iterator<Item = (TensorPath, &'a TensorLayout)> {
    operator.present_tensors(field.kind).filter(move |(path, _)| path.field == field)
}

fn types_match(
    operator: &Validated,
    field: &'static FieldSchema,
    other: &str,
    tensor: &TensorLayout,
) -> Result<(), InvalidField> {
    let accepted = tensor.data_type();
    // A field that holds a type has no tensors.
    if field.kind == FieldKind::Attribute
        && let Ok(given) = operator.data_type_field(field.name)
    {
        let problem = format!("differs from the type of {other}");
        let invalid = || InvalidField::new(field.name, given, problem, accepted.name());
        return if given == accepted { Ok(()) } else { Err(invalid()) };
    }
    for (path, it) in tensors(operator, field) {
        if it.data_type() != accepted {
            return Err(differs(path, "DataType", other, &it.data_type(), &accepted));
        }
    }
    Ok(())
}

fn sizes_match(
    path: TensorPath,
    tensor: &TensorLayout,
    other: &str,
    like: &TensorLayout,
) -> Result<(), InvalidField> {
    let (given, accepted) = (tensor.sizes(), like.sizes());
    if given.len() != accepted.len() {
        return Err(differs(path, "DimensionCount", other, &given.len(), &accepted.len()));
    }
    if given != accepted {
        let (given, accepted) = (format!("{given:?}"), format!("{accepted:?}"));
        return Err(differs(path, "Sizes", other, &given, &accepted));
    }
    Ok(())
}

/// The error of a tensor whose `member` differs from that of `other`.
fn differs(
    tensor: TensorPath,
    member: &str,
    other: &str,
    given: &impl ToString,
    accepted: &impl ToString,
) -> InvalidField {
    let problem = format!("differs from {other}.{member}");
    InvalidField::new(
        format!("{tensor}.{member}"),
        given.to_string(),
        problem,
        accepted.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::FILL_VALUE_CONSTANT;
    use crate::schema::operator::{AbstractOperator, FieldValue};
    use crate::tensor::TensorDesc;
    use crate::types::{DataType, FeatureLevel, ScalarUnion};
    use crate::validate::validate;

    fn fill(value_data_type: u32, value: ScalarUnion) -> Result<Validated, String> {
        let fields = vec![
            FieldValue::Tensor(Some(TensorDesc::packed(DataType::Float32, &[2]))),
            FieldValue::Uint(value_data_type),
            FieldValue::ScalarUnion(value),
        ];
        let operator = AbstractOperator::new(&FILL_VALUE_CONSTANT, fields).unwrap();
        validate(&operator, FeatureLevel::HIGHEST).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_of_another_type_than_the_output_is_refused() {
        let message = "FILL_VALUE_CONSTANT: ValueDataType: INT32 differs from the type of OutputTensor; \
                       accepted: FLOAT32";
        assert_eq!(fill(6, 1.into()), Err(message.to_owned()));
    }

    #[test]
    fn an_input_that_is_not_like_the_output_is_refused_with_both_values() {
        use crate::operators::DiagonalMatrix1Desc;
        let check = |data_type, sizes: &[u32]| {
            let desc = DiagonalMatrix1Desc {
                input_tensor: Some(TensorDesc::packed(data_type, sizes)),
                output_tensor: TensorDesc::packed(DataType::Float32, &[2, 3]),
                value_data_type: DataType::Float32,
                value: 0.into(),
                diagonal_fill_begin: 0,
                diagonal_fill_end: 1,
            };
            validate(&desc.into(), FeatureLevel::HIGHEST).map_err(|error| error.to_string())
        };
        let operator = check(DataType::Float32, &[2, 3]).unwrap();
        assert_eq!(operator.tensor("InputTensor").unwrap().unwrap().sizes(), [2, 3]);
        assert!(operator.tensor("Value").is_err() && operator.tensor("Input").is_err());
        for (data_type, sizes, message) in [
            (
                DataType::Int32,
                &[2, 3][..],
                "DataType: INT32 differs from OutputTensor.DataType; accepted: FLOAT32",
            ),
            (
                DataType::Float32,
                &[1, 2, 3],
                "DimensionCount: 3 differs from OutputTensor.DimensionCount; accepted: 2",
            ),
            (
                DataType::Float32,
                &[3, 2],
                "Sizes: [3, 2] differs from OutputTensor.Sizes; accepted: [2, 3]",
            ),
        ] {
            let message = format!("DIAGONAL_MATRIX1: InputTensor.{message}");
            assert_eq!(check(data_type, sizes), Err(message));
        }
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
                "FILL_VALUE_CONSTANT: ValueDataType: {number} is not a value of DML_TENSOR_DATA_TYPE; \
                 accepted: 1 (FLOAT32), 2 (FLOAT16), "
            );
            assert!(message.starts_with(&start), "{message}");
        }
    }
}
