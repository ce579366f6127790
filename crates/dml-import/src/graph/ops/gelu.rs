//! The tanh approximation of GELU.

use crate::convert::from_float;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, MULTIPLY, TANH};
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::function::Function;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;

/// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`, composed of DirectML's element-wise operators.
#[derive(Debug)]
pub(crate) struct ApproximateGelu;

impl Op for ApproximateGelu {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let x = operands.value(0, "X")?;
        let element = x.element()?;
        let number = |value| Value::scalar(element, from_float(value, element));
        let of = |function: Function, a: &Value, b: Value| {
            ElementWise::new(function).apply(operands, &[a.clone(), b])
        };
        let root = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
        let square = of(MULTIPLY, x, x.clone())?;
        let cubic = of(MULTIPLY, &square, number(root * 0.044_715))?;
        let slope = of(ADD, &cubic, number(root))?;
        let bent = ElementWise::new(TANH).apply(operands, &[of(MULTIPLY, x, slope)?])?;
        let above = of(ADD, &bent, number(1.0))?;
        let half = of(MULTIPLY, x, number(0.5))?;
        Ok(vec![of(MULTIPLY, &half, above)?])
    }
}
