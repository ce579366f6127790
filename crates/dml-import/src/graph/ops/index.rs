//! Elements picked out of small tensors, on the host.

use crate::error::Result;
use crate::graph::ops::{Op, Operands};
use crate::graph::value::Value;
use crate::tensor::host_elements;

/// The slices of the first input that the second one's indices name.
#[derive(Debug)]
pub(crate) struct Gather {
    /// `None`: the third input holds it.
    pub(crate) axis: Option<i64>,
}

impl Op for Gather {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
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
        Ok(vec![Value::host(data.picked(shape, &picked))])
    }
}

fn count(shape: &[u64]) -> Result<usize> {
    host_elements(shape)
}
