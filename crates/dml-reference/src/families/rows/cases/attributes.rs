//! The attributes of cases, with all choices in turn.

use dml_core::schema::{FieldKind, FieldSchema, FieldType};
use dml_core::{AbstractOperator, DataType, FieldValue, ReduceFunction, TensorDesc};

use super::CaseGenerator;
use crate::Random;
use crate::families::element_wise::drawn_activation;

/// Values that are added to variances, or bound norms from below.
const EPSILONS: [f32; 3] = [1e-5, 0.25, 0.0];

impl CaseGenerator<'_> {
    /// The functions that support the types of the tensors, for operators with a function attribute; functions
    /// of the lowest feature level come first.
    fn functions(&self) -> Vec<u32> {
        let Some(varied) = &self.schema.varied else { return vec![] };
        let takes = |variant: &&dml_core::schema::SupportVariant| {
            variant.tables.last().is_some_and(|table| {
                table.tensors.iter().all(|tensor| {
                    tensor.data_types.contains(self.signature.type_of(self.schema, tensor.field))
                })
            })
        };
        let variants = varied.variants.iter().filter(takes);
        let mut functions: Vec<u32> =
            variants.flat_map(|variant| variant.values).copied().collect();
        let has_index = |it: &u32| {
            [ReduceFunction::Argmax, ReduceFunction::Argmin].iter().any(|at| at.dml_value() == *it)
        };
        let rank = |it: &u32| *it != self.usual_function().dml_value();
        functions.sort_by_key(|function| (rank(function), *function));
        if !self.has_one_type() {
            // Only few functions have results of another type than the elements.
            let moved = [ReduceFunction::Max, ReduceFunction::Min].map(ReduceFunction::dml_value);
            functions.retain(|function| has_index(function) || moved.contains(function));
        }
        if functions.is_empty() { vec![ReduceFunction::Sum.dml_value()] } else { functions }
    }

    /// The function that the lowest feature level supports for the types of the tensors.
    fn usual_function(&self) -> ReduceFunction {
        let [input, output] =
            ["InputTensor", "OutputTensor"].map(|name| self.signature.type_of(self.schema, name));
        let is_index = matches!(
            output,
            DataType::Uint32 | DataType::Int32 | DataType::Uint64 | DataType::Int64
        );
        match input == output {
            true if input.bits() < 32 && input != DataType::Float16 => ReduceFunction::Max,
            true => ReduceFunction::Sum,
            false if is_index => ReduceFunction::Argmax,
            false => ReduceFunction::Max,
        }
    }

    fn has_one_type(&self) -> bool {
        self.signature.types.iter().all(|data_type| *data_type == self.signature.types[0])
    }

    /// Whether all cases are run with these types; not for a function whose result is only converted.
    pub(crate) fn has_usual_types(&self) -> bool {
        self.schema.varied.is_none()
            || self.has_one_type()
            || self.usual_function() == ReduceFunction::Argmax
    }

    /// An optional input: unchanged, of the input's sizes, per channel, or a single element.
    fn repeated(
        &self,
        field: &FieldSchema,
        given: &FieldValue,
        operator: &AbstractOperator,
        choice: usize,
    ) -> FieldValue {
        let Some(FieldValue::Tensor(Some(input))) = operator.field("InputTensor") else {
            return given.clone();
        };
        let mut sizes = vec![1; input.sizes.len()];
        match choice {
            0 => return given.clone(),
            1 => sizes.clone_from(&input.sizes),
            2 if sizes.len() > 1 => sizes[1] = input.sizes[1],
            _ => {}
        }
        let mut tensor = TensorDesc::packed(self.make(field).data_type, &sizes);
        tensor.flags = input.flags;
        FieldValue::Tensor(Some(tensor))
    }

    /// The number of combinations of attributes.
    pub(crate) fn attribute_lists(&self) -> usize {
        let choices = self.schema.fields.iter().map(|field| match field.field_type {
            FieldType::Bool => 2,
            FieldType::OperatorDesc => 3,
            FieldType::Tensor if self.is_repeated(field) => 4,
            FieldType::Float => EPSILONS.len(),
            _ if self.is_function(field) => self.functions().len(),
            _ => field.enumeration.map_or(1, |enumeration| enumeration.values.len()),
        });
        choices.product()
    }

    fn is_function(&self, field: &FieldSchema) -> bool {
        self.schema.varied.as_ref().is_some_and(|varied| varied.field == field.name)
    }

    /// The operator with the attributes of combination `number`.
    pub(crate) fn with_attributes(
        &self,
        operator: &AbstractOperator,
        number: usize,
    ) -> AbstractOperator {
        // With many combinations, they are used in a mixed order.
        let is_mixed = self.attribute_lists() > 12;
        let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let mut rest = if is_mixed { usize::try_from(mixed).unwrap_or(number) } else { number };
        let mut random = Random::new(&format!("{} {number}", self.schema.name));
        let mut next = |count: usize| {
            let choice = rest % count;
            rest /= count;
            choice
        };
        let functions = self.functions();
        let fields =
            self.schema.fields.iter().zip(operator.fields()).map(|(field, value)| {
                match (field.kind, field.field_type) {
                    (FieldKind::Attribute, FieldType::Bool) => FieldValue::Bool(next(2) == 1),
                    (FieldKind::Attribute, FieldType::Uint) if self.is_function(field) => {
                        FieldValue::Uint(functions[next(functions.len())])
                    }
                    (FieldKind::Attribute, FieldType::Float) => {
                        FieldValue::Float(EPSILONS[next(EPSILONS.len())])
                    }
                    (FieldKind::Attribute, FieldType::Uint) if field.name == "P" => {
                        FieldValue::Uint(if next(2) == 0 { 2 } else { 1 })
                    }
                    (FieldKind::Attribute, FieldType::OperatorDesc) => {
                        FieldValue::OperatorDesc(match next(3) {
                            0 | 1 => None,
                            _ => Some(Box::new(drawn_activation(self.schema, &mut random))),
                        })
                    }
                    (FieldKind::Input, _) if self.is_repeated(field) => {
                        self.repeated(field, value, operator, next(4))
                    }
                    (FieldKind::Attribute, FieldType::Uint) if field.is_choice() => {
                        let values = field.enumeration.map_or(&[][..], |it| it.values);
                        FieldValue::Uint(values[next(values.len())].1)
                    }
                    _ => value.clone(),
                }
            });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }
}
