//! Lowers DYNAMIC_QUANTIZE_LINEAR: the range of a tensor's elements, extended to include 0, is mapped to the
//! range of the integers.

use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::{Program, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::LEAST_F32;

use crate::Target;
use crate::ir::space::Operand;
use crate::ir::{self, Reduction};
use crate::lowering::conversion::conversion;
use crate::lowering::rows::{Axes, Rows};

/// Writes the outputs: the integers, the scale, and the zero point.
pub(super) fn by_range(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut rows = Rows::new(operator, target)?;
    let integer = operator.required_tensor("OutputTensor")?.data_type();
    let greatest = rows.greatest()?;
    let program = Program::chain(rows.widening());
    let least = rows.reduce(vec![], Reduction { program, ..Reduction::of(&LEAST_F32) })?;
    let scale = scale(&mut rows, greatest, least.clone())?;
    let zero_point = zero_point(&mut rows, least, scale.clone(), integer)?;
    let one = rows.sizes_of(Axes::Kept);
    let output = rows.output(1)?;
    rows.compute(one, vec![scale.clone()], output, Program::default())?;
    let narrowing = Program::chain(conversion(DataType::Float32, integer));
    let output = rows.output(2)?;
    rows.compute(one, vec![zero_point.clone()], output, narrowing)?;
    let (mut program, element) = rows.of_element();
    let quotient = program.apply(&f::QUANTIZE_F32, vec![element, Value::Input(1), Value::Input(2)]);
    program.apply_all(conversion(DataType::Float32, integer), quotient);
    let inputs = vec![rows.input.clone(), scale, zero_point];
    rows.write(rows.sizes, inputs, program)?;
    Ok(rows.finish())
}

/// The scale: the range, including 0, divided by 255; 1 where all elements are 0.
fn scale(rows: &mut Rows<'_>, greatest: Operand, least: Operand) -> Result<Operand, Error> {
    let [zero, steps, one] = [0.0, 255.0, 1.0].map(|it| rows.single(it));
    let [greatest_at, least_at, zero_at, steps_at, one_at] = [0, 1, 2, 3, 4].map(Value::Input);
    let mut program = Program::default();
    let above = program.apply(&f::MAXIMUM_F32, vec![greatest_at, zero_at]);
    let below = program.apply(&f::MINIMUM_F32, vec![least_at, zero_at]);
    let range = program.apply(&f::SUBTRACT_F32, vec![above, below]);
    let scale = program.apply(&f::DIVIDE_F32, vec![range, steps_at]);
    let is_zero = program.apply(&f::EQUALS_F32, vec![scale, zero_at]);
    program.apply(&f::CHOOSE_WORD, vec![is_zero, one_at, scale]);
    rows.of_rows(vec![greatest, least, zero, steps, one], program)
}

/// The zero point, as FLOAT32.
fn zero_point(
    rows: &mut Rows<'_>,
    least: Operand,
    scale: Operand,
    integer: DataType,
) -> Result<Operand, Error> {
    let first = if integer == DataType::Int8 { -128.0 } else { 0.0 };
    let [zero, first] = [0.0, first].map(|it| rows.single(it));
    let [least_at, scale_at, zero_at, first_at] = [0, 1, 2, 3].map(Value::Input);
    let mut program = Program::default();
    let below = program.apply(&f::MINIMUM_F32, vec![least_at, zero_at]);
    let steps = program.apply(&f::DIVIDE_F32, vec![below, scale_at]);
    let place = program.apply(&f::SUBTRACT_F32, vec![first_at, steps]);
    let nearest = program.apply(&f::ROUND_F32, vec![place, Value::Parameter(0)]);
    program.apply_all(conversion(DataType::Float32, integer), nearest);
    program.apply_all(conversion(integer, DataType::Float32), program.last());
    rows.of_rows_with(vec![least, scale, zero, first], program, vec![0])
}
