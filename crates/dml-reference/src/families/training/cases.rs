//! The corner cases of training operators: those that an operator lists, and other layouts and buffers of one
//! of them.

use std::borrow::Cow;

use dml_core::schema::{Comparison, FieldKind, FieldSchema, FieldType, OperatorSchema};
use dml_core::{
    AbstractOperator, DataType, Error, FieldValue, TensorDesc, TensorFlags, TensorLayout, Validated,
};

use super::given::{ExecutionInputs, sums};
use crate::layouts::{padded, repeated, reversed, snake};
use crate::{BrokenRule, Case, Random, Signature};

/// A training operator's definition and cases.
pub(super) trait Meaning: Sync {
    fn schema(&self) -> &'static OperatorSchema;

    /// The elements of every output in double precision; empty for outputs that are left out. They are rounded
    /// to single precision and to the output's type afterwards.
    fn outputs(&self, given: &ExecutionInputs<'_>) -> Result<Vec<Vec<f64>>, Error>;

    /// Operators with packed tensors, by name. The first is the smallest one, and the second one is used for
    /// layouts and buffers.
    fn operators(&self, maker: &CaseGenerator<'_>) -> Vec<(String, AbstractOperator)>;

    /// A random operator with packed tensors.
    fn drawn(&self, maker: &CaseGenerator<'_>, random: &mut Random) -> AbstractOperator;

    /// Cases with specific inputs.
    fn special(&self, _maker: &CaseGenerator<'_>) -> Vec<Case> {
        vec![]
    }

    /// Lists of pairs of an input and an output that may be bound to the same bytes, all pairs of a list at
    /// once.
    fn in_place(&self) -> &'static [&'static [(u32, u32)]] {
        &[]
    }

    fn broken_rules(&self, maker: &CaseGenerator<'_>) -> Vec<BrokenRule>;

    /// Random elements of an input.
    fn elements(
        &self,
        random: &mut Random,
        _operator: &Validated,
        _index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        sums(random, layout)
    }

    fn may_flush(&self, _operator: &Validated, _index: usize) -> bool {
        true
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        operator.schema().comparison(data_type)
    }
}

/// Makes the cases of one operator.
pub(super) struct CaseGenerator<'a> {
    pub(super) schema: &'static OperatorSchema,
    pub(super) meaning: &'static dyn Meaning,
    pub(super) signature: &'a Signature,
}

/// An attribute's name and value.
type Attribute<'v> = (&'v str, FieldValue);

/// Changes the memory layout of a tensor.
type Layout = fn(&mut TensorDesc);

impl CaseGenerator<'_> {
    pub(super) fn rank(&self) -> usize {
        self.signature.rank
    }

    pub(super) fn type_of(&self, name: &str) -> DataType {
        self.signature.type_of(self.schema, name)
    }

