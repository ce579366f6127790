//! Lowers normalizations: by the mean and variance of each row, by a given mean and variance, or by a norm.
//!
//! MEAN_VARIANCE_NORMALIZATION2 of FLOAT32 [2, 3] over the last dimension, with a scale of 3 elements that is broadcast:
//!
//! ```text
//! MEAN_VARIANCE_NORMALIZATION2
//!   input 0 = InputTensor FLOAT32 [2, 3]
//!   input 1 = ScaleTensor FLOAT32 [2, 3]
//!   output 0 = OutputTensor FLOAT32 [2, 3]
//!   %0 = 2 elements of 32 bits
//!   %1 = 2 elements of 32 bits
//!   %2 = constant 0xacc52737, 4 bytes
//!   %3 = 2 elements of 32 bits
//!   rows
//!     %0 by [1, 0] over [2, 3] = reduce sum_high sum_rest of_both of same, then divide_by (input 0)
//!     %1 by [1, 0] over [2, 3] = reduce sum_high sum_rest of_both of subtract multiply, then divide_by (input 0, %0 by [1, 0])
//!     %3 over [2, 1] = map add square_root (%1, %2 by [0, 0])
//!     output 0 over [2, 3] = map subtract divide multiply (input 0, %0 by [1, 0], %3 by [1, 0], input 1 by [0, 1])
//!     64 bytes, 46 operations, 6 invocations
//! ```
//!
//! Everything is computed in single precision, and each step is rounded.

use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use crate::Target;
use crate::families::element_wise::activated;
use crate::ir::space::Operand;
use crate::ir::{self, Computation, Reduction};
use crate::lowering::conversion::conversion;
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::rows::Rows;

/// An operand, and the type of its elements.
type Typed = (Operand, DataType);

/// The values that elements are normalized with; `None` leaves that step out.
#[derive(Default)]
struct Normalization {
    /// The power of two that elements are multiplied by first.
    factor: Option<Typed>,
    mean: Option<Typed>,
    /// The square root of the variance.
    deviation: Option<Typed>,
    scale: Option<Typed>,
    bias: Option<Typed>,
}

/// Normalization by the mean and the variance of each row.
pub(super) fn by_moments(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let flag = |name| operator.bool(name);
    let has_mean = flag("UseMean").unwrap_or(true);
    let has_variance = flag("UseVariance").or_else(|_| flag("NormalizeVariance"))?;
    let mut rows = Rows::new(operator, target)?;
    let single = |operand: &Operand| (operand.clone(), DataType::Float32);
    let mean = match has_mean {
        true => Some(rows.mean(vec![], ElementFormula::chain(rows.widening()))?),
        false => None,
    };
    let deviation = match has_variance {
        true => Some(deviation(&mut rows, mean.as_ref(), operator.float("Epsilon")?)?),
        false => None,
    };
    let own = |at: usize| rows.others[at].clone().map(|operand| (operand, rows.data_type));
    let by = Normalization {
        factor: None,
        mean: mean.as_ref().map(single),
        deviation: deviation.as_ref().map(single),
        scale: own(0),
        bias: own(1),
    };
    write(rows, by)
}

/// The square root of each row's variance about its mean, or about 0, plus `epsilon`.
fn deviation(rows: &mut Rows<'_>, mean: Option<&Operand>, epsilon: f32) -> Result<Operand, Error> {
    let (mut program, mut element) = rows.of_element();
    if mean.is_some() {
        element = program.apply(&f::SUBTRACT_F32, [element, Value::Input(1)]);
    }
    program.apply(&f::MULTIPLY_F32, [element, element]);
    let variance = rows.mean(mean.cloned().into_iter().collect(), program)?;
    let epsilon = rows.single(epsilon);
    rows.of_rows(vec![variance, epsilon], root())
}

/// The square root of the sum of a variance and an addend.
fn root() -> ElementFormula {
    let mut program = ElementFormula::of(&f::ADD_F32);
    program.apply(&f::SQUARE_ROOT_F32, [program.last()]);
    program
}

