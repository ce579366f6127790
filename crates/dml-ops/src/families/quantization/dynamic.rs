//! Lowers DYNAMIC_QUANTIZE_LINEAR: the range of a tensor's elements, extended to include 0, is mapped to the
//! range of the integers.

use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::RANGE_F32;

use crate::Target;
use crate::ir::{self, Reduction};
use crate::lowering::conversion::conversion;
use crate::lowering::rows::{Axes, Rows};

/// Writes the outputs: the integers, the scale, and the zero point. One reduction finds the range, and writes what
/// follows from it: the zero point is its result, and the scale its second one.
pub(super) fn by_range(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut rows = Rows::new(operator, target)?;
    let integer = operator.required_tensor("OutputTensor")?.data_type();
    let one = rows.sizes_of(Axes::Kept);
    let [scale, zero_point] = [rows.output(1)?, rows.output(2)?].map(|it| it.repeated(&one));
    let reduction = of_range(ElementFormula::chain(rows.widening()), integer);
    rows.reduce_to(zero_point.clone(), vec![scale.clone()], reduction)?;
    let (mut program, element) = rows.of_element();
    let zero_point_at = program.apply_all(conversion(integer, DataType::Float32), Value::Input(2));
    let quotient = program.apply(&f::QUANTIZE_F32, [element, Value::Input(1), zero_point_at]);
    program.apply_all(conversion(DataType::Float32, integer), quotient);
    let inputs = vec![rows.input.clone(), scale, zero_point];
    rows.write(rows.sizes, inputs, program)?;
    Ok(rows.finish())
}

/// The reduction of a tensor's elements, of which `program` makes numbers, to the zero point and the scale.
fn of_range(program: ElementFormula, integer: DataType) -> Reduction {
    let first = if integer == DataType::Int8 { -128.0 } else { 0.0 };
    let numbers = [0.0, 1.0, first, 255.0, f32::INFINITY, f32::NEG_INFINITY];
    let parameters = numbers.map(f32::to_bits).to_vec();
    let [zero_at, one_at, first_at, steps_at, most_at, least_at] =
        [0, 1, 2, 3, 4, 5].map(Value::Parameter);
    let mut last = ElementFormula::default();
    let high = last.apply(&f::LOW_WORDS, [Value::Input(0)]);
    let low = last.apply(&f::HIGH_WORDS, [Value::Input(0)]);
    // Between a number and itself there is nothing else.
    let [zero, one, first] =
        [zero_at, one_at, first_at].map(|number| last.apply(&f::CLIP_U32, [high, number, number]));
    // The scale: the range, including 0, divided by 255; 1 where all elements are 0.
    let above = last.apply(&f::CLIP_F32, [high, zero_at, most_at]);
    let least = last.apply(&f::MINIMUM_F32, [high, low]);
    let below = last.apply(&f::CLIP_F32, [least, least_at, zero_at]);
    let range = last.apply(&f::SUBTRACT_F32, [above, below]);
    let quotient = last.apply(&f::DIVIDE_BY_F32, [range, steps_at]);
    let is_zero = last.apply(&f::EQUALS_F32, [quotient, zero]);
    let second = Some(last.steps.len());
    let scale = last.apply(&f::CHOOSE_WORD, [is_zero, one, quotient]);
    // The zero point: the integer that the number 0 becomes.
    let steps = last.apply(&f::DIVIDE_F32, [below, scale]);
    let place = last.apply(&f::SUBTRACT_F32, [first, steps]);
    // Ties to even.
    let nearest = last.apply(&f::ROUND_F32, [place, zero_at]);
    last.apply_all(conversion(DataType::Float32, integer), nearest);
    Reduction { program, last, ends: 1, second, parameters, ..Reduction::of(&RANGE_F32) }
}