    /// The last of the sizes, as many as the signature's rank.
    pub(super) fn last<'s>(&self, sizes: &'s [u32]) -> &'s [u32] {
        &sizes[sizes.len() - self.rank()..]
    }

    /// The operator with these attributes, and packed tensors of these sizes; `None` leaves a tensor out.
    pub(super) fn operator(
        &self,
        sizes: impl Fn(&FieldSchema) -> Option<Vec<u32>>,
        attributes: &[Attribute<'_>],
    ) -> AbstractOperator {
        let fields = self.schema.fields.iter().map(|field| match field.kind {
            FieldKind::Attribute => {
                let given = attributes.iter().find(|(name, _)| *name == field.name);
                given.map_or(field.field_type.empty_value(), |(_, value)| value.clone())
            }
            _ => FieldValue::Tensor(
                sizes(field).map(|sizes| TensorDesc::packed(self.type_of(field.name), &sizes)),
            ),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    /// The operator with changed tensors.
    pub(super) fn with_tensors(
        &self,
        operator: &AbstractOperator,
        mut change: impl FnMut(&FieldSchema, &mut TensorDesc),
    ) -> AbstractOperator {
        let fields = self.schema.fields.iter().zip(operator.fields());
        let fields = fields.map(|(field, value)| match value {
            FieldValue::Tensor(Some(tensor)) => {
                let mut tensor = tensor.clone();
                change(field, &mut tensor);
                FieldValue::Tensor(Some(tensor))
            }
            other => other.clone(),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    /// An operator that breaks a rule.
    pub(super) fn broken(
        &self,
        name: &'static str,
        operator: AbstractOperator,
        field: impl Into<Cow<'static, str>>,
    ) -> BrokenRule {
        BrokenRule { name: name.into(), operator, field: field.into() }
    }

    pub(super) fn minimal(&self) -> AbstractOperator {
        self.meaning.operators(self).swap_remove(0).1
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let operators = self.meaning.operators(self);
        let usual = operators[1].1.clone();
        let cases = operators.into_iter().map(|(name, operator)| Case::new(name, operator));
        let (documented, special): (Vec<Case>, Vec<Case>) =
            self.meaning.special(self).into_iter().partition(|case| case.documented.is_some());
        // Documented examples exist only for some ranks and types, so they come last.
        let others = [
            special,
            self.layouts(&usual),
            self.buffers(&usual),
            self.in_place(&usual),
            documented,
        ];
        cases.chain(others.concat()).collect()
    }

    /// Each tensor in other layouts.
    fn layouts(&self, usual: &AbstractOperator) -> Vec<Case> {
        let tensors =
            self.schema.fields.iter().filter(|field| field.field_type == FieldType::Tensor);
        let layouts: [(&str, Layout); 3] =
            [("padded", padded), ("reversed", reversed), ("repeated", repeated)];
        let of = |field: &'static FieldSchema| {
            let is_input = field.kind == FieldKind::Input;
            layouts.into_iter().take(if is_input { 3 } else { 2 }).map(move |(name, layout)| {
                let operator = self.with_tensors(usual, |it, tensor| {
                    if it == field {
                        layout(tensor);
                    }
                });
                Case::new(format!("strides_{name}_{}", snake(field.name)), operator)
            })
        };
        tensors.flat_map(of).collect()
    }

    fn buffers(&self, usual: &AbstractOperator) -> Vec<Case> {
        let case = |name: &'static str| Case::new(name, usual.clone());
        let owned = |all: bool| {
            let mut is_first = true;
            self.with_tensors(usual, |field, tensor| {
                if field.kind == FieldKind::Input && (all || std::mem::take(&mut is_first)) {
                    tensor.flags = TensorFlags::OWNED_BY_DML;
                }
            })
        };
        vec![
            case("base_offset_16").at_output_offset(16),
            case("base_offset_272").at_input_offset(272),
            case("storage_only").storage_only(),
            Case::new("owned", owned(false)),
            Case::new("owned_all", owned(true)),
            Case::new("owned_storage_only", owned(true)).storage_only(),
        ]
    }

    /// Outputs in place of inputs, packed and padded.
    fn in_place(&self, usual: &AbstractOperator) -> Vec<Case> {
        let of = |(number, pairs): (usize, &&'static [(u32, u32)])| {
            let strided = self.with_tensors(usual, |_, tensor| {
                if tensor.sizes.iter().any(|size| *size > 1) {
                    padded(tensor);
                }
            });
            [
                Case::new(format!("in_place_{number}"), usual.clone()).in_place_of(*pairs),
                Case::new(format!("in_place_{number}_padded"), strided).in_place_of(*pairs),
            ]
        };
        self.meaning.in_place().iter().enumerate().flat_map(of).collect()
    }

    pub(super) fn random(&self, random: &mut Random) -> Case {
        let operator = self.meaning.drawn(self, random);
        let operator = self.with_tensors(&operator, |field, tensor| {
            let (data_type, sizes) = (tensor.data_type, tensor.sizes.clone());
            *tensor = match field.kind {
                FieldKind::Input => random.input_tensor(data_type, &sizes),
                _ => random.tensor(data_type, &sizes),
            };
        });
        Case::new("random", operator).with_random_buffers(random)
    }
}