/// Normalization by a given mean and variance for each element.
pub(super) fn by_given_moments(
    operator: &Validated,
    target: &Target<'_>,
) -> Result<ir::Program, Error> {
    let mut rows = Rows::new(operator, target)?;
    let data_type = rows.data_type;
    let given = |rows: &Rows<'_>, at: usize| -> Result<Operand, Error> {
        let missing = || Error::internal(operator.schema().name, "an input is missing");
        rows.others[at].clone().ok_or_else(missing)
    };
    let variance = given(&rows, 1)?;
    let sizes =
        std::array::from_fn(|at| if variance.strides[at] == 0 { 1 } else { rows.sizes[at] });
    let deviation = rows.temporary_of(sizes);
    let epsilon = rows.single(operator.float("Epsilon")?);
    let mut program = ElementFormula::default();
    let single = program.apply_all(conversion(data_type, DataType::Float32), Value::Input(0));
    let sum = program.apply(&f::ADD_F32, [single, Value::Input(1)]);
    program.apply(&f::SQUARE_ROOT_F32, [sum]);
    rows.compute(sizes, vec![variance, epsilon], deviation.clone(), program)?;
    let own = |at| given(&rows, at).map(|operand| Some((operand, data_type)));
    let by = Normalization {
        factor: None,
        mean: own(0)?,
        deviation: Some((deviation, DataType::Float32)),
        scale: own(2)?,
        bias: own(3)?,
    };
    write(rows, by)
}

/// Writes `activation(scale * ((factor * x - mean) / deviation) + bias)`.
fn write(mut rows: Rows<'_>, by: Normalization) -> Result<ir::Program, Error> {
    let (program, mut value) = rows.of_element();
    let mut map =
        MapBuilder { computation: Computation::of(program), inputs: vec![rows.input.clone()] };
    let steps = [
        (by.factor, &f::MULTIPLY_F32),
        (by.mean, &f::SUBTRACT_F32),
        (by.deviation, &f::DIVIDE_F32),
        (by.scale, &f::MULTIPLY_F32),
        (by.bias, &f::ADD_F32),
    ];
    for (operand, function) in steps {
        let Some((operand, data_type)) = operand else { continue };
        let other = map.input(operand);
        let other = map.apply_all(conversion(data_type, DataType::Float32), other);
        value = map.apply(function, &[value, other], &[]);
    }
    let value = activated(rows.operator, &mut map.computation, value)?;
    map.apply_all(conversion(DataType::Float32, rows.data_type), value);
    let output = rows.output(0)?;
    map.record(&mut rows.recorder, rows.sizes, output)?;
    Ok(rows.finish())
}

/// Normalization by the norm of each row, or by `Epsilon` if that is greater. Elements are scaled so that
/// neither their squares nor the sum leaves the range of single precision.
pub(super) fn by_norm(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut rows = Rows::new(operator, target)?;
    let scales = rows.scales()?;
    let (mut program, mut element) = rows.of_element();
    if scales.is_some() {
        element = program.apply(&f::MULTIPLY_F32, [element, Value::Input(1)]);
    }
    let mut last = ElementFormula::default();
    if operator.uint("P")? == 1 {
        program.apply(&f::ABSOLUTE_F32, [element]);
    } else {
        program.apply(&f::MULTIPLY_F32, [element, element]);
        last.apply(&f::SQUARE_ROOT_F32, [Value::Input(0)]);
    }
    let reduction = Reduction { program, last, ..Reduction::of(&SUM_F32) };
    let norm = rows.reduce(scales.iter().cloned().collect(), reduction)?;
    let epsilon = operator.float("Epsilon")?;
    let divisor = match &scales {
        Some(scales) => greater_of_scaled(&mut rows, norm, epsilon, scales.clone())?,
        None => {
            let epsilon = rows.single(epsilon);
            rows.of_rows(vec![norm, epsilon], ElementFormula::of(&f::MAXIMUM_F32))?
        }
    };
    let single = |operand: Operand| (operand, DataType::Float32);
    let by = Normalization {
        factor: scales.map(single),
        deviation: Some(single(divisor)),
        ..Normalization::default()
    };
    write(rows, by)
}

/// The greater of a scaled norm and `epsilon`, which is scaled here.
fn greater_of_scaled(
    rows: &mut Rows<'_>,
    norm: Operand,
    epsilon: f32,
    scales: Operand,
) -> Result<Operand, Error> {
    // A device may flush a subnormal number to 0: it is made a normal one, and the scales are adjusted.
    let shift = if epsilon.is_subnormal() { 2.0_f32.powi(24) } else { 1.0 };
    let inputs = vec![norm, scales, rows.single(epsilon * shift), rows.single(shift.recip())];
    let mut program = ElementFormula::default();
    let scale = program.apply(&f::MULTIPLY_F32, [Value::Input(1), Value::Input(3)]);
    let epsilon = program.apply(&f::MULTIPLY_F32, [Value::Input(2), scale]);
    program.apply(&f::MAXIMUM_F32, [Value::Input(0), epsilon]);
    rows.of_rows(inputs, program)
}
