//! The corner cases of matrix products and convolutions.
//!
//! Unless a case gives its elements, they are small integers, whose sums are exact in any order: a wrong
//! element shows however many products are added.

mod convolution;
mod matrix;

use std::collections::BTreeMap;

use dml_core::operators::{
    ACTIVATION_LINEAR, ACTIVATION_RELU, ACTIVATION_SIGMOID, ELEMENT_WISE_CLIP, implemented_in,
};
use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, TensorDesc, TensorLayout, Validated};

use super::fields::is_of_rows;
use crate::families::element_wise::nested;
use crate::layouts::{padded, repeated, reversed, snake};
use crate::number::encoded;
use crate::{BrokenRule, Case, Random, Signature, Sizes, TensorGenerator};

/// The kind of product: which tensors an operator has, and which of their elements are multiplied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shapes {
    Matrices,
    Convolution,
}

impl Shapes {
    /// The tensors that are multiplied.
    pub(crate) fn factors(self) -> [&'static str; 2] {
        match self {
            Self::Matrices => ["ATensor", "BTensor"],
            Self::Convolution => ["InputTensor", "FilterTensor"],
        }
    }

    /// The zero points of the factors.
    pub(crate) fn zero_points(self) -> [&'static str; 2] {
        match self {
            Self::Matrices => ["AZeroPointTensor", "BZeroPointTensor"],
            Self::Convolution => ["InputZeroPointTensor", "FilterZeroPointTensor"],
        }
    }

    /// The largest number of products in a sum, for the given sizes of the second factor.
    pub(crate) fn depth(self, operator: &Validated, sizes: &[u32]) -> usize {
        match self {
            Self::Matrices => matrix::depth(operator, sizes),
            Self::Convolution => convolution::depth(operator, sizes),
        }
    }
}

/// Tensors and other values of fields by name; missing ones are left out.
#[derive(Clone)]
pub(crate) struct Parts {
    tensors: BTreeMap<&'static str, TensorDesc>,
    values: BTreeMap<&'static str, FieldValue>,
}

impl Parts {
    /// With another tensor.
    fn with(mut self, name: &'static str, tensor: TensorDesc) -> Self {
        self.tensors.insert(name, tensor);
        self
    }

    /// With another value of an attribute.
    fn valued(mut self, name: &'static str, value: FieldValue) -> Self {
        self.values.insert(name, value);
        self
    }

    /// With a tensor changed, if it is present.
    fn changed(mut self, name: &str, change: impl FnOnce(&mut TensorDesc)) -> Self {
        if let Some(tensor) = self.tensors.get_mut(name) {
            change(tensor);
        }
        self
    }
}

/// The activations that are fused in corner cases.
const ACTIVATIONS: [&OperatorSchema; 4] =
    [&ACTIVATION_RELU, &ACTIVATION_LINEAR, &ACTIVATION_SIGMOID, &ELEMENT_WISE_CLIP];

/// Makes the cases of one operator.
pub(crate) struct CaseGenerator<'a> {
    pub(crate) schema: &'static OperatorSchema,
    pub(crate) shapes: Shapes,
    pub(crate) signature: &'a Signature,
}

