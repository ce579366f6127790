//! References of element-wise operators by the documentation: one function of exact numbers for each.

use dml_core::schema::{Comparison, FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, DataType, Error, FieldValue, Validated};

use super::OracleOfOperator;
use super::cases;
use super::tensors::{Attributes, Tensors};
use crate::number;
use crate::number::{Number, encoded, flush};
use crate::{Case, Random, Reference, Signature};

pub(super) use crate::number::single;

/// Applied to each intermediate number that a device may flush to zero.
type FlushToZero = fn(f64) -> f64;

/// A function of floats.
#[derive(Clone, Copy)]
enum Float {
    /// Computed at once: the result is subnormal only if an operand is.
    AtOnce(fn(&[f64]) -> f64),
    /// Computed in steps, with intermediate numbers or an unrounded result that may be subnormal.
    InSteps(fn(&[f64], FlushToZero) -> f64),
    /// Computed at once by kernels that flush no operand, since they handle subnormals as integers.
    Real(fn(&[f64]) -> f64),
}

impl Float {
    fn of(self, x: &[f64], step: FlushToZero) -> f64 {
        match self {
            Self::AtOnce(of) | Self::Real(of) => of(x),
            Self::InSteps(of) => of(x, step),
        }
    }
}

/// The result of an operator for one element of each input, followed by its attributes: a function of floats,
/// integers, or bits of any type.
#[derive(Clone, Copy, Default)]
pub(super) struct Oracle {
    float: Option<Float>,
    integer: Option<fn(&[i128]) -> i128>,
    bits: Option<fn(&[u64]) -> u64>,
    /// Whether inputs of different types, one of them a float, are cast to single precision.
    casts: bool,
}

impl Oracle {
    /// Converts to the nearest number of the output's type; conversions between integers wrap.
    pub(super) const CONVERSION: Self =
        Self { float: None, integer: None, bits: None, casts: false };

    /// A function of numbers: floats are rounded, and integers wrap.
    pub(super) const fn numbers(float: fn(&[f64]) -> f64, integer: fn(&[i128]) -> i128) -> Self {
        Self { float: Some(Float::AtOnce(float)), ..Self::CONVERSION.or_integers(integer) }
    }

    /// A function of floats.
    pub(super) const fn floats(float: fn(&[f64]) -> f64) -> Self {
        Self::CONVERSION.or_float(float)
    }

    /// A function of integers, which wraps.
    pub(super) const fn integers(integer: fn(&[i128]) -> i128) -> Self {
        Self::CONVERSION.or_integers(integer)
    }

    /// A function of floats in steps: intermediate numbers that a device may flush go through the second
    /// argument.
    pub(super) const fn steps(float: fn(&[f64], FlushToZero) -> f64) -> Self {
        Self { float: Some(Float::InSteps(float)), ..Self::CONVERSION }
    }

    /// A function of real numbers, whose result may be subnormal.
    pub(super) const fn real(float: fn(&[f64]) -> f64) -> Self {
        Self { float: Some(Float::Real(float)), ..Self::CONVERSION }
    }

    /// Adds a function of integers, which wraps.
    pub(super) const fn or_integers(self, integer: fn(&[i128]) -> i128) -> Self {
        Self { integer: Some(integer), ..self }
    }

    /// A function of bits, independent of the type.
    pub(super) const fn bits(bits: fn(&[u64]) -> u64) -> Self {
        Self { bits: Some(bits), ..Self::CONVERSION }
    }

    /// Casts inputs of different types, if one of them is a float, to single precision first.
    pub(super) const fn casting(self) -> Self {
        Self { casts: true, ..self }
    }

    /// Adds a function of floats for elements that are scaled and biased.
    pub(super) const fn or_float(self, float: fn(&[f64]) -> f64) -> Self {
        Self { float: Some(Float::AtOnce(float)), ..self }
    }
}

/// The greater number by IEEE 754-2019: +0 is greater than -0, and NaN is propagated.
pub(super) fn maximum(a: f64, b: f64) -> f64 {
    match a.partial_cmp(&b) {
        None => f64::NAN,
        Some(order) if order.is_gt() || (order.is_eq() && b.is_sign_negative()) => a,
        Some(_) => b,
    }
}

/// The lesser number by IEEE 754-2019: -0 is less than +0, and NaN is propagated.
pub(super) fn minimum(a: f64, b: f64) -> f64 {
    -maximum(-a, -b)
}

/// `max(0, min(a * x + b, 1))`, where the product is rounded separately.
pub(super) fn hard_sigmoid(x: &[f64], step: FlushToZero) -> f64 {
    let line = single(step(single(step(x[0] * x[1]))) + x[2]);
    maximum(minimum(step(line), 1.0), 0.0)
}

