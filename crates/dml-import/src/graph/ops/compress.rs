//! Compress: the slices that a condition selects; the host has to know the condition.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::index::gathered;
use crate::graph::ops::packed::count;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::{Tensor, text};

/// The slices of the first input along a dimension where the second input is true.
#[derive(Debug)]
pub(crate) struct Compress {
    /// `None`: the input is flattened first.
    pub(crate) axis: Option<i64>,
}

impl Op for Compress {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, condition) = (operands.value(0, "input")?, operands.value(1, "condition")?);
        operands.type_is(condition.element()?, &[ElementType::Bool], "condition")?;
        let given = condition.shape()?;
        if given.len() != 1 {
            let problem = "is the wrong shape";
            return Err(operands.node.invalid("condition", text(given), problem, "one dimension"));
        }
        let (data, axis) = match self.axis {
            Some(axis) => (data.clone(), axis),
            None => (operands.reshaped(data, &[count(data.shape()?)])?, 0),
        };
        let size = data.shape()?[operands.axis(axis, data.shape()?.len(), "attribute axis")?];
        let kept = operands.read(condition)?;
        // The condition may have another length than the dimension; like ONNX Runtime, elements beyond the
        // shorter one are ignored.
        let kept = (0_i64..)
            .zip(kept.bits())
            .filter(|(index, bits)| *bits != 0 && index.cast_unsigned() < size);
        let kept: Vec<i64> = kept.map(|(index, _)| index).collect();
        let kept = Value::host(Tensor::from_integers(vec![kept.len() as u64], &kept));
        gathered(operands, &data, &kept, axis).map(|it| vec![it])
    }
}
