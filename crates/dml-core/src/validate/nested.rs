//! Operators that are nested in another one, such as a fused activation. They use the outer operator's
//! tensors, so they only have attributes.

use super::levels::Levels;
use super::values;
use crate::error::Error;
use crate::operators::implemented_in;
use crate::schema::operator::{AbstractOperator, FieldValue};
use crate::schema::validated::{CheckedField, Validated};
use crate::schema::{FieldSchema, OperatorSchema};
use crate::types::{FeatureLevel, InvalidField};

/// Checks `nested`, which is at `path` in the operator `outer`.
pub(super) fn check(
    outer: &'static OperatorSchema,
    levels: &Levels,
    path: &str,
    nested: &AbstractOperator,
    level: FeatureLevel,
) -> Result<Validated, Error> {
    let schema = nested.schema();
    levels.nested(path, schema)?;
    if !schema.implemented {
        return Err(Error::NestedNotImplemented {
            operator: outer.name,
            field: path.to_owned(),
            nested: schema.name,
            implemented: implemented_names(outer),
        });
    }
    let fields = nested.fields().iter().zip(schema.fields);
    let checked = fields.map(|(value, field)| self::field(nested, field, value));
    let checked: Vec<CheckedField> = checked
        .collect::<Result<_, _>>()
        .map_err(|field| Error::Invalid { operator: outer.name, field: field.inside(path) })?;
    let validated = Validated::new(nested.clone(), level, checked);
    if let Some(rule) = &schema.rule {
        (rule.check)(&validated).map_err(|error| error.inside(outer.name, path))?;
    }
    Ok(validated)
}

/// The names of the operators that this runtime fuses into `outer`, for messages.
fn implemented_names(outer: &OperatorSchema) -> String {
    let names: Vec<&str> = implemented_in(outer).map(|it| it.name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn field(
    nested: &AbstractOperator,
    field: &FieldSchema,
    value: &FieldValue,
) -> Result<CheckedField, InvalidField> {
    match value {
        FieldValue::Tensor(None) => Ok(CheckedField::Tensor(None)),
        FieldValue::Tensor(Some(_)) => {
            let problem = "is given in a nested operator, which has none of its own";
            Err(InvalidField::new(field.name, "a tensor", problem, "null"))
        }
        attribute => values::check(nested, field, attribute).map(|()| CheckedField::Attribute),
    }
}
