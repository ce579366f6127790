//! If: one of two subgraphs, whose nodes are inlined into the outer graph. If the host knows the condition,
//! nothing depends on the other subgraph. If a device computes the condition, it also selects the outputs;
//! outputs that differ in type or shape need the host to read the condition first.

use crate::error::Result;
use crate::graph::ops::arithmetic::WHERE;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// ONNX's If. Inputs are the condition, the outputs of the first subgraph, and the outputs of the second one.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) outputs: usize,
}

impl Op for Branch {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Wanted } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let condition = operands.value(0, "cond")?;
        let is_true = match operands.condition(condition)? {
            Some(known) => known,
            None => match self.selected(operands, condition) {
                Ok(selected) => return Ok(selected),
                Err(refusal) => operands.answered(condition, false)?.ok_or(refusal)?,
            },
        };
        let first = if is_true { 1 } else { 1 + self.outputs };
        (first..first + self.outputs)
            .map(|index| operands.passed(index, "branch").cloned())
            .collect()
    }
}

impl Branch {
    /// The outputs, selected on the device by a condition that it computes.
    fn selected(&self, operands: &NodeInputs<'_>, condition: &Value) -> Result<Vec<Value>> {
        operands.device.select();
        let condition = operands.reshaped(condition, &[])?;
        let select = ElementWise::new(WHERE);
        let select = |index| {
            let [first, second] = [index, index + self.outputs];
            let (first, second) =
                (operands.value(first, "branch")?, operands.value(second, "branch")?);
            let [a, b] = [first.kind()?, second.kind()?];
            if a != b {
                let show = |it: Kind| format!("{} {}", it.element, text(&it.shape));
                let reason = format!(
                    "its condition is computed by a device, which can select between outputs of one type and \
                     shape; the branches give {} and {}",
                    show(a),
                    show(b)
                );
                return Err(operands.node.not_supported(reason));
            }
            select.apply(operands, &[condition.clone(), first.clone(), second.clone()])
        };
        (1..=self.outputs).map(select).collect()
    }
}
