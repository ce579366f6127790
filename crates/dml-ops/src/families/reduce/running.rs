//! Lowers cumulative sums and products: each element is joined with all before it in its row.
//!
//! A Scan joins them in one order on every device; sums and products of floats keep rounding errors in a
//! second word.

use dml_core::{AxisDirection, DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula, Value};
use dml_spirv::reduce::Reducer;

use super::lowering::{computed, product, sum};
use crate::Target;
use crate::ir;
use crate::ir::space::{IterationSpace, Operand};
use crate::lowering::conversion::{conversion, widened};
use crate::lowering::rows::Rows;

/// The sum of each element and all before it.
pub(super) fn sums(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    running(operator, target, sum, ("HasExclusiveSum", 0))
}

/// The product of each element and all before it.
pub(super) fn products(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    running(operator, target, product, ("HasExclusiveProduct", 1))
}

/// The cumulative result of the reducer `joined`, inclusive or exclusive; `first` is the result of no elements.
fn running(
    operator: &Validated,
    target: &Target<'_>,
    joined: fn(DataType) -> &'static Reducer,
    (is_exclusive, first): (&str, u32),
) -> Result<ir::Program, Error> {
    let mut rows = Rows::new(operator, target)?;
    let data_type = rows.data_type;
    let reducer = joined(data_type);
    let axis = operator.uint("Axis")? as usize;
    let tensor = operator.required_tensor("InputTensor")?;
    let axis = axis + DIMENSIONS - tensor.sizes().len();
    let mut output = rows.output(0)?;
    let (inputs, whole) = (vec![rows.input.clone()], output.clone());
    let whole = IterationSpace { sizes: rows.sizes, inputs, output: whole };
    rows.recorder.allow_in_place(&whole);
    let size = rows.sizes[axis];
    if operator.uint("AxisDirection")? == AxisDirection::Decreasing.dml_value() {
        let input = rows.input.clone();
        rows.input = from_end(input, axis, size);
        output = from_end(output, axis, size);
    }
    let first = match computed(data_type) {
        DataType::Float32 => u64::from((first as f32).to_bits()),
        _ => first.into(),
    };
    let is_exclusive = operator.bool(is_exclusive)?;
    let elements = begin(&mut rows, axis, reducer.width(), is_exclusive.then_some(first))?;
    let elements_of = |sizes: &[u32]| sizes.iter().product();
    let (outer, inner) = (elements_of(&rows.sizes[..axis]), elements_of(&rows.sizes[axis + 1..]));
    let states = rows.recorder.scan([outer, size, inner], reducer, elements)?;
    let mut program = ElementFormula::default();
    let numbers: Vec<Value> = (0..states.len()).map(Value::Input).collect();
    let result = match reducer.results() {
        [] => Value::Input(0),
        [result, ..] => program.apply(result, numbers),
    };
    program.apply_all(conversion(computed(data_type), data_type), result);
    rows.compute(rows.sizes, states, output, program)?;
    Ok(rows.finish())
}

/// The elements in reverse order along a dimension.
fn from_end(operand: Operand, axis: usize, size: u32) -> Operand {
    let mut operand = operand;
    operand.base += i64::from(size - 1) * operand.strides[axis];
    operand.strides[axis] = -operand.strides[axis];
    operand
}

/// The elements as the scan's input; with `first`, shifted by one element so that the scan is exclusive.
fn begin(
    rows: &mut Rows<'_>,
    axis: usize,
    width: ElementWidth,
    first: Option<u64>,
) -> Result<Operand, Error> {
    let chain = ElementFormula::chain(widened(rows.data_type));
    let state = rows.temporary(width, rows.sizes);
    let mut sizes = rows.sizes;
    let mut shift = 0;
    if let Some(first) = first {
        (sizes[axis], shift) = (1, 1);
        let first = rows.recorder.constant(width, first);
        rows.compute(sizes, vec![first], state.clone(), ElementFormula::default())?;
    }
    sizes[axis] = rows.sizes[axis] - shift;
    if sizes[axis] > 0 {
        let base = state.base + i64::from(shift) * state.strides[axis];
        let (input, output) = (rows.input.clone(), Operand { base, ..state.clone() });
        rows.compute(sizes, vec![input], output, chain)?;
    }
    Ok(state)
}
