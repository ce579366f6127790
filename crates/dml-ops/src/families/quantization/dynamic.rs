//! Lowers DYNAMIC_QUANTIZE_LINEAR: the range of a tensor's elements, extended to include 0, is mapped to the
//! range of the integers.

use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::RANGE_F32;

use crate::Target;
use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{self, Computation, Reduction};
use crate::lowering::conversion::conversion;
use crate::lowering::rows::{Axes, Rows, repeated};

/// Writes the outputs: the integers, the scale, and the zero point. The range is found by one reduction, and scale and
/// zero point are computed from it independently, so that neither waits for the other.
pub(super) fn by_range(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut rows = Rows::new(operator, target)?;
    let integer = operator.required_tensor("OutputTensor")?.data_type();
    let one = rows.sizes_of(Axes::Kept);
    let range = rows.temporary(ElementWidth::B64, one);
    let program = ElementFormula::chain(rows.widening());
    rows.reduce_to(range.clone(), vec![], Reduction { program, ..Reduction::of(&RANGE_F32) })?;
    let constants = [0.0, 255.0, 1.0].map(|it| rows.single(it));
    let [scale, zero_point] = [rows.output(1)?, rows.output(2)?].map(|it| repeated(it, one));
    let inputs = [std::slice::from_ref(&range), constants.as_slice()].concat();
    rows.compute(one, inputs, scale.clone(), Scale::new().program)?;
    write_zero_point(&mut rows, range, constants, zero_point.clone(), integer)?;
    let (mut program, element) = rows.of_element();
    let zero_point_at = program.apply_all(conversion(integer, DataType::Float32), Value::Input(2));
    let quotient = program.apply(&f::QUANTIZE_F32, vec![element, Value::Input(1), zero_point_at]);
    program.apply_all(conversion(DataType::Float32, integer), quotient);
    let inputs = vec![rows.input.clone(), scale, zero_point];
    rows.write(rows.sizes, inputs, program)?;
    Ok(rows.finish())
}

/// The computation of the scale: the range, including 0, divided by 255; 1 where all elements are 0.
struct Scale {
    /// Its inputs are the range, 0, 255 and 1; its last value is the scale.
    program: ElementFormula,
    /// The lower end of the range.
    below: Value,
    scale: Value,
}

impl Scale {
    fn new() -> Self {
        let [range_at, zero_at, steps_at, one_at] = [0, 1, 2, 3].map(Value::Input);
        let mut program = ElementFormula::default();
        let high = program.apply(&f::LOW_WORDS, vec![range_at]);
        let low = program.apply(&f::HIGH_WORDS, vec![range_at]);
        let above = program.apply(&f::MAXIMUM_F32, vec![high, zero_at]);
        let least = program.apply(&f::MINIMUM_F32, vec![high, low]);
        let below = program.apply(&f::MINIMUM_F32, vec![least, zero_at]);
        let range = program.apply(&f::SUBTRACT_F32, vec![above, below]);
        let quotient = program.apply(&f::DIVIDE_F32, vec![range, steps_at]);
        let is_zero = program.apply(&f::EQUALS_F32, vec![quotient, zero_at]);
        let scale = program.apply(&f::CHOOSE_WORD, vec![is_zero, one_at, quotient]);
        Self { program, below, scale }
    }
}

/// Writes the zero point: the integer that the number 0 becomes.
fn write_zero_point(
    rows: &mut Rows<'_>,
    range: Operand,
    constants: [Operand; 3],
    output: Operand,
    integer: DataType,
) -> Result<(), Error> {
    let first = rows.single(if integer == DataType::Int8 { -128.0 } else { 0.0 });
    let Scale { mut program, below, scale } = Scale::new();
    let steps = program.apply(&f::DIVIDE_F32, vec![below, scale]);
    let place = program.apply(&f::SUBTRACT_F32, vec![Value::Input(4), steps]);
    let nearest = program.apply(&f::ROUND_F32, vec![place, Value::Parameter(0)]);
    program.apply_all(conversion(DataType::Float32, integer), nearest);
    let inputs = [&[range], constants.as_slice(), &[first]].concat();
    let space = IterationSpace { sizes: rows.sizes_of(Axes::Kept), inputs, output };
    rows.recorder.map(space, Computation { program, parameters: vec![0], packed: None })
}
