//! Rules for the fields of every operator: values of enums, fields that are left out, and lengths of
//! arrays.

use crate::schema::FieldSchema;
use crate::schema::operator::{AbstractOperator, FieldValue};
use crate::types::InvalidField;

/// Checks the value of a single field; for tensors and nested operators, only whether they are given.
pub(super) fn check(
    operator: &AbstractOperator,
    field: &FieldSchema,
    value: &FieldValue,
) -> Result<(), InvalidField> {
    match value {
        FieldValue::Uint(number) => check_enum(field, *number),
        FieldValue::Tensor(None) if !field.optional => {
            Err(InvalidField::new(field.name, "null", "is missing", "a tensor"))
        }
        FieldValue::TensorArray(array) => check_count(operator, field, array.len())
            .and_then(|()| check_not_empty(field, array.len())),
        FieldValue::OperatorDescArray(array) => check_count(operator, field, array.len()),
        FieldValue::UintArray(array) => check_count(operator, field, array.len()),
        FieldValue::IntArray(array) => check_count(operator, field, array.len()),
        FieldValue::FloatArray(array) => check_count(operator, field, array.len()),
        FieldValue::OperatorDesc(None) | FieldValue::ScaleBias(None) if !field.optional => {
            Err(InvalidField::new(field.name, "null", "is missing", "a value"))
        }
        _ => Ok(()),
    }
}

fn check_enum(field: &FieldSchema, number: u32) -> Result<(), InvalidField> {
    match field.enumeration {
        Some(enumeration) if !enumeration.contains(number) => {
            let problem = format!("is not a value of DML_{}", enumeration.name);
            let accepted = enumeration.names_and_numbers();
            Err(InvalidField::new(field.name, number, problem, accepted))
        }
        _ => Ok(()),
    }
}

/// Checks that an array of tensors has at least one tensor, unless it is optional.
fn check_not_empty(field: &FieldSchema, length: usize) -> Result<(), InvalidField> {
    if length > 0 || field.optional {
        return Ok(());
    }
    Err(InvalidField::new(field.name, length, "elements are too few", "at least 1"))
}

/// Checks an array's length against its count field. An optional array may be left out whatever its count is,
/// because other arrays may share the count.
fn check_count(
    operator: &AbstractOperator,
    field: &FieldSchema,
    length: usize,
) -> Result<(), InvalidField> {
    let Some(count_field) = field.count else { return Ok(()) };
    let count = operator.field(count_field);
    let count = if let Some(FieldValue::Uint(count)) = count { *count } else { 0 };
    if u32::try_from(length) == Ok(count) || (field.optional && length == 0) {
        return Ok(());
    }
    let problem = format!("elements, not as many as {count_field} says");
    Err(InvalidField::new(field.name, length, problem, count.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{FieldKind, FieldType, OperatorSchema};

    /// Has arrays that share a count.
    static SPLIT: OperatorSchema = OperatorSchema {
        fields: &[
            FieldSchema::new("Count", FieldKind::Attribute, FieldType::Uint),
            FieldSchema::new("Sizes", FieldKind::Attribute, FieldType::UintArray)
                .with_count("Count"),
            FieldSchema::new("Offsets", FieldKind::Attribute, FieldType::IntArray)
                .with_count("Count")
                .optional(),
            FieldSchema::new("ScaleBias", FieldKind::Attribute, FieldType::ScaleBias),
        ],
        ..OperatorSchema::made_up("SPLIT")
    };

    fn checked(sizes: usize, offsets: usize, scale_bias: Option<[f32; 2]>) -> Result<(), String> {
        let fields = vec![
            FieldValue::Uint(2),
            FieldValue::UintArray(vec![1; sizes]),
            FieldValue::IntArray(vec![1; offsets]),
            FieldValue::ScaleBias(scale_bias),
        ];
        let operator = AbstractOperator::new(&SPLIT, fields).unwrap();
        let mut pairs = SPLIT.fields.iter().zip(operator.fields());
        pairs
            .try_for_each(|(field, value)| check(&operator, field, value))
            .map_err(|error| format!("SPLIT: {error}"))
    }

    #[test]
    fn arrays_are_as_long_as_their_count_says() {
        assert_eq!(checked(2, 2, Some([1.0, 0.0])), Ok(()));
        assert_eq!(checked(2, 0, Some([1.0, 0.0])), Ok(()));
        let problem = "elements, not as many as Count says; accepted: 2";
        assert_eq!(checked(3, 2, None), Err(format!("SPLIT: Sizes: 3 {problem}")));
        assert_eq!(checked(0, 2, None), Err(format!("SPLIT: Sizes: 0 {problem}")));
        assert_eq!(checked(2, 1, None), Err(format!("SPLIT: Offsets: 1 {problem}")));
    }

    #[test]
    fn what_is_not_optional_is_not_left_out() {
        let message = "SPLIT: ScaleBias: null is missing; accepted: a value";
        assert_eq!(checked(2, 2, None), Err(message.to_owned()));
    }
}
