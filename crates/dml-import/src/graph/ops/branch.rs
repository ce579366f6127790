//! If: one of two subgraphs, whose nodes are nodes of the graph around them.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::{Need, Op, Operands};
use crate::graph::value::Value;

/// ONNX's If. Inputs are the condition, the outputs of the first subgraph, and those of the second one.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) outputs: usize,
}

impl Op for Branch {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let condition = operands.value(0, "cond")?;
        operands.type_is(condition.element()?, &[ElementType::Bool], "cond")?;
        let count = operands.integers(0, "cond")?;
        let [is_true] = count.as_slice() else {
            let (given, problem) = (count.len(), "is the wrong number of elements");
            return Err(operands.node.invalid("cond", given, problem, "1"));
        };
        let first = if *is_true != 0 { 1 } else { 1 + self.outputs };
        (first..first + self.outputs)
            .map(|index| operands.value(index, "branch").cloned())
            .collect()
    }
}
