//! Lowers reductions: each row becomes one element, or the index of one.
//!
//! REDUCE with the function AVERAGE of FLOAT32 [2, 3] over the last dimension:
//!
//! ```text
//! REDUCE
//!   input 0 = InputTensor FLOAT32 [2, 3]
//!   output 0 = OutputTensor FLOAT32 [2, 1]
//!   output 0 by [1, 0] over [2, 3] = reduce sum_high sum_rest of_both of same, then divide_by (input 0)
//!     32 bytes, 6 operations, 2 invocations
//! ```
//!
//! Each function is a program before the reduction, a reducer that joins two elements, and a program after it.
//! FLOAT16 is computed in single precision, 8- and 16-bit integers in 32 bits.

use dml_core::{AxisDirection, DataType, Error, ReduceFunction, Validated};
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions::{self as f, Function};
use dml_spirv::reduce::{self as r, Reducer, SUM_F32};

use crate::Target;
use crate::ir::{self, Reduction};
use crate::lowering::conversion::{conversion, widened};
use crate::lowering::rows::{Axes, Rows};

/// The type that elements are computed in.
pub(super) fn computed(data_type: DataType) -> DataType {
    match data_type {
        DataType::Float16 => DataType::Float32,
        DataType::Int8 | DataType::Int16 => DataType::Int32,
        DataType::Uint8 | DataType::Uint16 => DataType::Uint32,
        other => other,
    }
}

/// Selects one of the values by the type that elements are computed in.
macro_rules! by_type {
    ($data_type:expr, $f32:expr, $i32:expr, $u32:expr, $i64:expr, $u64:expr) => {
        match computed($data_type) {
            DataType::Int32 => $i32,
            DataType::Uint32 => $u32,
            DataType::Int64 => $i64,
            DataType::Uint64 => $u64,
            _ => $f32,
        }
    };
}

pub(super) fn sum(data_type: DataType) -> &'static Reducer {
    by_type!(data_type, &r::SUM_F32, &r::SUM_I32, &r::SUM_I32, &r::SUM_I64, &r::SUM_I64)
}

pub(super) fn product(data_type: DataType) -> &'static Reducer {
    by_type!(
        data_type,
        &r::PRODUCT_F32,
        &r::PRODUCT_I32,
        &r::PRODUCT_I32,
        &r::PRODUCT_I64,
        &r::PRODUCT_I64
    )
}

fn greatest(data_type: DataType) -> &'static Reducer {
    by_type!(
        data_type,
        &r::GREATEST_F32,
        &r::GREATEST_I32,
        &r::GREATEST_U32,
        &r::GREATEST_I64,
        &r::GREATEST_U64
    )
}

fn least(data_type: DataType) -> &'static Reducer {
    by_type!(data_type, &r::LEAST_F32, &r::LEAST_I32, &r::LEAST_U32, &r::LEAST_I64, &r::LEAST_U64)
}

fn magnitude(data_type: DataType) -> Option<&'static Function> {
    by_type!(
        data_type,
        Some(&f::ABSOLUTE_F32),
        Some(&f::ABSOLUTE_I32),
        None,
        Some(&f::ABSOLUTE_I64),
        None
    )
}

fn times(data_type: DataType) -> &'static Function {
    by_type!(
        data_type,
        &f::MULTIPLY_F32,
        &f::MULTIPLY_I32,
        &f::MULTIPLY_I32,
        &f::MULTIPLY_I64,
        &f::MULTIPLY_I64
    )
}

/// The computation on an element before it is joined to others.
enum ElementTransform {
    Nothing,
    Magnitude,
    Square,
}

