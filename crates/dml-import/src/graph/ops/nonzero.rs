//! NonZero: the coordinates of elements, on the host, as the output's shape depends on them.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::{Need, Op, Operands};
use crate::graph::value::Value;
use crate::tensor::{Tensor, host_elements};

/// A row for each dimension, with a coordinate for each element that is not 0.
#[derive(Debug)]
pub(crate) struct NonZero;

impl Op for NonZero {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let data =
            operands.tensor(0, "X")?.converted(ElementType::Dml(dml_core::DataType::Float64))?;
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
        Ok(vec![Value::host(Tensor::from_integers(shape.to_vec(), &rows))])
    }
}
