//! What must hold between the fields of an operator: one function per rule, named in `schema/*.toml`.
//!
//! A rule sees an operator whose fields are all valid by themselves. One of an operator that may be
//! nested also sees it without its tensors, of which nothing has to hold then.

use crate::error::Error;
use crate::schema::validated::Validated;
use crate::schema::{FieldKind, TensorPath};
use crate::tensor::TensorLayout;
use crate::types::InvalidField;

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

/// As [`value_data_type_matches_output`] and [`tensors_match_output`].
pub(crate) fn value_and_input_match_output(operator: &Validated) -> Result<(), Error> {
    value_data_type_matches_output(operator)?;
    tensors_match_output(operator)
}

/// All inputs have the type and the sizes of `OutputTensor`.
pub(crate) fn tensors_match_output(operator: &Validated) -> Result<(), Error> {
    let Some(output) = operator.tensor("OutputTensor")? else { return Ok(()) };
    for (path, input) in inputs(operator) {
        let (given, accepted) = (input.data_type(), output.data_type());
        if given != accepted {
            return Err(differs(operator, path, "DataType", &given, &accepted));
        }
        sizes_match(operator, path, input, output)?;
    }
    Ok(())
}

/// All inputs have the sizes of `OutputTensor`, whatever their types.
pub(crate) fn sizes_match_output(operator: &Validated) -> Result<(), Error> {
    let Some(output) = operator.tensor("OutputTensor")? else { return Ok(()) };
    inputs(operator).try_for_each(|(path, input)| sizes_match(operator, path, input, output))
}

/// The inputs that are not left out.
fn inputs(operator: &Validated) -> impl Iterator<Item = (TensorPath, &TensorLayout)> {
    operator.tensors(FieldKind::Input).filter_map(|(path, input)| Some((path, input?)))
}

fn sizes_match(
    operator: &Validated,
    path: TensorPath,
    input: &TensorLayout,
    output: &TensorLayout,
) -> Result<(), Error> {
    let (given, accepted) = (input.sizes(), output.sizes());
    if given.len() != accepted.len() {
        return Err(differs(operator, path, "DimensionCount", &given.len(), &accepted.len()));
    }
    if given != accepted {
        let (given, accepted) = (format!("{given:?}"), format!("{accepted:?}"));
        return Err(differs(operator, path, "Sizes", &given, &accepted));
    }
    Ok(())
}

/// A refusal of a tensor whose `member` is not that of `OutputTensor`.
fn differs(
    operator: &Validated,
    tensor: TensorPath,
    member: &str,
    given: &impl ToString,
    accepted: &impl ToString,
) -> Error {
    let path = format!("{tensor}.{member}");
    let problem = format!("differs from OutputTensor.{member}");
    let field = InvalidField::new(path, given.to_string(), problem, accepted.to_string());
    Error::Invalid { operator: operator.schema().name, field }
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
                "FILL_VALUE_CONSTANT: ValueDataType: {number} is no number of DML_TENSOR_DATA_TYPE; \
                 accepted: 1 (FLOAT32), 2 (FLOAT16), "
            );
            assert!(message.starts_with(&start), "{message}");
        }
    }
}