/// One element for each row, by the reduction function that the operator names.
pub(super) fn reduce(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    use ElementTransform::{Magnitude, Nothing, Square};
    let number = operator.uint("Function")?;
    let function = ReduceFunction::from_dml_value(number)
        .ok_or_else(|| Error::internal(operator.schema().name, "no such function"))?;
    let rows = Rows::new(operator, target)?;
    let data_type = rows.data_type;
    let of = |before, joined: fn(DataType) -> &'static Reducer, after| {
        (before, joined(data_type), after)
    };
    let (before, joined, after) = match function {
        ReduceFunction::Argmax => return index(rows, Extreme::Greatest, TieBreak::First),
        ReduceFunction::Argmin => return index(rows, Extreme::Least, TieBreak::First),
        ReduceFunction::Average => return average(rows),
        ReduceFunction::LogSumExp => return log_sum_exp(rows),
        ReduceFunction::L2 => return norm(rows),
        ReduceFunction::L1 => of(Magnitude, sum, None),
        ReduceFunction::LogSum => of(Nothing, sum, Some(&f::LOG_F32)),
        ReduceFunction::Max => of(Nothing, greatest, None),
        ReduceFunction::Min => of(Nothing, least, None),
        ReduceFunction::Multiply => of(Nothing, product, None),
        ReduceFunction::Sum => of(Nothing, sum, None),
        ReduceFunction::SumSquare => of(Square, sum, None),
    };
    let mut program = ElementFormula::default();
    let element = program.apply_all(widened(data_type), Value::Input(0));
    match before {
        Nothing => {}
        Magnitude => drop(program.apply_all(magnitude(data_type), element)),
        Square => drop(program.apply(times(data_type), vec![element, element])),
    }
    finish(rows, program, joined, after)
}

/// The program that reduces each row and applies `after` to the result.
fn finish(
    mut rows: Rows<'_>,
    program: ElementFormula,
    reducer: &'static Reducer,
    after: Option<&'static Function>,
) -> Result<ir::Program, Error> {
    let output = rows.operator.required_tensor("OutputTensor")?.data_type();
    let narrowing = conversion(computed(rows.data_type), output);
    let last = ElementFormula::chain(after.into_iter().chain(narrowing));
    let reduction = Reduction { program, last, ..Reduction::of(reducer) };
    rows.reduce_to(rows.output(0)?, vec![], reduction)?;
    Ok(rows.finish())
}

/// The mean of each row: its sum, divided by its length.
fn average(mut rows: Rows<'_>) -> Result<ir::Program, Error> {
    let output = rows.operator.required_tensor("OutputTensor")?.data_type();
    let narrowing = conversion(DataType::Float32, output);
    let reduction = rows.reduction_to_mean(ElementFormula::chain(rows.widening()), &narrowing);
    rows.reduce_to(rows.output(0)?, vec![], reduction)?;
    Ok(rows.finish())
}

/// The square root of the sum of squares of elements that are scaled so that squares stay in single
/// precision's range.
fn norm(mut rows: Rows<'_>) -> Result<ir::Program, Error> {
    let output = rows.operator.required_tensor("OutputTensor")?.data_type();
    let narrowing = conversion(DataType::Float32, output);
    let (mut program, element) = rows.of_element();
    let Some(scales) = rows.scales()? else {
        program.apply(&f::MULTIPLY_F32, [element, element]);
        let last = ElementFormula::chain([&f::SQUARE_ROOT_F32].into_iter().chain(narrowing));
        let reduction = Reduction { program, last, ..Reduction::of(&SUM_F32) };
        rows.reduce_to(rows.output(0)?, vec![], reduction)?;
        return Ok(rows.finish());
    };
    let scaled = program.apply(&f::MULTIPLY_F32, [element, Value::Input(1)]);
    program.apply(&f::MULTIPLY_F32, [scaled, scaled]);
    let sum =
        rows.reduce(vec![scales.clone()], Reduction { program, ..Reduction::of(&SUM_F32) })?;
    let mut program = ElementFormula::of(&f::SQUARE_ROOT_F32);
    let quotient = program.apply(&f::DIVIDE_F32, [program.last(), Value::Input(1)]);
    program.apply_all(narrowing, quotient);
    rows.write(rows.sizes_of(Axes::Kept), vec![sum, scales], program)?;
    Ok(rows.finish())
}

