//! The one form of an operator that every front end converts to.

use crate::error::Error;
use crate::schema::{FieldType, OperatorSchema};
use crate::tensor::TensorDesc;
use crate::types::{InvalidField, ScalarUnion};

/// The value of one field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// A tensor; `None` where it is left out.
    Tensor(Option<TensorDesc>),
    /// An array of tensors.
    TensorArray(Vec<TensorDesc>),
    /// A nested operator, such as a fused activation; `None` where it is left out.
    OperatorDesc(Option<Box<AbstractOperator>>),
    /// An array of operators, such as a recurrent network's activations.
    OperatorDescArray(Vec<AbstractOperator>),
    /// `UINT`
    Uint(u32),
    /// `UINT64`
    Uint64(u64),
    /// `INT`
    Int(i32),
    /// `FLOAT`
    Float(f32),
    /// `const UINT*`
    UintArray(Vec<u32>),
    /// `const INT*`
    IntArray(Vec<i32>),
    /// `const FLOAT*`
    FloatArray(Vec<f32>),
    /// Scale and bias; `None` where it is left out.
    ScaleBias(Option<[f32; 2]>),
    /// Width and height.
    Size2d([u32; 2]),
    /// A scalar; a field beside it tells the type.
    ScalarUnion(ScalarUnion),
    /// `BOOL`
    Bool(bool),
}

impl FieldValue {
    fn field_type(&self) -> FieldType {
        match self {
            Self::Tensor(_) => FieldType::Tensor,
            Self::TensorArray(_) => FieldType::TensorArray,
            Self::OperatorDesc(_) => FieldType::OperatorDesc,
            Self::OperatorDescArray(_) => FieldType::OperatorDescArray,
            Self::Uint(_) => FieldType::Uint,
            Self::Uint64(_) => FieldType::Uint64,
            Self::Int(_) => FieldType::Int,
            Self::Float(_) => FieldType::Float,
            Self::UintArray(_) => FieldType::UintArray,
            Self::IntArray(_) => FieldType::IntArray,
            Self::FloatArray(_) => FieldType::FloatArray,
            Self::ScaleBias(_) => FieldType::ScaleBias,
            Self::Size2d(_) => FieldType::Size2d,
            Self::ScalarUnion(_) => FieldType::ScalarUnion,
            Self::Bool(_) => FieldType::Bool,
        }
    }
}

/// An operator and the values of its fields, unchecked but for their types.
///
/// Of an operator whose schema does not describe every attribute
/// ([`OperatorSchema::fields_complete`]) it holds what the schema does describe: enough to ask what
/// a feature level accepts, not enough to execute it.
#[derive(Clone, Debug, PartialEq)]
pub struct AbstractOperator {
    schema: &'static OperatorSchema,
    fields: Vec<FieldValue>,
}

impl AbstractOperator {
    /// An operator from field values in the schema's order.
    ///
    /// # Errors
    /// The number or the type of a value is not the schema's.
    pub fn new(schema: &'static OperatorSchema, fields: Vec<FieldValue>) -> Result<Self, Error> {
        let invalid = |field| Error::Invalid { operator: schema.name, field };
        if fields.len() != schema.fields.len() {
            let accepted = schema.fields.len().to_string();
            let count = fields.len();
            return Err(invalid(InvalidField::new("fields", count, "given", accepted)));
        }
        for (value, field) in fields.iter().zip(schema.fields) {
            if value.field_type() != field.field_type {
                let given = format!("{:?}", value.field_type());
                let accepted = format!("{:?}", field.field_type);
                return Err(invalid(InvalidField::new(
                    field.name,
                    given,
                    "is the wrong type",
                    accepted,
                )));
            }
        }
        Ok(Self { schema, fields })
    }

    /// For descriptors whose Rust type already has the schema's fields; tests prove that it does.
    pub(crate) fn from_typed(schema: &'static OperatorSchema, fields: Vec<FieldValue>) -> Self {
        Self { schema, fields }
    }

    /// Which operator it is.
    pub fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    /// The values, in the schema's order.
    pub fn fields(&self) -> &[FieldValue] {
        &self.fields
    }

    /// The value of the field with DirectML's name `name`; `None` where the schema has no such
    /// field.
    pub fn field(&self, name: &str) -> Option<&FieldValue> {
        let index = self.schema.fields.iter().position(|field| field.name == name)?;
        self.fields.get(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::DIAGONAL_MATRIX;

    #[test]
    fn a_missing_field_is_refused() {
        let error = AbstractOperator::new(&DIAGONAL_MATRIX, vec![]).unwrap_err();
        assert_eq!(error.to_string(), "DIAGONAL_MATRIX: fields: 0 given; accepted: 3");
    }

    #[test]
    fn a_field_of_another_type_is_refused() {
        let fields = vec![FieldValue::Tensor(None), FieldValue::Uint(0), FieldValue::Float(1.0)];
        let error = AbstractOperator::new(&DIAGONAL_MATRIX, fields).unwrap_err();
        assert_eq!(
            error.to_string(),
            "DIAGONAL_MATRIX: Offset: Uint is the wrong type; accepted: Int"
        );
    }
}