/// The reference of an element-wise operator.
pub(super) struct ElementWise(pub(super) &'static OperatorSchema);

/// The types of an operator's inputs and of its output; FLOAT32 for tensors that are left out.
fn types(operator: &Validated) -> (Vec<DataType>, DataType) {
    let of = |kind| {
        let types = operator.tensors(kind).map(|(_, it)| it.map(dml_core::TensorLayout::data_type));
        types.map(|data_type| data_type.unwrap_or(DataType::Float32)).collect::<Vec<_>>()
    };
    let output = of(FieldKind::Output).first().copied().unwrap_or(DataType::Float32);
    (of(FieldKind::Input), output)
}

/// The operator's numeric attributes and enumeration values, with their types.
fn attributes(operator: &Validated) -> Vec<(DataType, u64)> {
    let fields = operator.schema().fields.iter().zip(operator.values());
    let number = |(field, value): (&dml_core::schema::FieldSchema, &FieldValue)| match value {
        FieldValue::Uint(value) if field.is_choice() => Some((DataType::Uint32, (*value).into())),
        FieldValue::Float(value) => Some((DataType::Float32, value.to_bits().into())),
        FieldValue::ScalarUnion(value) => {
            let data_type = operator.data_type_field(field.scalar_type?).ok()?;
            Some((data_type, value.to_bits() & (u64::MAX >> (64 - data_type.bits()))))
        }
        _ => None,
    };
    fields.filter_map(number).collect()
}

fn double((data_type, bits): (DataType, u64)) -> f64 {
    number::double(data_type, bits)
}

/// The bits of the output's element. Every intermediate number goes through `step`.
fn element(operator: &Validated, oracle: &Oracle, elements: &[u64], step: FlushToZero) -> u64 {
    let (inputs, output) = types(operator);
    let staged = is_staged(operator);
    if let (Some(bits), false) = (oracle.bits, staged) {
        return bits(elements);
    }
    let given = inputs.iter().copied().zip(elements.iter().copied());
    let given: Vec<(DataType, u64)> = given.chain(attributes(operator)).collect();
    // A float attribute becomes an integer if the elements are integers.
    let integer = |(data_type, bits): &(DataType, u64)| {
        let truncated = || output.saturated_bits(double((*data_type, *bits)));
        match data_type.integer_value(*bits) {
            None => truncated().and_then(|bits| output.integer_value(bits)),
            value => value,
        }
    };
    let are_integers = inputs.iter().all(|input| input.integer_range().is_some());
    let integers: Option<Vec<i128>> = match are_integers {
        true => given.iter().map(integer).collect(),
        false => None,
    };
    match (integers, oracle.integer, oracle.float) {
        (Some(integers), Some(of), _) if !staged => output.integer_bits(of(&integers)),
        (_, _, Some(of)) => {
            // Rounding from double precision equals rounding once, since it has more than twice the digits of
            // single precision. A subnormal FLOAT32 result is compared with its zero as well, and may come from
            // integers.
            let last = if output == DataType::Float32 { |it| it } else { step };
            let result = float(operator, of, &given, [step, last]);
            encoded(output, result)
        }
        // Elements are unchanged if both types are equal.
        _ if given[0].0 == output => given[0].1,
        (Some(integers), ..) if output.integer_range().is_some() => {
            output.integer_bits(integers[0])
        }
        _ => Number::decode(given[0].0, given[0].1).encode(output),
    }
}

/// Whether the operator computes in several steps that are each rounded to single precision.
fn is_staged(operator: &Validated) -> bool {
    let has_scale = scale_bias(operator).is_ok_and(|it| it.is_some());
    has_scale || fused(operator).is_ok_and(|it| it.is_some())
}

/// Whether inputs are cast to single precision: they have different types, one of them a float.
fn is_mixed(operator: &Validated) -> bool {
    let inputs = types(operator).0;
    OracleOfOperator::of(operator.schema()).is_some_and(|row| row.oracle.casts)
        && inputs.iter().any(|input| *input != inputs[0])
        && inputs.iter().any(|input| input.integer_range().is_none())
}

/// The scale and the bias that are applied to every element first, if any.
fn scale_bias(operator: &Validated) -> Result<Option<[f32; 2]>, Error> {
    match operator.schema().has_field("ScaleBias") {
        true => operator.scale_bias("ScaleBias"),
        false => Ok(None),
    }
}

/// The activation that is fused to the result, if any.
pub(crate) fn fused(operator: &Validated) -> Result<Option<&Validated>, Error> {
    match operator.schema().has_field("FusedActivation") {
        true => operator.nested("FusedActivation").map(<[_]>::first),
        false => Ok(None),
    }
}

/// The function of an element-wise operator for these operands and attributes, rounded to single precision;
/// `None` if it has no function of floats.
pub fn function_of_floats(schema: &OperatorSchema, numbers: &[f64]) -> Option<f64> {
    let float = OracleOfOperator::of(schema)?.oracle.float?;
    Some(single(float.of(numbers, |it| it)))
}

/// A function of floats, preceded by scale and bias and followed by the fused activation, as the operator
/// states. The result goes through the second step.
fn float(
    operator: &Validated,
    of: Float,
    given: &[(DataType, u64)],
    [step, last]: [FlushToZero; 2],
) -> f64 {
    let mut numbers: Vec<f64> = given.iter().map(|it| double(*it)).collect();
    let is_staged = is_staged(operator);
    // Integers combined with floats are cast.
    if is_staged || is_mixed(operator) {
        numbers.iter_mut().for_each(|number| *number = single(*number));
    }
    // Scaled elements may be flushed, and so may others unless kernels read their bits as integers.
    let stepped = if matches!(of, Float::Real(_)) { usize::from(is_staged) } else { numbers.len() };
    numbers.iter_mut().take(stepped).for_each(|number| *number = step(*number));
    if !is_staged {
        return single(last(of.of(&numbers, step)));
    }
    let result = scaled(operator, of, numbers, step);
    activated(operator, result, [step, last])
}

/// The operator's fused activation of a number, which is rounded to single precision first. The result goes
/// through the second step.
pub(crate) fn activated(operator: &Validated, number: f64, [step, last]: [FlushToZero; 2]) -> f64 {
    let Ok(Some(activation)) = fused(operator) else { return rounded(number, last) };
    function(activation, number, [step, last])
}

/// A nested operator's function of a number, which is rounded to single precision first.
pub(crate) fn function(activation: &Validated, number: f64, [step, last]: [FlushToZero; 2]) -> f64 {
    let attributes = attributes(activation).into_iter().map(double);
    let arguments = [rounded(number, step)].into_iter().chain(attributes).collect();
    let oracle = OracleOfOperator::of(activation.schema()).and_then(|row| row.oracle.float);
    oracle.map_or(f64::NAN, |of| rounded(scaled(activation, of, arguments, step), last))
}

/// An intermediate number, rounded to single precision.
fn rounded(value: f64, step: FlushToZero) -> f64 {
    step(single(step(value)))
}

/// A function of numbers, the first of which is scaled and biased if the operator states that.
fn scaled(operator: &Validated, of: Float, mut numbers: Vec<f64>, step: FlushToZero) -> f64 {
    if let Ok(Some([scale, bias])) = scale_bias(operator) {
        let [scale, bias] = [scale, bias].map(|it| step(it.into()));
        numbers[0] = rounded(rounded(numbers[0] * scale, step) + bias, step);
    }
    of.of(&numbers, step)
}

impl ElementWise {
    fn by_elements(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
        step: FlushToZero,
    ) -> Result<Vec<Vec<u64>>, Error> {
        let row =
            OracleOfOperator::of(self.0).ok_or_else(|| Error::internal(self.0.name, "no row"))?;
        let count = inputs.iter().flatten().map(Vec::len).min().unwrap_or_default();
        let at = |at: usize| {
            // Tensors that are left out count as zeros.
            let of = |input: &Option<Vec<u64>>| input.as_ref().map_or(0, |input| input[at]);
            let elements: Vec<u64> = inputs.iter().map(of).collect();
            element(operator, &row.oracle, &elements, step)
        };
        Ok(vec![(0..count).map(at).collect()])
    }
}

impl Reference for ElementWise {
    fn schema(&self) -> &'static OperatorSchema {
        self.0
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_elements(operator, inputs, |it| it)
    }

    fn flushed_outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        self.by_elements(operator, inputs, flush)
    }

    fn may_flush(&self, operator: &Validated, index: usize) -> bool {
        let is_real = OracleOfOperator::of(self.0)
            .is_some_and(|row| matches!(row.oracle.float, Some(Float::Real(_))));
        !is_real || (index == 0 && is_staged(operator))
    }

    fn may_be_subnormal_within(&self, operator: &Validated) -> bool {
        is_staged(operator)
            || OracleOfOperator::of(self.0)
                .is_some_and(|row| matches!(row.oracle.float, Some(Float::InSteps(_))))
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        let (inputs, output) = types(operator);
        let oracle = OracleOfOperator::of(self.0).map(|row| row.oracle).unwrap_or_default();
        // Elements that are only moved keep all bits of a NaN.
        let is_moved = match oracle.bits {
            Some(_) => !is_staged(operator),
            None => oracle.float.is_none() && inputs == [output],
        };
        let is_single = is_staged(operator) || is_mixed(operator);
        let own = operator.schema().comparison(data_type);
        match fused(operator).map(|it| it.map(|it| it.schema().comparison(data_type))) {
            // The activation's argument is exact, apart from rounding that the oracle also does.
            Ok(Some(Comparison::Ulp(bound))) => Comparison::Ulp(bound),
            Ok(Some(_)) => own,
            _ if is_moved => Comparison::BitExact,
            // Results in single precision have FLOAT32's error before they are truncated to integers.
            _ if is_single && output.integer_range().is_some() => {
                operator.schema().comparison(DataType::Float32)
            }
            _ => own,
        }
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        let tensors = Tensors::new(self.0, signature);
        tensors.operator(|_, make| make.packed([1; 8]), Attributes::Usual)
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        cases::all(Tensors::new(self.0, signature))
    }

    fn shares_cases(&self) -> bool {
        true
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        cases::random(Tensors::new(self.0, signature), random)
    }
}
