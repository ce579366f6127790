//! Mish.

use dml_core::FieldValue;
use dml_core::operators::ACTIVATION_SOFTPLUS;

use crate::error::Result;
use crate::graph::ops::arithmetic::{MULTIPLY, TANH};
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;

/// `x * tanh(log(1 + exp(x)))`, composed of DirectML's element-wise operators.
#[derive(Debug)]
pub(crate) struct Mish;

const SOFTPLUS: Function = Function::new(Types::Numbers, &ACTIVATION_SOFTPLUS);

impl Op for Mish {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let x = operands.value(0, "X")?;
        let attributes = vec![FieldValue::Float(1.0)];
        let softplus = ElementWise { attributes, ..ElementWise::new(SOFTPLUS) };
        let bent = softplus.apply(operands, std::slice::from_ref(x))?;
        let bent = ElementWise::new(TANH).apply(operands, &[bent])?;
        Ok(vec![ElementWise::new(MULTIPLY).apply(operands, &[x.clone(), bent])?])
    }
}
