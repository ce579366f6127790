//! AffineGrid: the product of affine matrices and a coordinate grid that the host makes.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::cast::cast;
use crate::graph::ops::packed::count;
use crate::graph::ops::product::multiplied;
use crate::graph::ops::table::table;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::{host_elements, text};

/// The grid of coordinates, as GridSample takes them, that each matrix of the first input maps the elements of
/// an output of the second input's sizes to.
#[derive(Debug)]
pub(crate) struct AffineGrid {
    pub(crate) aligns_corners: bool,
}

impl Op for AffineGrid {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let theta = operands.value(0, "theta")?;
        let (element, given) = (theta.element()?, theta.shape()?);
        operands.type_is(element, &[ElementType::FLOAT32, ElementType::FLOAT16], "theta")?;
        let sizes = operands.sizes(1, "size")?;
        let (batches, spatial) = match sizes.as_slice() {
            [batches, _, spatial @ ..] if matches!(spatial.len(), 2 | 3) => (*batches, spatial),
            _ => {
                let (given, accepted) = (text(&sizes), "4 or 5 of them");
                return Err(operands.node.invalid("size", given, "are the wrong sizes", accepted));
            }
        };
        let rank = spatial.len() as u64;
        if given != [batches, rank, rank + 1] {
            let accepted = text(&[batches, rank, rank + 1]);
            return Err(operands.node.invalid(
                "theta",
                text(given),
                "is the wrong shape",
                accepted,
            ));
        }
        let shape = vec![count(spatial), rank + 1];
        operands.budget.take(&shape)?;
        host_elements(&shape)?;
        let coordinate = |index: u64, size: u64| match (self.aligns_corners, size) {
            (true, ..2) => -1.0,
            (true, _) => 2.0 * index as f64 / (size - 1) as f64 - 1.0,
            (false, _) => (2 * index + 1) as f64 / size as f64 - 1.0,
        };
        let row = |mut place: u64| {
            let mut row = vec![];
            for size in spatial.iter().rev() {
                row.push(coordinate(place % size, *size));
                place /= size;
            }
            row.push(1.0);
            row
        };
        let base = table(ElementType::FLOAT32, shape.clone(), (0..shape[0]).flat_map(row))?;
        let theta = cast(operands, theta, ElementType::FLOAT32)?;
        let grid = multiplied(operands, &base, &theta.transposed(&[0, 2, 1]))?;
        let grid = operands.reshaped(&grid, &[&[batches], spatial, &[rank]].concat())?;
        cast(operands, &grid, element).map(|it| vec![it])
    }
}
