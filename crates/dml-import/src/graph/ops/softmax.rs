//! Softmax, LogSoftmax and Hardmax.

use dml_core::operators::{
    ACTIVATION_HARDMAX, ACTIVATION_HARDMAX1, ACTIVATION_LOG_SOFTMAX, ACTIVATION_LOG_SOFTMAX1,
    ACTIVATION_SOFTMAX, ACTIVATION_SOFTMAX1,
};
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, FieldValue, ReduceFunction, TensorDesc};

use crate::error::Result;
use crate::graph::ops::arithmetic::{DIVIDE, EXP, LOG, SUBTRACT};
use crate::graph::ops::double::DOUBLE;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::packed::{self, Use, count};
use crate::graph::ops::reduce::reduced;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;

/// DirectML's operators of one function: on rows in the last dimension, and along any axes.
pub(crate) type RowOperators = [&'static OperatorSchema; 2];

pub(crate) const SOFTMAX: RowOperators = [&ACTIVATION_SOFTMAX, &ACTIVATION_SOFTMAX1];
pub(crate) const LOG_SOFTMAX: RowOperators = [&ACTIVATION_LOG_SOFTMAX, &ACTIVATION_LOG_SOFTMAX1];
pub(crate) const HARDMAX: RowOperators = [&ACTIVATION_HARDMAX, &ACTIVATION_HARDMAX1];

/// A function of rows.
#[derive(Debug)]
pub(crate) struct Softmax {
    pub(crate) operators: RowOperators,
    pub(crate) axis: i64,
    /// Whether a row has all dimensions from the axis on, as up to version 12.
    pub(crate) has_rest: bool,
}

impl Op for Softmax {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let kind = input.kind()?;
        let rank = kind.shape.len();
        let axis = match self.has_rest && self.axis == i64::try_from(rank).unwrap_or(i64::MAX) {
            true => rank,
            false => operands.axis(self.axis, rank, "attribute axis")?,
        };
        let end = if self.has_rest { rank } else { axis + 1 };
        let shape = &kind.shape;
        let [outer, row, inner] = [&shape[..axis], &shape[axis..end], &shape[end..]].map(count);
        let folded = if inner == 1 { vec![outer, row] } else { vec![outer, row, inner] };
        if kind.element == DOUBLE && !kind.is_empty() {
            let rows = operands.reshaped(input, &[outer, row, inner])?;
            let result = self.of_double(operands, &rows)?;
            return Ok(vec![operands.reshaped(&result, shape)?]);
        }
        let build = |mut inputs: Vec<TensorDesc>, output| {
            let tensors = [inputs.remove(0), output].map(|it| FieldValue::Tensor(Some(it)));
            let axis = packed::dimension(1, folded.len());
            let axes = [FieldValue::Uint(1), FieldValue::UintArray(vec![axis])];
            let [of_last, of_any] = self.operators;
            let (schema, axes) = if inner == 1 { (of_last, &[][..]) } else { (of_any, &axes[..]) };
            AbstractOperator::new(schema, [&tensors, axes].concat()).expect("the schema's fields")
        };
        let inputs = [(input, folded.as_slice())];
        Ok(vec![packed::write(operands, Use::Computed, &inputs, kind.clone(), &folded, build)?])
    }
}

impl Softmax {
    /// The function of rows of FLOAT64, in the second of three dimensions.
    fn of_double(&self, operands: &NodeInputs<'_>, rows: &Value) -> Result<Value> {
        let along = [false, true, false];
        let of = |function, values: &[&Value]| {
            let values: Vec<Value> = values.iter().map(|value| (*value).clone()).collect();
            apply(operands, function, &values)
        };
        let greatest = reduced(operands, rows, &along, ReduceFunction::Max)?;
        let below = of(SUBTRACT, &[rows, &greatest])?;
        let power = of(EXP, &[&below])?;
        let sum = reduced(operands, &power, &along, ReduceFunction::Sum)?;
        let is = |of_last: &OperatorSchema| std::ptr::eq(self.operators[0], of_last);
        if is(&ACTIVATION_SOFTMAX) {
            return of(DIVIDE, &[&power, &sum]);
        }
        if is(&ACTIVATION_LOG_SOFTMAX) {
            return of(SUBTRACT, &[&below, &of(LOG, &[&sum])?]);
        }
        Err(operands.node.not_supported("DirectML's operator does not support float64"))
    }
}
