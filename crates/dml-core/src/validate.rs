//! Checks an operator against the rules of tensors and against a feature level.

mod attributes;

use crate::data_type::DataType;
use crate::error::{Error, InvalidField, LevelRefusal};
use crate::feature_level::FeatureLevel;
use crate::layout::TensorLayout;
use crate::operator::{AbstractOperator, FieldValue};
use crate::scalar::ScalarUnion;
use crate::schema::{FieldKind, FieldSchema, OperatorSchema, SupportTable, TensorSupport};
use crate::tensor::{MAX_DIMENSION_COUNT, TensorDesc, TensorFlags};

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
pub fn validate(operator: &AbstractOperator, level: FeatureLevel) -> Result<Validated, Error> {
    let schema = operator.schema();
    let table = schema.table_at(level).ok_or_else(|| {
        Error::FeatureLevel(Box::new(LevelRefusal {
            operator: schema.name,
            field: None,
            needs: Some(schema.introduced()),
            created_at: level,
            allowed: None,
        }))
    })?;
    let checker = Checker { schema, table, level };
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
    table: &'static SupportTable,
    level: FeatureLevel,
}

impl Checker {
    fn tensor(
        &self,
        field: &FieldSchema,
        desc: Option<&TensorDesc>,
    ) -> Result<Option<TensorLayout>, Error> {
        let Some(desc) = desc else {
            return if field.optional { Ok(None) } else { Err(self.missing(field)) };
        };
        let support = self.table.tensor(field.name).ok_or_else(|| {
            let problem = format!("no support table for {} at {}", field.name, self.table.level);
            Error::internal(self.schema.name, problem)
        })?;
        self.data_type(support, desc)?;
        self.rank(support, desc)?;
        let layout = self.layout(field, desc).map_err(|invalid| Error::Invalid {
            operator: self.schema.name,
            field: invalid.inside(field.name),
        })?;
        Ok(Some(layout))
    }

    fn data_type(&self, support: &TensorSupport, desc: &TensorDesc) -> Result<(), Error> {
        if support.data_types.contains(desc.data_type) {
            return Ok(());
        }
        let needs = self.schema.lowest_level(|table| {
            table.tensor(support.field).is_some_and(|s| s.data_types.contains(desc.data_type))
        });
        let given = (format!("{}.DataType", support.field), desc.data_type.to_string());
        Err(self.refusal(given, needs, support.data_types.to_string()))
    }

    /// Counts that no tensor can have are left to the rules of tensors.
    fn rank(&self, support: &TensorSupport, desc: &TensorDesc) -> Result<(), Error> {
        let rank = desc.sizes.len();
        if support.ranks.contains(rank) || rank == 0 || rank > MAX_DIMENSION_COUNT {
            return Ok(());
        }
        let needs = self.schema.lowest_level(|table| {
            table
                .tensor(support.field)
                .is_some_and(|s| s.ranks.contains(rank) && s.data_types.contains(desc.data_type))
        });
        let given = (format!("{}.DimensionCount", support.field), rank.to_string());
        Err(self.refusal(given, needs, support.ranks.to_string()))
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

    fn refusal(
        &self,
        given: (String, String),
        needs: Option<FeatureLevel>,
        allowed: String,
    ) -> Error {
        Error::FeatureLevel(Box::new(LevelRefusal {
            operator: self.schema.name,
            field: Some(given),
            needs,
            created_at: self.level,
            allowed: Some(allowed),
        }))
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
