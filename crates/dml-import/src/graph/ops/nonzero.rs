//! NonZero: the coordinates of nonzero elements, computed by the host if it knows the elements, and otherwise
//! by NONZERO_COORDINATES, whose count the host reads.

use dml_core::DataType;
use dml_core::operators::NonzeroCoordinatesDesc;
use smallvec::smallvec;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::cast::cast;
use crate::graph::ops::packed::{Use, count, write_all};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, host_elements};

/// A row for each dimension, with a coordinate for each nonzero element.
#[derive(Debug)]
pub(crate) struct NonZero;

impl Op for NonZero {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "X")?;
        let is_found = operands.device.is_read() && !data.shape()?.is_empty() && !data.is_empty();
        match data.view().filter(|view| is_found && view.storage.is_on_device()) {
            Some(_) => found(operands, data).map(|it| vec![it]),
            None => on_host(operands).map(|it| vec![it]),
        }
    }
}

/// The coordinates that a device finds: the first rows of its output, as many as its count.
fn found(operands: &NodeInputs<'_>, data: &Value) -> Result<Value> {
    let shape = data.shape()?.to_vec();
    let (rank, all) = (shape.len() as u64, count(&shape));
    let [one, rows] = [vec![1], vec![all, rank]];
    let index = |shape: &[u64]| {
        let element = ElementType::Dml(DataType::Uint32);
        Kind { element, shape: shape.into() }
    };
    let outputs = vec![(index(&one), &one[..]), (index(&rows), &rows[..])];
    let found = write_all(
        operands,
        Use::Computed,
        &[(data, &shape)],
        outputs,
        |mut inputs, mut outputs| {
            NonzeroCoordinatesDesc {
                input_tensor: inputs.remove(0),
                output_count_tensor: outputs.remove(0),
                output_coordinates_tensor: outputs.remove(0),
            }
            .into()
        },
    )?;
    // Types and ranks that NONZERO_COORDINATES does not support.
    if found[0].check().is_err() {
        return on_host(operands);
    }
    let count = operands.read(&found[0])?.integers().and_then(|integer| integer.first().copied());
    let count = count.unwrap_or(0).unsigned_abs().min(all);
    if count == 0 {
        return Ok(Value::host(Tensor::from_integers(vec![rank, 0], &[])));
    }
    let coordinates = found[1].seen(smallvec![rank, count], smallvec![1, rank]);
    cast(operands, &coordinates, ElementType::INT64)
}

fn on_host(operands: &NodeInputs<'_>) -> Result<Value> {
    let data = operands.tensor(0, "X")?.converted(ElementType::Dml(DataType::Float64))?;
    let found = data.bits().enumerate().filter(|(_, bits)| f64::from_bits(*bits) != 0.0);
    let found: Vec<u64> = found.map(|(index, _)| index as u64).collect();
    let shape = [data.shape().len() as u64, found.len() as u64];
    operands.budget.take(&shape)?;
    let mut rows: Vec<i64> = Vec::with_capacity(host_elements(&shape)?);
    let mut after: u64 = data.shape().iter().product();
    for size in data.shape() {
        after /= size.max(&1);
        let coordinate = |index: &u64| (index / after.max(1) % size).cast_signed();
        rows.extend(found.iter().map(coordinate));
    }
    Ok(Value::host(Tensor::from_integers(shape.to_vec(), &rows)))
}
