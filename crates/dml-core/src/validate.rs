//! Checks an operator against the rules of tensors and against a feature level.

mod known;
mod levels;
mod likeness;
mod nested;
mod values;

use crate::error::Error;
use crate::schema::operator::{AbstractOperator, FieldValue, element_path};
use crate::schema::validated::{CheckedField, Validated};
use crate::schema::{FieldKind, FieldSchema};
use crate::tensor::{TensorDesc, TensorFlags, TensorLayout};
use crate::types::{FeatureLevel, InvalidField};
pub use known::KnownOperators;
use levels::Levels;

/// Checks `operator` for a device that was created at `level`.
///
/// # Errors
/// [`Error::FeatureLevel`] if the level does not accept the operator, a data type, a dimension count or a
/// nested operator; [`Error::NestedNotImplemented`] if this runtime does not implement a nested operator;
/// [`Error::Invalid`] if a rule of all levels is broken. The first error is reported, in the order of the
/// fields; the operator's own rule comes last. If a level refuses several tensors or nested operators, the
/// one that no level accepts or that needs the highest level is reported.
///
/// An operator that this runtime does not implement is always refused, and only its levels are checked:
/// [`Error::FeatureLevel`] if no level accepts it, [`Error::Undocumented`], [`Error::FeatureLevel`] if the
/// device's level does not accept it, [`Error::NotImplemented`].
pub fn validate(operator: &AbstractOperator, level: FeatureLevel) -> Result<Validated, Error> {
    let schema = operator.schema();
    if !schema.implemented {
        return Err(levels::refuse_unimplemented(operator, level));
    }
    let levels = Levels::new(operator, level)
        .map_err(|_| levels::refuse_before_introduction(operator, level))?;
    let checker = Checker { operator, level, levels };
    let fields = operator
        .fields()
        .iter()
        .zip(schema.fields)
        .map(|(value, field)| checker.field(field, value))
        .collect::<Result<_, _>>()
        .map_err(|error| match error {
            // Name the highest needed level, so that a device of that level accepts all fields.
            Error::FeatureLevel(_) => levels::highest_refusal(operator, level).unwrap_or(error),
            other => other,
        })?;
    let validated = Validated::new(operator.clone(), level, fields);
    likeness::check(&validated)?;
    if let Some(rule) = &schema.rule {
        (rule.check)(&validated)?;
    }
    Ok(validated)
}

struct Checker<'a> {
    operator: &'a AbstractOperator,
    level: FeatureLevel,
    levels: Levels,
}

impl Checker<'_> {
    fn field(
        &self,
        field: &'static FieldSchema,
        value: &FieldValue,
    ) -> Result<CheckedField, Error> {
        values::check(self.operator, field, value).map_err(|field| self.invalid(field))?;
        Ok(match value {
            FieldValue::Tensor(None) => {
                self.levels.left_out(field)?;
                CheckedField::Tensor(None)
            }
            FieldValue::Tensor(Some(desc)) => {
                CheckedField::Tensor(Some(self.tensor(field, field.name, desc)?))
            }
            FieldValue::TensorArray(descs) => {
                let checked = elements(field, descs, |path, desc| self.tensor(field, path, desc));
                CheckedField::TensorArray(checked?)
            }
            FieldValue::OperatorDesc(nested) => {
                let nested = nested.iter().map(|nested| self.nested(field.name, nested));
                CheckedField::Operators(nested.collect::<Result<_, _>>()?)
            }
            FieldValue::OperatorDescArray(operators) => {
                let checked = elements(field, operators, |path, nested| self.nested(path, nested));
                CheckedField::Operators(checked?)
            }
            _ => CheckedField::Attribute,
        })
    }

    /// Checks the tensor at `path`, which is `field` or an element of it.
    fn tensor(
        &self,
        field: &FieldSchema,
        path: &str,
        desc: &TensorDesc,
    ) -> Result<TensorLayout, Error> {
        self.levels.tensor(field, path, desc)?;
        self.layout(field, desc).map_err(|invalid| self.invalid(invalid.inside(path)))
    }

    fn nested(&self, path: &str, nested: &AbstractOperator) -> Result<Validated, Error> {
        nested::check(self.operator.schema(), &self.levels, path, nested, self.level)
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

    fn invalid(&self, field: InvalidField) -> Error {
        Error::Invalid { operator: self.operator.schema().name, field }
    }
}

/// Checks the elements of an array, each with its path.
fn elements<T, U>(
    field: &FieldSchema,
    elements: &[T],
    check: impl Fn(&str, &T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    let pairs = elements.iter().enumerate();
    pairs.map(|(index, element)| check(&element_path(field.name, index), element)).collect()
}

#[cfg(test)]
mod array_tests;
#[cfg(test)]
mod nested_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unimplemented_tests;
