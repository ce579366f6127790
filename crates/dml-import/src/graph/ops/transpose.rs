//! Transpose: the same elements, seen in another order.

use crate::error::Result;
use crate::graph::ops::{Op, Operands};
use crate::graph::value::Value;

/// Dimension `i` of the output is dimension `order[i]` of the input; without an order they are reversed.
#[derive(Debug)]
pub(crate) struct Transpose {
    pub(crate) order: Option<Vec<i64>>,
}

impl Op for Transpose {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let rank = data.shape()?.len();
        let order = match &self.order {
            None => (0..rank).rev().collect(),
            Some(order) => {
                let axis = |it: &i64| operands.axis(*it, rank, "attribute perm");
                order.iter().map(axis).collect::<Result<Vec<usize>>>()?
            }
        };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted != (0..rank).collect::<Vec<usize>>() {
            let given = crate::error::shortened(&format!("{order:?}"));
            let accepted = format!("each of the {rank} dimensions once");
            return Err(operands.node.invalid("attribute perm", given, "is no order", accepted));
        }
        Ok(vec![data.transposed(&order)])
    }
}
