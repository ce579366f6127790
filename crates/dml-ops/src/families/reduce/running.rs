//! How each element becomes what joins it with all before it in its row.
//!
//! In one pass after the other: after the first all have been joined with the one before, then with two, four and
//! so on. So every device joins them in one order, and sums and products of floats keep what rounding loses.

use dml_core::{AxisDirection, DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Program, Value};
use dml_spirv::functions::Function;
use dml_spirv::reduce::Reducer;

use super::lowering::{computed, product, sum};
use crate::Target;
use crate::ir;
use crate::ir::space::{IterationSpace, Operand};
use crate::lowering::conversion::{conversion, widened};
use crate::lowering::rows::{Rows, Sizes};

/// The sum of each element and those before it.
pub(super) fn sums(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    running(operator, target, sum, ("HasExclusiveSum", 0))
}

/// The product of each element and those before it.
pub(super) fn products(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    running(operator, target, product, ("HasExclusiveProduct", 1))
}

/// What `joined` makes of each element and those before it, or of these alone; `first` is what no elements are.
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
    let mut row =
        Row { axis, width: reducer.width(), state: vec![], spare: vec![], sizes: rows.sizes };
    let first = match computed(data_type) {
        DataType::Float32 => u64::from((first as f32).to_bits()),
        _ => first.into(),
    };
    row.begin(&mut rows, operator.bool(is_exclusive)?, first)?;
    if reducer.joins().len() > 1 {
        // Nothing is lost of an element.
        row.state.push(rows.single(0.0));
    }
    let mut distance = 1;
    while distance < size {
        row.join(&mut rows, reducer.joins(), distance)?;
        distance = distance.saturating_mul(2);
    }
    let mut program = Program::default();
    let states: Vec<Value> = (0..row.state.len()).map(Value::Input).collect();
    let result = match reducer.results() {
        [] => Value::Input(0),
        [result, ..] => program.apply(result, states),
    };
    program.apply_all(conversion(computed(data_type), data_type), result);
    rows.compute(rows.sizes, row.state, output, program)?;
    Ok(rows.finish())
}

/// The same elements, counted from the end of a dimension.
fn from_end(operand: Operand, axis: usize, size: u32) -> Operand {
    let mut operand = operand;
    operand.base += i64::from(size - 1) * operand.strides[axis];
    operand.strides[axis] = -operand.strides[axis];
    operand
}

/// What elements have been joined to so far.
struct Row {
    axis: usize,
    width: ElementWidth,
    /// An operand for each number of a state.
    state: Vec<Operand>,
    /// Places of such that are read no more.
    spare: Vec<Operand>,
    sizes: Sizes,
}

impl Row {
    /// Sizes of so many elements along the axis.
    fn sizes(&self, length: u32) -> Sizes {
        let mut sizes = self.sizes;
        sizes[self.axis] = length;
        sizes
    }

    /// An operand from the element with a number on.
    fn from(&self, operand: &Operand, first: u32) -> Operand {
        let base = operand.base + i64::from(first) * operand.strides[self.axis];
        Operand { base, ..operand.clone() }
    }

    /// The elements alone, as they are computed with; where they are exclusive each is the one before.
    fn begin(&mut self, rows: &mut Rows<'_>, is_exclusive: bool, first: u64) -> Result<(), Error> {
        let chain = Program::chain(widened(rows.data_type));
        let state = rows.temporary(self.width, self.sizes);
        let (size, shift) = (self.sizes[self.axis], u32::from(is_exclusive));
        if is_exclusive {
            let first = rows.recorder.constant(self.width, first);
            rows.compute(self.sizes(1), vec![first], state.clone(), Program::default())?;
        }
        if size > shift {
            let (input, output) = (rows.input.clone(), self.from(&state, shift));
            rows.compute(self.sizes(size - shift), vec![input], output, chain)?;
        }
        self.state = vec![state];
        Ok(())
    }

    /// Joins each element with the one that is so far before it.
    fn join(
        &mut self,
        rows: &mut Rows<'_>,
        joins: &'static [&'static Function],
        distance: u32,
    ) -> Result<(), Error> {
        let rest = self.sizes[self.axis] - distance;
        let before = self.state.iter().cloned();
        let after = self.state.iter().map(|it| self.from(it, distance));
        let inputs: Vec<Operand> = before.chain(after).collect();
        let mut joined = vec![];
        for (state, function) in self.state.iter().zip(joins) {
            let spare = self.spare.pop();
            let next = spare.unwrap_or_else(|| rows.temporary(self.width, self.sizes));
            let kept = vec![state.clone()];
            rows.compute(self.sizes(distance), kept, next.clone(), Program::default())?;
            let output = self.from(&next, distance);
            rows.compute(self.sizes(rest), inputs.clone(), output, Program::of(function))?;
            joined.push(next);
        }
        let before = std::mem::replace(&mut self.state, joined).into_iter();
        self.spare.extend(before.filter(|it| rows.recorder.is_temporary(it)));
        Ok(())
    }
}
