//! The representation of operators that every front end converts to.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{FieldKind, FieldSchema, OperatorSchema, SupportTable};
use crate::error::Error;
use crate::tensor::{TensorDesc, TensorFlags};
use crate::types::{InvalidField, ScalarUnion};

/// [`FieldType`] and [`FieldValue`], from a row for each type: the value, and DirectML's C type.
macro_rules! field_types {
    ($($(#[$doc:meta])* $type:ident($value:ty), $c:literal;)*) => {
        /// The type of a field, in DirectML's own model of operator descriptors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FieldType {
            $(#[doc = $c] $type,)*
        }

        impl FieldType {
            /// The value of a field that is left out: `None`, no elements, or 0.
            pub fn empty_value(self) -> FieldValue {
                match self {
                    $(Self::$type => FieldValue::$type(<$value>::default()),)*
                }
            }
        }

        /// The value of one field.
        #[derive(Clone, Debug, PartialEq)]
        pub enum FieldValue {
            $($(#[$doc])* $type($value),)*
        }

        impl FieldValue {
            fn field_type(&self) -> FieldType {
                match self {
                    $(Self::$type(_) => FieldType::$type,)*
                }
            }
        }
    };
}

field_types! {
    /// A tensor; `None` where it is left out.
    Tensor(Option<TensorDesc>), "`const DML_TENSOR_DESC*`";
    /// An array of tensors.
    TensorArray(Vec<TensorDesc>), "`const DML_TENSOR_DESC*` with a count";
    /// A nested operator, such as a fused activation; `None` where it is left out.
    OperatorDesc(Option<Box<AbstractOperator>>), "`const DML_OPERATOR_DESC*`";
    /// An array of operators, such as a recurrent network's activations.
    OperatorDescArray(Vec<AbstractOperator>), "`const DML_OPERATOR_DESC*` with a count";
    /// `UINT`
    Uint(u32), "`UINT`";
    /// `UINT64`
    Uint64(u64), "`UINT64`";
    /// `INT`
    Int(i32), "`INT`";
    /// `FLOAT`
    Float(f32), "`FLOAT`";
    /// `const UINT*`
    UintArray(Vec<u32>), "`const UINT*` with a count";
    /// `const INT*`
    IntArray(Vec<i32>), "`const INT*` with a count";
    /// `const FLOAT*`
    FloatArray(Vec<f32>), "`const FLOAT*` with a count";
    /// Scale and bias; `None` where it is left out.
    ScaleBias(Option<[f32; 2]>), "`const DML_SCALE_BIAS*`";
    /// Width and height.
    Size2d([u32; 2]), "`DML_SIZE_2D`";
    /// A scalar; a field beside it tells the type.
    ScalarUnion(ScalarUnion), "`DML_SCALAR_UNION`";
    /// `BOOL`
    Bool(bool), "`BOOL`";
}

/// The position of a tensor in its operator: a field, or an element of a field that is an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorPath {
    /// The field.
    pub field: &'static FieldSchema,
    /// The index in the array, if the field is an array.
    pub element: Option<usize>,
}

impl TensorPath {
    /// The path as it is in messages: `OutputTensor`, or `OutputTensors[1]`.
    pub fn name(&self) -> Cow<'static, str> {
        match self.element {
            None => Cow::Borrowed(self.field.name),
            Some(element) => Cow::Owned(element_path(self.field.name, element)),
        }
    }
}

impl fmt::Display for TensorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// The path of an element of the array `field`, as it is in messages.
pub(crate) fn element_path(field: &str, element: usize) -> String {
    format!("{field}[{element}]")
}

/// An operator and the values of its fields, of which only the types are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct AbstractOperator {
    schema: &'static OperatorSchema,
    /// Shared by clones.
    fields: Arc<[FieldValue]>,
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
        Ok(Self { schema, fields: fields.into() })
    }

    /// An operator to nest in another one, such as a fused activation: without tensors, and with the values of
    /// its attributes in the schema's order.
    ///
    /// # Errors
    /// The number or the type of an attribute is not the schema's.
    pub fn nested(
        schema: &'static OperatorSchema,
        attributes: Vec<FieldValue>,
    ) -> Result<Self, Error> {
        let mut attributes = attributes.into_iter();
        let tensors_or_next = |field: &FieldSchema| match field.kind {
            FieldKind::Attribute => attributes.next(),
            _ => Some(field.field_type.empty_value()),
        };
        let mut fields: Vec<FieldValue> = schema.fields.iter().map_while(tensors_or_next).collect();
        fields.extend(attributes);
        Self::new(schema, fields)
    }

    /// For descriptors whose Rust type already has the schema's fields; tests prove that it does.
    pub(crate) fn from_typed(schema: &'static OperatorSchema, fields: Vec<FieldValue>) -> Self {
        Self { schema, fields: fields.into() }
    }

    /// The operator's row of the schema.
    pub fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    /// The values, in the schema's order.
    pub fn fields(&self) -> &[FieldValue] {
        &self.fields
    }

    /// The value of the field with DirectML's name `name`; `None` if the schema has no such
    /// field.
    pub fn field(&self, name: &str) -> Option<&FieldValue> {
        let index = self.schema.fields.iter().position(|field| field.name == name)?;
        self.fields.get(index)
    }

    /// This operator, with the flag OWNED_BY_DML on the tensors of the field `name`; a tensor that is left out
    /// stays left out.
    #[must_use]
    pub fn owning(mut self, name: &str) -> Self {
        let place = self.schema.fields.iter().position(|field| field.name == name);
        let Some(place) = place else { return self };
        let tensors = match &mut Arc::make_mut(&mut self.fields)[place] {
            FieldValue::Tensor(desc) => desc.as_mut_slice(),
            FieldValue::TensorArray(descs) => descs,
            _ => &mut [],
        };
        tensors.iter_mut().for_each(|desc| desc.flags = TensorFlags::OWNED_BY_DML);
        self
    }

    /// The support tables of the operator for the value of the attribute that they depend on.
    pub(crate) fn support_tables(&self) -> &'static [SupportTable] {
        let value = self.schema.varied.as_ref().and_then(|varied| self.field(varied.field));
        match value {
            Some(FieldValue::Uint(value)) => self.schema.tables_where(*value),
            _ => self.schema.tables,
        }
    }

    /// The tensors that are not left out, each with the name of its field, in the schema's order.
    pub fn tensors(&self) -> impl Iterator<Item = (&'static str, &TensorDesc)> {
        let pairs = self.schema.fields.iter().zip(&*self.fields);
        pairs.flat_map(|(field, value)| {
            let tensors = match value {
                FieldValue::Tensor(desc) => desc.as_slice(),
                FieldValue::TensorArray(descs) => descs,
                _ => &[],
            };
            tensors.iter().map(|desc| (field.name, desc))
        })
    }

    /// The tensors of one kind in binding order, which is the schema's; `None` for a tensor that is left
    /// out. An array contributes all of its elements.
    pub fn bindings(
        &self,
        kind: FieldKind,
    ) -> impl Iterator<Item = (TensorPath, Option<&TensorDesc>)> {
        let fields = self.schema.fields.iter().zip(&*self.fields);
        fields.filter(move |(field, _)| field.kind == kind).flat_map(|(field, value)| match value {
            FieldValue::Tensor(desc) => in_order(field, Some(desc.as_ref()), &[]),
            FieldValue::TensorArray(descs) => in_order(field, None, descs),
            _ => in_order(field, None, &[]),
        })
    }
}

