//! Checks an operator against the rules of tensors and against a feature level.

mod attributes;
mod levels;

use crate::error::Error;
use crate::schema::operator::{AbstractOperator, FieldValue};
use crate::schema::validated::Validated;
use crate::schema::{FieldKind, FieldSchema, OperatorSchema};
use crate::tensor::{TensorDesc, TensorFlags, TensorLayout};
use crate::types::{FeatureLevel, InvalidField};
use levels::Levels;

/// Checks `operator` for a device that was created at `level`.
///
/// # Errors
/// [`Error::FeatureLevel`] where the level does not accept the operator, a data type or a dimension
/// count; [`Error::Invalid`] where a rule is broken that holds at every level. The first finding is
/// reported, in the order of the fields; the operator's own rule comes last. Where a level refuses
/// several tensors, the one is reported that needs the highest level, or that no level accepts.
///
/// An operator that this runtime does not implement is always refused, and only its levels are
/// checked: [`Error::FeatureLevel`] where no level accepts it, [`Error::Undocumented`],
/// [`Error::FeatureLevel`] where the device's level does not accept it, [`Error::NotImplemented`].
pub fn validate(operator: &AbstractOperator, level: FeatureLevel) -> Result<Validated, Error> {
    let schema = operator.schema();
    if !schema.implemented {
        return Err(levels::refuse_unimplemented(operator, level));
    }
    let levels = Levels::new(operator, level)
        .map_err(|_| levels::refuse_before_introduction(operator, level))?;
    let checker = Checker { schema, levels };
    let tensors = operator
        .fields()
        .iter()
        .zip(schema.fields)
        .map(|(value, field)| match value {
            FieldValue::Tensor(desc) => checker.tensor(field, desc.as_ref()),
            attribute => attributes::check(operator, field, attribute).map(|()| None),
        })
        .collect::<Result<_, _>>()
        .map_err(|error| match error {
            // Naming a level would only lead to the next tensor's refusal.
            Error::FeatureLevel(_) => levels::highest_refusal(operator, level).unwrap_or(error),
            other => other,
        })?;
    let validated = Validated::new(operator.clone(), level, tensors);
    if let Some(rule) = &schema.rule {
        (rule.check)(&validated)?;
    }
    Ok(validated)
}

struct Checker {
    schema: &'static OperatorSchema,
    levels: Levels,
}

impl Checker {
    fn tensor(
        &self,
        field: &FieldSchema,
        desc: Option<&TensorDesc>,
    ) -> Result<Option<TensorLayout>, Error> {
        let Some(desc) = desc else {
            return if field.optional {
                self.levels.left_out(field).map(|()| None)
            } else {
                Err(self.missing(field))
            };
        };
        self.levels.tensor(field, field.name, desc)?;
        let layout = self.layout(field, desc).map_err(|invalid| Error::Invalid {
            operator: self.schema.name,
            field: invalid.inside(field.name),
        })?;
        Ok(Some(layout))
    }

    fn layout(&self, field: &FieldSchema, desc: &TensorDesc) -> Result<TensorLayout, InvalidField> {
        let layout = TensorLayout::new(desc)?;
        if field.kind == FieldKind::Output {
            if layout.flags().contains(TensorFlags::OWNED_BY_DML) {
                let accepted = "NONE; only inputs can be owned";
                let problem = "is set on an output";
                return Err(InvalidField::new("Flags", "OWNED_BY_DML", problem, accepted));
            }
            layout.check_disjoint()?;
        }
        Ok(layout)
    }

    fn missing(&self, field: &FieldSchema) -> Error {
        let invalid = InvalidField::new(field.name, "null", "is missing", "a tensor");
        Error::Invalid { operator: self.schema.name, field: invalid }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unimplemented_tests;
