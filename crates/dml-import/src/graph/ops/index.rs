//! Elements picked out of small tensors, and such tensors put together.

use crate::error::Result;
use crate::graph::ops::{Op, Operands};
use crate::graph::value::{Content, Value};
use crate::tensor::{Tensor, host_elements, text};

/// The slices of the first input that the second one's indices name.
#[derive(Debug)]
pub(crate) struct Gather {
    /// `None`: the third input holds it.
    pub(crate) axis: Option<i64>,
}

impl Op for Gather {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let data = operands.tensor(0, "data")?;
        let indices = operands.integers(1, "indices")?;
        let axis = match self.axis {
            Some(axis) => axis,
            None => operands.scalar(2, "axis")?,
        };
        let axis = operands.axis(axis, data.shape().len(), "axis")?;
        let (outer, rest) = data.shape().split_at(axis);
        let size = rest.first().copied().unwrap_or(0);
        let inner_shape = rest.get(1..).unwrap_or_default();
        let shape = [outer, operands.shape(1, "indices")?, inner_shape].concat();
        host_elements(&shape)?;
        let (outer, inner) = (count(outer)?, count(inner_shape)?);
        let size = count(&[size])?;
        let mut picked = Vec::new();
        for block in 0..outer {
            for index in &indices {
                let index = operands.axis(*index, size, "indices")?;
                let start = (block * size + index) * inner;
                picked.extend(start..start + inner);
            }
        }
        Ok(value(data.picked(shape, &picked)))
    }
}

/// The inputs one after the other along a dimension.
#[derive(Debug)]
pub(crate) struct Concat {
    pub(crate) axis: i64,
}

impl Op for Concat {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Value> {
        let all = (0..operands.values.len()).map(|index| operands.tensor(index, "inputs"));
        let all = all.collect::<Result<Vec<Tensor>>>()?;
        let Some(first) = all.first() else {
            return Err(operands.node.invalid("inputs", 0, "is the wrong number", "one or more"));
        };
        let axis = operands.axis(self.axis, first.shape().len(), "attribute axis")?;
        let mut shape = first.shape().to_vec();
        shape[axis] = 0;
        for tensor in &all {
            let mut others = tensor.shape().to_vec();
            let along = others.get_mut(axis).map(std::mem::take).unwrap_or_default();
            let sum = shape[axis].saturating_add(along);
            shape[axis] = 0;
            if others != shape || tensor.element_type() != first.element_type() {
                let given = format!("{} {}", tensor.element_type(), text(tensor.shape()));
                let like = format!("{} {}", first.element_type(), text(first.shape()));
                return Err(operands.node.invalid("inputs", given, "does not fit", like));
            }
            shape[axis] = sum;
        }
        host_elements(&shape)?;
        let outer = count(&shape[..axis])?;
        let mut bytes = Vec::new();
        for block in 0..outer {
            for tensor in &all {
                let length = tensor.bytes().len() / outer.max(1);
                bytes.extend_from_slice(&tensor.bytes()[block * length..(block + 1) * length]);
            }
        }
        Ok(value(Tensor::new(first.element_type(), shape, bytes)?))
    }
}

pub(super) fn value(tensor: Tensor) -> Value {
    let (element, shape) = (tensor.element_type(), tensor.shape().to_vec());
    Value::new(element, shape, Content::Tensor(tensor))
}

fn count(shape: &[u64]) -> Result<usize> {
    host_elements(shape)
}