impl CaseGenerator<'_> {
    fn has(&self, name: &str) -> bool {
        self.schema.has_field(name)
    }

    fn make(&self, name: &str) -> TensorGenerator {
        let data_type = self.signature.type_of(self.schema, name);
        TensorGenerator { data_type, rank: self.signature.rank }
    }

    /// Packed tensors of these sizes, as far as the operator has them.
    fn tensors<const N: usize>(&self, sizes: [(&'static str, Sizes); N]) -> Parts {
        let has = sizes.into_iter().filter(|(name, _)| self.has(name));
        let tensors = has.map(|(name, sizes)| (name, self.make(name).packed(sizes))).collect();
        Parts { tensors, values: BTreeMap::new() }
    }

    fn operator(&self, parts: &Parts) -> AbstractOperator {
        let fields = self.schema.fields.iter().map(|field| match field.kind {
            FieldKind::Attribute => {
                let given = parts.values.get(field.name).cloned();
                given.unwrap_or_else(|| match field.name {
                    "Alpha" | "Beta" => FieldValue::Float(1.0),
                    _ => field.field_type.empty_value(),
                })
            }
            _ => FieldValue::Tensor(parts.tensors.get(field.name).cloned()),
        });
        AbstractOperator::new(self.schema, fields.collect()).expect("the fields of the row")
    }

    fn case(&self, name: impl Into<String>, parts: &Parts) -> Case {
        Case::new(name.into(), self.operator(parts))
    }

    pub(crate) fn minimal(&self) -> AbstractOperator {
        self.operator(&match self.shapes {
            Shapes::Matrices => self.matrices(matrix::Matrix::ONE),
            Shapes::Convolution => self.convolution(&convolution::Convolution::ONE),
        })
    }

    pub(crate) fn cases(&self) -> Vec<Case> {
        match self.shapes {
            Shapes::Matrices => self.of_matrices(),
            Shapes::Convolution => self.of_convolutions(),
        }
    }

    pub(crate) fn random(&self, random: &mut Random) -> Case {
        let parts = match self.shapes {
            Shapes::Matrices => self.random_matrices(random),
            Shapes::Convolution => self.random_convolution(random),
        };
        let parts = self.with_random_layouts(random, parts);
        self.case("random", &parts).with_random_buffers(random)
    }

    pub(crate) fn broken_rules(&self) -> Vec<BrokenRule> {
        match self.shapes {
            Shapes::Matrices => self.broken_matrices(),
            Shapes::Convolution => self.broken_convolutions(),
        }
    }

    fn rule(&self, name: &'static str, parts: &Parts, field: impl Into<String>) -> BrokenRule {
        let operator = self.operator(parts);
        BrokenRule { name: name.into(), operator, field: field.into().into() }
    }

    /// Cases with other layouts and flags, for an operator with tensors of these sizes.
    fn layouts(&self, usual: &Parts) -> Vec<Case> {
        let mut cases = vec![];
        for name in usual.tensors.keys().copied() {
            let change = |change: fn(&mut TensorDesc)| usual.clone().changed(name, change);
            let layout = |layout: &str| format!("strides_{layout}_{}", snake(name));
            cases.push(self.case(layout("padded"), &change(padded)));
            cases.push(self.case(layout("reversed"), &change(reversed)));
            if name != "OutputTensor" {
                cases.push(self.case(layout("repeated"), &change(repeated)));
                let owned = change(|it| it.flags = dml_core::TensorFlags::OWNED_BY_DML);
                cases.push(self.case(format!("owned_{}", snake(name)), &owned));
            }
        }
        let all = usual.tensors.keys().filter(|name| **name != "OutputTensor");
        let owned = all.fold(usual.clone(), |parts, name| {
            parts.changed(name, |it| it.flags = dml_core::TensorFlags::OWNED_BY_DML)
        });
        cases.push(self.case("owned_storage_only", &owned).storage_only());
        cases.push(self.case("base_offset_16", usual).at_output_offset(16));
        cases.push(self.case("base_offset_272", usual).at_input_offset(272));
        cases.push(self.case("storage_only", usual).storage_only());
        cases
    }

    /// Some of the activations that can be fused; random cases have all of them.
    fn activations(&self, usual: &Parts) -> Vec<Case> {
        if !self.has("FusedActivation") {
            return vec![];
        }
        let mut random = Random::new("activations of products");
        let case = |schema: &'static OperatorSchema| {
            let name = format!("fused_{}", schema.name.to_lowercase());
            let activation = nested(schema, &mut random);
            let value = FieldValue::OperatorDesc(Some(Box::new(activation)));
            self.case(name, &usual.clone().valued("FusedActivation", value))
        };
        let mut cases: Vec<Case> = ACTIVATIONS.map(case).into();
        for schema in implemented_in(self.schema).filter(|it| is_of_rows(it)) {
            let axes = [FieldValue::Uint(1), FieldValue::UintArray(vec![0])];
            let count =
                schema.fields.iter().filter(|field| field.kind == FieldKind::Attribute).count();
            let activation = AbstractOperator::nested(schema, axes[..count].to_vec());
            let value = activation.expect("the attributes of the row");
            let value = FieldValue::OperatorDesc(Some(Box::new(value)));
            let name = format!("fused_{}", schema.name.to_lowercase());
            cases.push(self.case(name, &usual.clone().valued("FusedActivation", value)));
        }
        cases
    }

    /// Positive floats with all digits: sums are rounded, but nothing cancels.
    fn of_all_digits(&self, usual: &Parts) -> Case {
        let mut random = Random::new("all digits");
        let tensors = self.schema.fields.iter().filter(|field| field.kind == FieldKind::Input);
        let tensors = tensors.filter_map(|field| usual.tensors.get(field.name)).take(2);
        let inputs = tensors.map(|tensor| {
            let count: u32 = tensor.sizes.iter().product();
            let element =
                |_| encoded(tensor.data_type, 0.5 + f64::from(random.word()) / 4_294_967_296.0);
            (0..count).map(element).collect()
        });
        self.case("values_of_all_digits", usual).with_inputs(inputs.collect())
    }

    /// Sums that would be wrong if they were added in FLOAT16, where 2048 + 1 is 2048.
    fn of_ones(&self, usual: &Parts) -> Case {
        let tensors = self.schema.fields.iter().filter(|field| field.kind == FieldKind::Input);
        let tensors = tensors.filter_map(|field| usual.tensors.get(field.name)).take(2);
        let inputs = tensors.map(|tensor| {
            let count: u32 = tensor.sizes.iter().product();
            vec![encoded(tensor.data_type, 1.0); count as usize]
        });
        self.case("ones_4096", usual).with_inputs(inputs.collect())
    }

    fn with_random_layouts(&self, random: &mut Random, mut parts: Parts) -> Parts {
        for (name, tensor) in &mut parts.tensors {
            *tensor = match *name {
                "OutputTensor" => random.tensor(tensor.data_type, &tensor.sizes),
                _ => random.input_tensor(tensor.data_type, &tensor.sizes),
            };
        }
        let optional = self
            .schema
            .fields
            .iter()
            .filter(|field| field.kind == FieldKind::Input && field.optional);
        for field in optional {
            if random.one_in(3) {
                parts.tensors.remove(field.name);
            }
        }
        if self.has("FusedActivation") && random.one_in(3) {
            let implemented: Vec<_> =
                implemented_in(self.schema).filter(|it| !is_of_rows(it)).collect();
            let activation = nested(random.pick(&implemented), random);
            parts = parts
                .valued("FusedActivation", FieldValue::OperatorDesc(Some(Box::new(activation))));
        }
        parts
    }
}

/// The elements of an input: small integers, but arbitrary scales.
pub(crate) fn elements(
    random: &mut Random,
    operator: &Validated,
    index: usize,
    layout: &TensorLayout,
) -> Vec<u64> {
    let name = operator.tensors(FieldKind::Input).nth(index).map(|(path, _)| path.field.name);
    let is_scale = name.is_some_and(|name| name.contains("Scale"));
    let data_type = layout.data_type();
    let element = |random: &mut Random| match data_type.integer_range() {
        _ if is_scale => encoded(data_type, f64::from(1 + random.below(255)) / 256.0),
        Some((least, _)) if data_type.bits() > 8 => {
            let value = f64::from(random.below(100)) - if least < 0 { 50.0 } else { 0.0 };
            encoded(data_type, value)
        }
        Some(_) => random.bits() & 0xff,
        None => encoded(data_type, f64::from(random.below(17)) - 8.0),
    };
    (0..layout.element_count()).map(|_| element(random)).collect()
}
