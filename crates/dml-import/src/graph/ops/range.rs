//! Range: arithmetic sequences of integers or floats, on the host.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::function::Types;
use crate::graph::ops::scalar::Scalar;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::{Tensor, host_elements};

/// The sequence from the first input up to the second one (excluded), in steps of the third one.
#[derive(Debug)]
pub(crate) struct Range;

impl Op for Range {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let node = operands.node;
        let element = operands.value(0, "start")?.element()?;
        if !Types::Numbers.contains(element) && element != ElementType::Bfloat16 {
            return Err(node.not_supported(format!("ranges of {element} are not supported")));
        }
        let number = |index, name| operands.number(index, name, &[element]);
        let (start, limit, delta) = (number(0, "start")?, number(1, "limit")?, number(2, "delta")?);
        let no_step = || node.invalid("delta", 0, "is not a step", "any other");
        let count = match (start, limit, delta) {
            (_, _, Scalar::Integer(0)) => return Err(no_step()),
            (Scalar::Integer(start), Scalar::Integer(limit), Scalar::Integer(delta)) => {
                let way = if delta > 0 { limit - start } else { start - limit };
                let steps = way.max(0).unsigned_abs().div_ceil(delta.unsigned_abs());
                u64::try_from(steps).unwrap_or(u64::MAX)
            }
            (Scalar::Float(start), Scalar::Float(limit), Scalar::Float(delta)) => {
                counted(((limit - start) / delta).ceil()).ok_or_else(no_step)?
            }
            _ => return Err(no_step()),
        };
        operands.budget.take(&[count])?;
        let count = host_elements(&[count])?;
        let number = |index: u64| match (start, delta) {
            (Scalar::Integer(start), Scalar::Integer(delta)) => {
                Scalar::Integer(start + delta * i128::from(index))
            }
            (Scalar::Float(start), Scalar::Float(delta)) => {
                // The count is within the host's limit, far below 2^53.
                #[expect(clippy::cast_precision_loss, reason = "small, see above")]
                let index = index as f64;
                Scalar::Float(start + delta * index)
            }
            (start, _) => start,
        };
        let bits = (0..count as u64).map(|index| number(index).bits(element));
        Ok(vec![Value::host(Tensor::of_bits(element, [count as u64], bits)?)])
    }
}

/// A number of steps as an integer, saturated; `None` for NaN.
fn counted(steps: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    (!steps.is_nan()).then_some(steps.max(0.0) as u64)
}
