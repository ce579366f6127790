//! Operators that have been checked.

use super::operator::{AbstractOperator, FieldValue};
use super::{FieldKind, FieldSchema, OperatorSchema};
use crate::error::Error;
use crate::tensor::TensorLayout;
use crate::types::{DataType, FeatureLevel, ScalarUnion};

/// An operator that a feature level accepts. There is no other way to make one than
/// [`crate::validate()`].
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    operator: AbstractOperator,
    level: FeatureLevel,
    /// In the order of the schema's fields; `None` for attributes and for tensors left out.
    tensors: Vec<Option<TensorLayout>>,
}

/// A method for each type of attribute.
macro_rules! attributes {
    ($($method:ident, $variant:ident: $type:ty = $kind:literal;)*) => {$(
        #[doc = concat!("The value of a field of type ", $kind, ".")]
        ///
        /// # Errors
        /// [`Error::Internal`]: the schema has no such field.
        pub fn $method(&self, name: &str) -> Result<$type, Error> {
            match self.operator.field(name) {
                Some(FieldValue::$variant(value)) => Ok(*value),
                _ => Err(self.no_such_field(name, $kind)),
            }
        }
    )*};
}

impl Validated {
    /// `tensors` are the checked ones, in the order of the schema's fields.
    pub(crate) fn new(
        operator: AbstractOperator,
        level: FeatureLevel,
        tensors: Vec<Option<TensorLayout>>,
    ) -> Self {
        Self { operator, level, tensors }
    }

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
        match (self.position(name), self.operator.field(name)) {
            (Some(index), Some(FieldValue::Tensor(_))) => Ok(self.tensors[index].as_ref()),
            _ => Err(self.no_such_field(name, "tensor")),
        }
    }

    attributes! {
        int, Int: i32 = "INT";
        uint, Uint: u32 = "UINT";
        float, Float: f32 = "FLOAT";
        scalar, ScalarUnion: ScalarUnion = "scalar union";
        scale_bias, ScaleBias: Option<[f32; 2]> = "scale and bias";
    }

    /// The value of a `UINT` field that holds a data type.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn data_type_field(&self, name: &str) -> Result<DataType, Error> {
        DataType::from_dml_value(self.uint(name)?)
            .ok_or_else(|| self.no_such_field(name, "data type"))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.schema().fields.iter().position(|field| field.name == name)
    }

    fn no_such_field(&self, name: &str, kind: &str) -> Error {
        Error::internal(self.schema().name, format!("no {kind} field {name}"))
    }
}
