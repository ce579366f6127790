//! Checks an operator against the rules of tensors and against a feature level.

mod attributes;
mod levels;

use crate::error::{Error, InvalidField};
use crate::schema::operator::{AbstractOperator, FieldValue};
use crate::schema::{FieldKind, FieldSchema, OperatorSchema};
use crate::tensor::{TensorDesc, TensorFlags, TensorLayout};
use crate::types::{DataType, FeatureLevel, ScalarUnion};
use levels::Levels;

/// An operator that a feature level accepts. There is no other way to make one than [`validate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    operator: AbstractOperator,
    level: FeatureLevel,
    /// In the order of the schema's fields; `None` for attributes and for tensors left out.
    tensors: Vec<Option<TensorLayout>>,
}

/// Checks `operator` for a device that was created at `level`.
///
/// # Errors
/// [`Error::FeatureLevel`] where the level does not accept the operator, a data type or a dimension
/// count; [`Error::Invalid`] where a rule is broken that holds at every level. The first finding is
/// reported, in the order of the fields; the operator's own rule comes last.
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
        .collect::<Result<_, _>>()?;
    let validated = Validated { operator: operator.clone(), level, tensors };
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

impl Validated {
    /// Which operator it is.
    pub fn schema(&self) -> &'static OperatorSchema {
        self.operator.schema()
    }

    /// The level that it was checked against.
    pub fn level(&self) -> FeatureLevel {
        self.level
    }

    /// The checked tensors of one kind, with their fields, in DirectML's binding order; `None`
    /// where an optional tensor is left out.
    pub fn tensors(
        &self,
        kind: FieldKind,
    ) -> impl Iterator<Item = (&'static FieldSchema, Option<&TensorLayout>)> {
        let fields = self.schema().fields.iter().zip(&self.tensors);
        fields.filter(move |(field, _)| field.kind == kind).map(|(f, t)| (f, t.as_ref()))
    }

    /// The tensor of a field that cannot be left out.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn required_tensor(&self, name: &str) -> Result<&TensorLayout, Error> {
        self.position(name)
            .and_then(|index| self.tensors[index].as_ref())
            .ok_or_else(|| self.no_such_field(name, "tensor"))
    }

    /// The tensor of a field; `None` where it is left out.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn tensor(&self, name: &str) -> Result<Option<&TensorLayout>, Error> {
        match (self.position(name), self.field(name)) {
            (Some(index), Some(FieldValue::Tensor(_))) => Ok(self.tensors[index].as_ref()),
            _ => Err(self.no_such_field(name, "tensor")),
        }
    }

    /// The value of an `INT` field.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn int(&self, name: &str) -> Result<i32, Error> {
        match self.field(name) {
            Some(FieldValue::Int(value)) => Ok(*value),
            _ => Err(self.no_such_field(name, "INT")),
        }
    }

    /// The value of a `FLOAT` field.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn float(&self, name: &str) -> Result<f32, Error> {
        match self.field(name) {
            Some(FieldValue::Float(value)) => Ok(*value),
            _ => Err(self.no_such_field(name, "FLOAT")),
        }
    }

    /// The value of a `UINT` field.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn uint(&self, name: &str) -> Result<u32, Error> {
        match self.field(name) {
            Some(FieldValue::Uint(value)) => Ok(*value),
            _ => Err(self.no_such_field(name, "UINT")),
        }
    }

    /// The value of a `UINT` field that holds a data type.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn data_type_field(&self, name: &str) -> Result<DataType, Error> {
        DataType::from_dml_value(self.uint(name)?)
            .ok_or_else(|| self.no_such_field(name, "data type"))
    }

    /// The value of a scalar union.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn scalar(&self, name: &str) -> Result<ScalarUnion, Error> {
        match self.field(name) {
            Some(FieldValue::ScalarUnion(value)) => Ok(*value),
            _ => Err(self.no_such_field(name, "scalar")),
        }
    }

    fn field(&self, name: &str) -> Option<&FieldValue> {
        self.operator.field(name)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.schema().fields.iter().position(|field| field.name == name)
    }

    fn no_such_field(&self, name: &str, kind: &str) -> Error {
        Error::internal(self.schema().name, format!("no {kind} field {name}"))
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unimplemented_tests;
