//! The fields of element-wise operators in cases.

use dml_core::operators::implemented_in;
use dml_core::schema::{FieldKind, FieldSchema, FieldType, OperatorSchema};
use dml_core::{AbstractOperator, DataType, FieldValue, ScalarUnion, TensorDesc};

use crate::{Random, Signature, TensorGenerator, edges};

/// An operator, and the types and ranks of its tensors.
#[derive(Clone, Copy)]
pub(super) struct Tensors<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) signature: &'a Signature,
    /// Whether optional tensors are left out.
    pub(super) only_required: bool,
}

/// The values of attributes.
pub(super) enum Attributes<'a> {
    /// Fixed values; optional attributes are left out.
    Usual,
    /// Random values, with enumerations in turn by `number`, and optional attributes if `optional` is set.
    Drawn { random: &'a mut Random, optional: bool, number: usize },
}

impl<'a> Tensors<'a> {
    pub(super) fn new(schema: &'static OperatorSchema, signature: &'a Signature) -> Self {
        Self { schema, signature, only_required: false }
    }

    /// Without optional tensors; `None` if there are none.
    pub(super) fn without_optional(self) -> Option<Self> {
        let only_required = Self { only_required: true, ..self };
        (only_required.arity() < self.arity()).then_some(only_required)
    }

    fn fields(self) -> impl Iterator<Item = &'static FieldSchema> {
        let tensors = self.schema.fields.iter().filter(|field| field.kind != FieldKind::Attribute);
        tensors.filter(move |it| !self.leaves_out(it))
    }

    fn leaves_out(self, field: &FieldSchema) -> bool {
        self.only_required && field.optional
    }

    /// The attributes other than types of tensors.
    fn attributes(self) -> impl Iterator<Item = &'static FieldSchema> {
        let attributes = self.schema.fields.iter();
        attributes.filter(|attribute| {
            attribute.kind == FieldKind::Attribute && attribute.type_of.is_none()
        })
    }

    /// Whether the operator has required attributes, and whether it has optional ones.
    pub(super) fn has_attributes(self) -> [bool; 2] {
        [false, true]
            .map(|optional| self.attributes().any(|attribute| attribute.optional == optional))
    }

    /// An operator whose tensors are made by index; the output is the last.
    pub(super) fn operator(
        self,
        tensor: impl Fn(usize, TensorGenerator) -> TensorDesc,
        attributes: Attributes<'_>,
    ) -> AbstractOperator {
        let rank = self.signature.rank;
        let types = self.types().into_iter().enumerate();
        let tensors = types.map(|(at, data_type)| tensor(at, TensorGenerator { data_type, rank }));
        self.of(tensors.collect::<Vec<_>>(), attributes)
    }

    /// An operator with these tensors, the output last.
    pub(super) fn of(
        self,
        tensors: Vec<TensorDesc>,
        mut attributes: Attributes<'_>,
    ) -> AbstractOperator {
        let mut tensors = tensors.into_iter();
        let fields = self.schema.fields.iter().map(|field| match field.kind {
            FieldKind::Attribute => self.attribute(field, &mut attributes),
            _ if self.leaves_out(field) => FieldValue::Tensor(None),
            _ => FieldValue::Tensor(tensors.next()),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    fn attribute(self, field: &FieldSchema, attributes: &mut Attributes<'_>) -> FieldValue {
        if let Some(like) = field.type_of {
            return FieldValue::Uint(self.signature.type_of(self.schema, like).dml_value());
        }
        let Attributes::Drawn { random, optional, number } = attributes else {
            return self.usual(field);
        };
        if field.optional && !*optional {
            return field.field_type.empty_value();
        }
        match field.field_type {
            FieldType::Float => FieldValue::Float(random.float()),
            FieldType::ScaleBias => FieldValue::ScaleBias(Some([random.float(), random.float()])),
            FieldType::ScalarUnion => {
                self.scalar(field, |data_type| random.pick(&edges(data_type)))
            }
            FieldType::OperatorDesc => {
                let implemented: Vec<_> = implemented_in(self.schema).collect();
                FieldValue::OperatorDesc(Some(Box::new(nested(random.pick(&implemented), random))))
            }
            FieldType::Uint => {
                let values = field.enumeration.map_or(&[][..], |it| it.values);
                let chosen = values.iter().cycle().nth(*number);
                FieldValue::Uint(chosen.map_or(0, |(_, number)| *number))
            }
            other => other.empty_value(),
        }
    }

    /// A number that differs between attributes.
    fn usual(self, field: &FieldSchema) -> FieldValue {
        let number =
            self.attributes().position(|attribute| attribute == field).map_or(0, |at| 1 + 2 * at);
        match field.field_type {
            FieldType::Float => FieldValue::Float(0.5 * number as f32),
            FieldType::ScalarUnion => self
                .scalar(field, |data_type| dml_core::value::element_bits(number as f32, data_type)),
            other => other.empty_value(),
        }
    }

    fn scalar(self, field: &FieldSchema, of: impl FnOnce(DataType) -> u64) -> FieldValue {
        let like = field.scalar_type.and_then(|name| {
            self.schema.fields.iter().find(|field| field.name == name).and_then(|it| it.type_of)
        });
        let data_type =
            like.map_or(DataType::Float32, |it| self.signature.type_of(self.schema, it));
        FieldValue::ScalarUnion(ScalarUnion::from_bits(of(data_type)))
    }

    /// The number of inputs, which is the index of the output.
    pub(super) fn arity(self) -> usize {
        self.fields().filter(|field| field.kind == FieldKind::Input).count()
    }

    /// The types of all tensors, the output last.
    pub(super) fn types(self) -> Vec<DataType> {
        self.fields().map(|field| self.signature.type_of(self.schema, field.name)).collect()
    }
}

/// A random operator that can be fused into `outer`, with random attributes.
pub(crate) fn drawn_activation(outer: &OperatorSchema, random: &mut Random) -> AbstractOperator {
    let implemented: Vec<_> = implemented_in(outer).collect();
    nested(random.pick(&implemented), random)
}

/// An operator to nest into another, with random attributes.
pub(crate) fn nested(schema: &'static OperatorSchema, random: &mut Random) -> AbstractOperator {
    let signature = Signature::of(DataType::Float32, 1);
    let tensors = Tensors::new(schema, &signature);
    let number = random.below(8) as usize;
    let mut drawn = Attributes::Drawn { random, optional: true, number };
    let attributes = schema.fields.iter().filter(|field| field.kind == FieldKind::Attribute);
    let values = attributes.map(|field| tensors.attribute(field, &mut drawn)).collect();
    AbstractOperator::nested(schema, values).expect("the fields of the row")
}