/// `m + ln(sum(e^(x - m)))`, where `m` is the greatest element.
fn log_sum_exp(mut rows: Rows<'_>) -> Result<ir::Program, Error> {
    let [greatest, logarithm] = rows.powers(&r::LOG_SUM_F32)?;
    let output = rows.operator.required_tensor("OutputTensor")?.data_type();
    let mut program = ElementFormula::of(&f::SUM_F32);
    program.apply_all(conversion(DataType::Float32, output), program.last());
    let sizes = rows.sizes_of(Axes::Kept);
    rows.write(sizes, vec![greatest, logarithm], program)?;
    Ok(rows.finish())
}

/// Whether the greatest or the least element of a row is searched.
#[derive(Clone, Copy)]
enum Extreme {
    Greatest,
    Least,
}

/// Which one of several equal elements is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TieBreak {
    First,
    Last,
}

/// The index of the greatest element of each row.
pub(super) fn argmax(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    index(Rows::new(operator, target)?, Extreme::Greatest, tie_break(operator)?)
}

/// The index of the least element of each row.
pub(super) fn argmin(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    index(Rows::new(operator, target)?, Extreme::Least, tie_break(operator)?)
}

fn tie_break(operator: &Validated) -> Result<TieBreak, Error> {
    let is_last = operator.uint("AxisDirection")? == AxisDirection::Decreasing.dml_value();
    Ok(if is_last { TieBreak::Last } else { TieBreak::First })
}

/// The index of the greatest or least element of each row.
///
/// A reduction finds the greatest integer of 64 bits: a key in the high word, and the element's index in the
/// low one. The key is greater for elements that are to be found, and the low word decides between equal
/// ones. The key of an element of 64 bits is whether it equals the extreme that an earlier reduction has
/// found.
fn index(mut rows: Rows<'_>, extreme: Extreme, tie_break: TieBreak) -> Result<ir::Program, Error> {
    let numbers = rows.numbers();
    let mut program = ElementFormula::default();
    let (key, others) = match computed(rows.data_type).bits() {
        64 => {
            let joined = match extreme {
                Extreme::Greatest => greatest(rows.data_type),
                Extreme::Least => least(rows.data_type),
            };
            let found = rows.reduce(vec![], Reduction::of(joined))?;
            let elements = [0, 1].map(Value::Input);
            let is_equal = program.apply(&f::EQUALS_I64, elements.to_vec());
            (program.apply(&f::LOW_WORDS, [is_equal]), vec![found, numbers])
        }
        _ => (key(&mut program, rows.data_type, extreme), vec![numbers]),
    };
    let counted: &[&Function] = match tie_break {
        TieBreak::First => &[&f::BIT_NOT_WORD],
        TieBreak::Last => &[],
    };
    let number = program.apply_all(counted.iter().copied(), Value::Input(others.len()));
    program.apply(&f::PAIR, [number, key]);
    let output = rows.operator.required_tensor("OutputTensor")?.data_type();
    let number = [&f::LOW_WORDS].into_iter().chain(counted.iter().copied());
    let last = ElementFormula::chain(number.chain(conversion(DataType::Uint32, output)));
    // Keys of signed integers are signed.
    let reducer = match computed(rows.data_type) {
        DataType::Int32 => &r::GREATEST_I64,
        _ => &r::GREATEST_U64,
    };
    rows.reduce_to(rows.output(0)?, others, Reduction { program, last, ..Reduction::of(reducer) })?;
    Ok(rows.finish())
}

/// Adds the key of an element of up to 32 bits: NaN has the greatest key, and the keys of +0 and -0 are equal.
fn key(program: &mut ElementFormula, data_type: DataType, extreme: Extreme) -> Value {
    let element = program.apply_all(widened(data_type), Value::Input(0));
    let functions: &[&Function] = match (computed(data_type), extreme) {
        (DataType::Float32, Extreme::Greatest) => &[&f::SORT_KEY_F32],
        (DataType::Float32, Extreme::Least) => &[&f::OPPOSITE_F32, &f::SORT_KEY_F32],
        (_, Extreme::Greatest) => &[],
        (_, Extreme::Least) => &[&f::BIT_NOT_WORD],
    };
    program.apply_all(functions.iter().copied(), element)
}
