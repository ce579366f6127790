//! SwiGLU.

use dml_core::FieldValue;
use dml_core::operators::ACTIVATION_SWISH;

use crate::error::Result;
use crate::graph::ops::arithmetic::MULTIPLY;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;

/// SwiGLU: `a * sigmoid(alpha * a) * b`.
#[derive(Debug)]
pub(crate) struct SwiGlu {
    pub(crate) alpha: f32,
}

const SWISH: Function = Function::new(Types::Floats, &ACTIVATION_SWISH);

impl Op for SwiGlu {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (gate, linear) = (operands.value(0, "A")?, operands.value(1, "B")?);
        operands.has_shape(linear, gate.shape()?, "B")?;
        let attributes = vec![FieldValue::Float(self.alpha)];
        let swish = ElementWise { attributes, ..ElementWise::new(SWISH) };
        let gate = swish.apply(operands, std::slice::from_ref(gate))?;
        Ok(vec![ElementWise::new(MULTIPLY).apply(operands, &[gate, linear.clone()])?])
    }
}
