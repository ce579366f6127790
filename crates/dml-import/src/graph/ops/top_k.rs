//! TopK: TOP_K1 on three dimensions, the elements before the axis, the axis and the elements after it.

use dml_core::operators::TopK1Desc;
use dml_core::{AxisDirection, DataType};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::packed::{Use, around, dimension, write_all};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};

/// The greatest or the least elements along an axis, in order, and their coordinates.
#[derive(Debug)]
pub(crate) struct TopK {
    pub(crate) axis: i64,
    /// The number of elements; `None`: the second input holds it.
    pub(crate) count: Option<i64>,
    pub(crate) direction: AxisDirection,
}

impl Op for TopK {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "X")?;
        let Kind { element, mut shape } = data.kind()?;
        let axis = operands.axis(self.axis, shape.len(), "attribute axis")?;
        let count = match self.count {
            Some(count) => count,
            None => operands.scalar(1, "K")?,
        };
        let count = operands.size(count, "K")?;
        if count > shape[axis] {
            let accepted = format!("0 to {}", shape[axis]);
            let problem = "is more than there are elements along the axis";
            return Err(operands.node.invalid("K", count, problem, accepted));
        }
        let of_data = around(&shape, axis);
        shape[axis] = count;
        let found = around(&shape, axis);
        // Coordinates are never negative, so they may be unsigned.
        let coordinates =
            Kind { element: ElementType::Dml(DataType::Uint64), shape: shape.clone() };
        let outputs = vec![(Kind { element, shape }, &found[..]), (coordinates, &found[..])];
        let found = write_all(
            operands,
            Use::Computed,
            &[(data, &of_data)],
            outputs,
            |mut it, mut outputs| {
                TopK1Desc {
                    input_tensor: it.remove(0),
                    output_value_tensor: outputs.remove(0),
                    output_index_tensor: outputs.remove(0),
                    axis: dimension(1, 3),
                    k: u32::try_from(count).unwrap_or(u32::MAX),
                    axis_direction: self.direction,
                }
                .into()
            },
        )?;
        let signed = |(at, it): (usize, Value)| match at {
            0 => it,
            _ => Value { element: Some(ElementType::INT64), ..it },
        };
        Ok(found.into_iter().enumerate().map(signed).collect())
    }
}
