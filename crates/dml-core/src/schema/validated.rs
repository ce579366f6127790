//! Operators that have been checked.

use super::operator::{AbstractOperator, FieldValue, TensorPath, in_order};
use super::{FieldKind, OperatorSchema};
use crate::error::Error;
use crate::tensor::TensorLayout;
use crate::types::{DataType, FeatureLevel, ScalarUnion};

/// An operator that a feature level accepts. There is no other way to make one than
/// [`crate::validate()`].
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    operator: AbstractOperator,
    level: FeatureLevel,
    /// In the order of the schema's fields.
    fields: Vec<CheckedField>,
}

/// The checked value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CheckedField {
    /// A value that is used as it is.
    Attribute,
    /// A tensor; `None` where it is left out.
    Tensor(Option<TensorLayout>),
    /// The elements of an array of tensors.
    TensorArray(Vec<TensorLayout>),
    /// Nested operators: the elements of an array, or at most one operator.
    Operators(Vec<Validated>),
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

/// A method for each type of array.
macro_rules! arrays {
    ($($method:ident, $variant:ident: $type:ty = $kind:literal;)*) => {$(
        #[doc = concat!("The elements of a field that is a ", $kind, ".")]
        ///
        /// # Errors
        /// [`Error::Internal`]: the schema has no such field.
        pub fn $method(&self, name: &str) -> Result<&[$type], Error> {
            match self.operator.field(name) {
                Some(FieldValue::$variant(values)) => Ok(values),
                _ => Err(self.no_such_field(name, $kind)),
            }
        }
    )*};
}

impl Validated {
    /// `fields` are the checked fields, in the schema's order.
    pub(crate) fn new(
        operator: AbstractOperator,
        level: FeatureLevel,
        fields: Vec<CheckedField>,
    ) -> Self {
        Self { operator, level, fields }
    }

    /// The operator that was checked.
    pub fn operator(&self) -> &AbstractOperator {
        &self.operator
    }

    /// Which operator it is.
    pub fn schema(&self) -> &'static OperatorSchema {
        self.operator.schema()
    }

    /// The values of the fields, in the schema's order.
    pub fn values(&self) -> &[FieldValue] {
        self.operator.fields()
    }

    /// The feature level that the operator was checked against.
    pub fn level(&self) -> FeatureLevel {
        self.level
    }

    /// The checked tensors of one kind, with their paths, in DirectML's binding order; `None` for an
    /// optional tensor that is left out, and for the tensors of a nested operator, which uses the outer
    /// operator's. An array contributes all of its elements.
    pub fn tensors(
        &self,
        kind: FieldKind,
    ) -> impl Iterator<Item = (TensorPath, Option<&TensorLayout>)> {
        let fields = self.schema().fields.iter().zip(&self.fields);
        fields.filter(move |(field, _)| field.kind == kind).flat_map(|(f, checked)| match checked {
            CheckedField::Tensor(tensor) => in_order(f, Some(tensor.as_ref()), &[]),
            CheckedField::TensorArray(tensors) => in_order(f, None, tensors),
            CheckedField::Attribute | CheckedField::Operators(_) => in_order(f, None, &[]),
        })
    }

    /// The checked tensors of one kind that are not left out, in DirectML's binding order.
    pub fn present_tensors(
        &self,
        kind: FieldKind,
    ) -> impl Iterator<Item = (TensorPath, &TensorLayout)> {
        self.tensors(kind).filter_map(|(path, tensor)| Some((path, tensor?)))
    }

    /// The tensor of a field that cannot be left out.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn required_tensor(&self, name: &str) -> Result<&TensorLayout, Error> {
        self.tensor(name)?.ok_or_else(|| self.no_such_field(name, "required tensor"))
    }

    /// The tensor of a field; `None` where it is left out.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn tensor(&self, name: &str) -> Result<Option<&TensorLayout>, Error> {
        match self.checked(name) {
            Some(CheckedField::Tensor(tensor)) => Ok(tensor.as_ref()),
            _ => Err(self.no_such_field(name, "tensor")),
        }
    }

    /// The tensors of a field that is an array.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn tensor_array(&self, name: &str) -> Result<&[TensorLayout], Error> {
        match self.checked(name) {
            Some(CheckedField::TensorArray(tensors)) => Ok(tensors),
            _ => Err(self.no_such_field(name, "tensor array")),
        }
    }

    /// The operators that are nested in a field, such as a fused activation: at most one if the field
    /// is not an array.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn nested(&self, name: &str) -> Result<&[Validated], Error> {
        match self.checked(name) {
            Some(CheckedField::Operators(operators)) => Ok(operators),
            _ => Err(self.no_such_field(name, "operator")),
        }
    }

    attributes! {
        int, Int: i32 = "INT";
        uint, Uint: u32 = "UINT";
        float, Float: f32 = "FLOAT";
        bool, Bool: bool = "BOOL";
        scalar, ScalarUnion: ScalarUnion = "scalar union";
        scale_bias, ScaleBias: Option<[f32; 2]> = "scale and bias";
        size_2d, Size2d: [u32; 2] = "size of 2 dimensions";
    }

    arrays! {
        uint_array, UintArray: u32 = "UINT array";
        int_array, IntArray: i32 = "INT array";
        float_array, FloatArray: f32 = "FLOAT array";
    }

    /// The value of a `UINT` field that holds a data type.
    ///
    /// # Errors
    /// [`Error::Internal`]: the schema has no such field.
    pub fn data_type_field(&self, name: &str) -> Result<DataType, Error> {
        DataType::from_dml_value(self.uint(name)?)
            .ok_or_else(|| self.no_such_field(name, "data type"))
    }

    fn checked(&self, name: &str) -> Option<&CheckedField> {
        let index = self.schema().fields.iter().position(|field| field.name == name)?;
        self.fields.get(index)
    }

    fn no_such_field(&self, name: &str, kind: &str) -> Error {
        Error::internal(self.schema().name, format!("no {kind} field {name}"))
    }
}
