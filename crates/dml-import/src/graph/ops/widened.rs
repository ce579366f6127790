//! Operations on bfloat16, which DirectML does not compute with: their inputs are converted to FLOAT32, which is
//! exact, and each result is rounded once.

use crate::element::ElementType;
use crate::error::{Error, NodeName, Result};
use crate::graph::ops::cast::cast;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;

/// The outputs of an operation, which is computed in FLOAT32 if it refuses bfloat16.
pub(super) fn evaluate(op: &dyn Op, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
    // The type of an input of which only the shape is read is that of the output, and nothing is computed with it.
    let is_half = |(input, value): (usize, &Option<&Value>)| {
        let is_read = !matches!(op.need(input), Need::Shape);
        is_read && value.is_some_and(|value| value.element == Some(ElementType::Bfloat16))
    };
    if !operands.values.iter().enumerate().any(is_half) {
        return op.evaluate(operands);
    }
    let before = operands.device.mark();
    let found = op.evaluate(operands);
    // A node that waits for an answer of the device is not refused.
    if !is_refused_by(operands.node, &found) || operands.device.waits_since(before) {
        return found;
    }
    operands.device.truncate(before);
    let rounded = in_single(op, operands);
    if !is_refused_by(operands.node, &rounded) || operands.device.waits_since(before) {
        return rounded;
    }
    // The error is about the types that the model has.
    operands.device.truncate(before);
    op.evaluate(operands)
}

/// Whether the node itself refuses an output, rather than a node before it or in its body.
fn is_refused_by(node: &NodeName, found: &Result<Vec<Value>>) -> bool {
    let is_own = |error: &Error| error.node() == Some(node);
    match found {
        Ok(values) => values.iter().filter_map(|value| value.check().err()).any(|it| is_own(&it)),
        Err(error) => is_own(error),
    }
}

/// The outputs for inputs in FLOAT32, rounded to bfloat16.
fn in_single(op: &dyn Op, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
    let single = |value: &Option<&Value>| match value {
        Some(value) if value.element == Some(ElementType::Bfloat16) => {
            let only = NodeInputs { values: vec![Some(value)], ..*operands };
            cast(&only, value, ElementType::FLOAT32).map(Some)
        }
        other => Ok(other.cloned()),
    };
    let values = operands.values.iter().map(single).collect::<Result<Vec<_>>>()?;
    let of = NodeInputs { values: values.iter().map(Option::as_ref).collect(), ..*operands };
    let rounded = |(output, value): (usize, Value)| {
        let is_rounded = value.element == Some(ElementType::FLOAT32) && !op.keeps_single(output);
        let only = NodeInputs { values: vec![Some(&value)], ..*operands };
        if is_rounded { cast(&only, &value, ElementType::Bfloat16) } else { Ok(value) }
    };
    op.evaluate(&of)?.into_iter().enumerate().map(rounded).collect()
}
