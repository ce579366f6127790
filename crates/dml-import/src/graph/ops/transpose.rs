//! Transpose: a view with permuted dimensions.

use crate::error::Result;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;

/// Dimension `i` of the output is dimension `order[i]` of the input. If `None`, the second input holds the
/// order; if that is left out, or empty, dimensions are reversed.
#[derive(Debug)]
pub(crate) struct Transpose {
    pub(crate) order: Option<Vec<i64>>,
}

impl Op for Transpose {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let rank = data.shape()?.len();
        let (given, name) = match (&self.order, operands.values.get(1)) {
            (Some(order), _) => (Some(order.clone()), "attribute perm"),
            (None, Some(Some(_))) => (Some(operands.integers(1, "input_order")?), "input_order"),
            (None, _) => (None, "attribute perm"),
        };
        let is_from_input = name == "input_order";
        let order = match given.filter(|it| !(is_from_input && it.is_empty())) {
            None => (0..rank).rev().collect(),
            Some(order) => {
                let axis = |it: &i64| operands.axis(*it, rank, name);
                order.iter().map(axis).collect::<Result<Vec<usize>>>()?
            }
        };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted != (0..rank).collect::<Vec<usize>>() {
            let given = crate::error::shortened(&format!("{order:?}"));
            let accepted = format!("each of the {rank} dimensions once");
            return Err(operands.node.invalid(name, given, "is not an order", accepted));
        }
        Ok(vec![data.transposed(&order)])
    }
}
