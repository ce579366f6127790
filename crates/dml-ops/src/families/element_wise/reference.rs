//! Element-wise operators as their documentation has them: one function of exact numbers for each.

use dml_core::schema::{Comparison, FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, DataType, Error, TensorDesc, Validated};

use super::cases;
use super::tensors::Tensors;
use crate::reference::number::Number;
use crate::reference::{BrokenRule, Case, Random, Reference, Signature};

/// The reference of an operator whose tensors are alike but for their types.
pub(super) struct ElementWise {
    /// Its row.
    pub(super) schema: &'static OperatorSchema,
    /// The bits of the output's element for those of the inputs.
    pub(super) element: fn(&Validated, &[u64]) -> u64,
    /// The same where subnormals between the two are zeros; none where there are none.
    pub(super) flushed_element: Option<fn(&Validated, &[u64]) -> u64>,
}

/// The types of an operator's input and output.
fn types(operator: &Validated) -> [DataType; 2] {
    let first = |kind| {
        let mut tensors = operator.tensors(kind).filter_map(|(_, tensor)| tensor);
        tensors.next().map_or(DataType::Float32, dml_core::TensorLayout::data_type)
    };
    [first(FieldKind::Input), first(FieldKind::Output)]
}

/// What `float` or `integer` gives, as the nearest float or the integer that wraps. Doubles have more
/// than twice the digits of single precision, so that what is rounded twice is rounded once.
pub(super) fn rounded(
    operator: &Validated,
    elements: &[u64],
    float: fn(&[f64]) -> f64,
    integer: fn(&[i128]) -> i128,
) -> u64 {
    let [from, to] = types(operator);
    let integers: Option<Vec<i128>> = elements.iter().map(|it| from.integer_value(*it)).collect();
    if let Some(integers) = integers {
        return to.integer_bits(integer(&integers));
    }
    let double = |bits: &u64| f64::from_bits(Number::decode(from, *bits).encode(DataType::Float64));
    let doubles: Vec<f64> = elements.iter().map(double).collect();
    Number::decode(DataType::Float64, float(&doubles).to_bits()).encode(to)
}

/// The same number, or the nearest one; integers that become integers wrap. Nothing is converted to
/// its own type.
pub(super) fn exact(operator: &Validated, elements: &[u64]) -> u64 {
    let [from, to] = types(operator);
    if from == to {
        return elements[0];
    }
    match (from.integer_value(elements[0]), to.integer_range()) {
        (Some(integer), Some(_)) => to.integer_bits(integer),
        _ => Number::decode(from, elements[0]).encode(to),
    }
}

/// The same bits, or scaled and biased in single precision.
pub(super) fn scale_bias(operator: &Validated, elements: &[u64]) -> u64 {
    scaled_and_biased(operator, elements[0], |exact| exact)
}

/// The same where every step flushes what is below the normal numbers before it is rounded.
pub(super) fn flushed_scale_bias(operator: &Validated, elements: &[u64]) -> u64 {
    scaled_and_biased(operator, elements[0], |exact| {
        if exact.abs() < f32::MIN_POSITIVE.into() { exact * 0.0 } else { exact }
    })
}

#[expect(clippy::cast_possible_truncation, reason = "every step rounds to single precision")]
fn scaled_and_biased(operator: &Validated, element: u64, step: fn(f64) -> f64) -> u64 {
    let [from, to] = types(operator);
    let Ok(Some(scale_bias)) = operator.scale_bias("ScaleBias") else { return element };
    let [scale, bias] = scale_bias.map(|it| step(it.into()));
    let single = Number::decode(from, element).encode(DataType::Float32);
    let single = f32::from_bits(u32::try_from(single).unwrap_or_default());
    // Products of single precision are exact in double precision, and sums round alike from it.
    let scaled = step(step(single.into()) * scale) as f32;
    let result = step(f64::from(scaled) + bias) as f32;
    Number::decode(DataType::Float32, result.to_bits().into()).encode(to)
}

impl ElementWise {
    fn by_elements(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
        of: fn(&Validated, &[u64]) -> u64,
    ) -> Result<Vec<Vec<u64>>, Error> {
        let inputs: Option<Vec<&Vec<u64>>> = inputs.iter().map(Option::as_ref).collect();
        let inputs = inputs.ok_or_else(|| Error::internal(self.schema.name, "no input"))?;
        let count = inputs.iter().map(|input| input.len()).min().unwrap_or_default();
        let element = |at: usize| {
            let elements: Vec<u64> = inputs.iter().map(|input| input[at]).collect();
            of(operator, &elements)
        };
        Ok(vec![(0..count).map(element).collect()])
    }
}

impl Reference for ElementWise {
    fn type_parameters(&self) -> usize {
        Tensors(self.schema).type_parameters()
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_elements(operator, inputs, self.element)
    }

    fn flushed_outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_elements(operator, inputs, self.flushed_element.unwrap_or(self.element))
    }

    fn may_be_subnormal_within(&self, _operator: &Validated) -> bool {
        self.flushed_element.is_some()
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        let [from, to] = types(operator);
        let is_computed = from != to
            || Tensors(self.schema).arity() > 1
            || operator.scale_bias("ScaleBias").is_ok_and(|it| it.is_some());
        // What is only moved keeps every bit of a NaN.
        if is_computed { self.schema.comparison(data_type) } else { Comparison::BitExact }
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        let tensor = |data_type| TensorDesc::packed(data_type, &vec![1; signature.rank]);
        let tensors = Tensors(self.schema);
        tensors.operator(&tensors.types(signature).into_iter().map(tensor).collect::<Vec<_>>())
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        cases::all(Tensors(self.schema), signature)
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        cases::random(Tensors(self.schema), random, signature)
    }

    fn broken_rules(&self, signature: &Signature) -> Vec<BrokenRule> {
        cases::broken_rules(Tensors(self.schema), signature)
    }
}