/// The tensors to bind of a field: its single tensor, which may be left out, or the elements of its array.
pub(super) fn in_order<'a, T>(
    field: &'static FieldSchema,
    one: Option<Option<&'a T>>,
    array: &'a [T],
) -> impl Iterator<Item = (TensorPath, Option<&'a T>)> {
    let one = one.map(|tensor| (TensorPath { field, element: None }, tensor));
    let elements = array.iter().enumerate();
    let path = move |element| TensorPath { field, element: Some(element) };
    one.into_iter().chain(elements.map(move |(at, tensor)| (path(at), Some(tensor))))
}

/// The number of elements of an array in a typed descriptor; 0 if a `UINT` cannot hold it, which validation
/// refuses as a wrong count.
pub(crate) fn count<T>(array: &[T]) -> u32 {
    u32::try_from(array.len()).unwrap_or(0)
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
    fn a_nested_operator_has_attributes_alone() {
        use crate::operators::ACTIVATION_LEAKY_RELU as LEAKY;
        let operator = AbstractOperator::nested(&LEAKY, vec![FieldValue::Float(0.5)]).unwrap();
        let left_out = FieldValue::Tensor(None);
        assert_eq!(operator.fields(), [left_out.clone(), left_out, FieldValue::Float(0.5)]);
        let refused = |attributes| AbstractOperator::nested(&LEAKY, attributes).unwrap_err();
        let message = |attributes| refused(attributes).to_string();
        assert_eq!(message(vec![]), "ACTIVATION_LEAKY_RELU: fields: 2 given; accepted: 3");
        let two = vec![FieldValue::Float(0.5), FieldValue::Float(0.5)];
        assert_eq!(message(two), "ACTIVATION_LEAKY_RELU: fields: 4 given; accepted: 3");
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
