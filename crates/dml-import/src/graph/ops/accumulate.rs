//! Scatter with a reduction: elements are gathered, combined with updates, and scattered again.

use std::collections::HashMap;

use crate::error::Result;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::Function;
use crate::graph::ops::index::{Tuples, gathered};
use crate::graph::ops::packed::count;
use crate::graph::ops::scatter::Scatter;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::strides::{packed, positions};
use crate::graph::value::Value;
use crate::tensor::{Tensor, text};

/// The first input, where a function combines its elements with the updates of the third input at the indices
/// of the second one. The host has to know the indices: DirectML only replaces elements, each at most once.
/// Several updates of one element are first combined in pairs, in any order, which is as good as another for
/// sums and products of floats.
#[derive(Debug)]
pub(crate) struct Accumulate {
    pub(crate) at: Scatter,
    pub(crate) function: Function,
}

impl Op for Accumulate {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, updates) = (operands.value(0, "data")?, operands.value(2, "updates")?);
        let kind = data.kind()?;
        operands.type_is(updates.element()?, &[kind.element], "updates")?;
        // The number of elements must fit even if a dimension of size 0 leaves none.
        let mut sizes = kind.shape.iter().map(|size| (*size).max(1));
        if sizes.try_fold(1_u64, u64::checked_mul).is_none() {
            let (given, accepted) = (text(&kind.shape), "those of 64 bits");
            return Err(operands.node.invalid("data", given, "has too many elements", accepted));
        }
        let (rows, width) = match self.at {
            Scatter::Elements { axis } => (elements(operands, axis)?, 1),
            Scatter::Parts => parts(operands)?,
        };
        if rows.is_empty() || updates.is_empty() {
            return Ok(vec![data.clone()]);
        }
        let data = operands.reshaped(data, &[count(&kind.shape) / width, width])?;
        let updates = operands.reshaped(updates, &[rows.len() as u64, width])?;
        let (updates, rows) = self.reduced(operands, updates, rows)?;
        let before = picked(operands, &data, &rows)?;
        let after = apply(operands, self.function, &[before, updates])?;
        let indices = numbers(&[rows.len() as u64, 1], &rows);
        let all =
            NodeInputs { values: vec![Some(&data), Some(&indices), Some(&after)], ..*operands };
        let data = Scatter::Parts.evaluate(&all)?.remove(0);
        operands.reshaped(&data, &kind.shape).map(|it| vec![it])
    }
}

impl Accumulate {
    /// Combines updates until each row has one; also gives the rows. Every step halves the updates of a row, so
    /// that all steps together move less than twice as many elements as there are updates.
    fn reduced(
        &self,
        operands: &NodeInputs<'_>,
        mut updates: Value,
        mut rows: Vec<usize>,
    ) -> Result<(Value, Vec<usize>)> {
        loop {
            let pairs = Pairs::of(&rows);
            if pairs.firsts.is_empty() {
                return Ok((updates, rows));
            }
            let pick = |which: &[usize]| picked(operands, &updates, which);
            let both = [pick(&pairs.firsts)?, pick(&pairs.seconds)?];
            let both = apply(operands, self.function, &both)?;
            updates = match pairs.alone.is_empty() {
                true => both,
                false => join(operands, &[&both, &pick(&pairs.alone)?], 0, "updates")?,
            };
            rows = pairs.rows;
        }
    }
}

/// Updates in pairs that have the same row.
struct Pairs {
    /// Indices of the first and second updates of the pairs.
    firsts: Vec<usize>,
    seconds: Vec<usize>,
    /// Updates without a partner, at most one per row.
    alone: Vec<usize>,
    /// The rows of all pairs, followed by the rows of the updates without a partner.
    rows: Vec<usize>,
}

impl Pairs {
    fn of(rows: &[usize]) -> Self {
        let mut waiting: HashMap<usize, usize> = HashMap::new();
        let mut pairs = Self { firsts: vec![], seconds: vec![], alone: vec![], rows: vec![] };
        for (update, row) in rows.iter().enumerate() {
            if let Some(first) = waiting.remove(row) {
                pairs.firsts.push(first);
                pairs.seconds.push(update);
                pairs.rows.push(*row);
            } else {
                waiting.insert(*row, update);
            }
        }
        pairs.alone = waiting.into_values().collect();
        pairs.alone.sort_unstable();
        pairs.rows.extend(pairs.alone.iter().map(|update| rows[*update]));
        pairs
    }
}

/// The given rows of a value.
fn picked(operands: &NodeInputs<'_>, value: &Value, rows: &[usize]) -> Result<Value> {
    gathered(operands, value, &numbers(&[rows.len() as u64], rows), 0)
}

fn numbers(shape: &[u64], values: &[usize]) -> Value {
    let values = values.iter().map(|value| i64::try_from(*value).unwrap_or(i64::MAX));
    let values: Vec<i64> = values.collect();
    Value::host(Tensor::from_integers(shape.to_vec(), &values))
}

/// For GatherElements-style indices, the position in the data of each indexed element.
fn elements(operands: &NodeInputs<'_>, axis: i64) -> Result<Vec<usize>> {
    let (shape, given) = (operands.shape(0, "data")?, operands.shape(1, "indices")?);
    operands.has_shape(operands.value(2, "updates")?, given, "updates")?;
    let axis = operands.axis(axis, shape.len(), "attribute axis")?;
    let fits = given.len() == shape.len()
        && (0..shape.len()).all(|at| at == axis || given[at] <= shape[at]);
    if !fits {
        let (given, accepted) = (text(given), format!("sizes within {}", text(shape)));
        return Err(operands.node.invalid("indices", given, "is the wrong shape", accepted));
    }
    let indices = operands.integers(1, "indices")?;
    let mut strides = packed(shape);
    let along = std::mem::take(&mut strides[axis]);
    let places = positions(given, &strides).into_iter().zip(indices);
    places
        .map(|(place, index)| {
            Ok(place.saturating_add(offset(operands, index, shape[axis], along)?))
        })
        .collect()
}

/// The row of the data that each index tuple selects, and the number of elements in a row.
fn parts(operands: &NodeInputs<'_>) -> Result<(Vec<usize>, u64)> {
    let (data, indices) = (operands.value(0, "data")?, operands.value(1, "indices")?);
    let tuples = Tuples::of(operands, data, indices, 0)?;
    let shape = [tuples.indices.as_slice(), &tuples.rest].concat();
    operands.has_shape(operands.value(2, "updates")?, &shape, "updates")?;
    let sizes = &data.shape()?[..data.shape()?.len() - tuples.rest.len()];
    let strides = packed(sizes);
    let indices = operands.integers(1, "indices")?;
    let row = |tuple: &[i64]| {
        let mut coordinates = tuple.iter().zip(sizes).zip(&strides);
        coordinates.try_fold(0, |row, ((index, size), stride)| {
            Ok(row + offset(operands, *index, *size, *stride)?)
        })
    };
    let rows = indices.chunks_exact(sizes.len().max(1)).map(row).collect::<Result<_>>()?;
    Ok((rows, count(&tuples.rest)))
}

/// The offset that an index along a dimension adds to an element's position.
fn offset(operands: &NodeInputs<'_>, index: i64, size: u64, stride: u64) -> Result<usize> {
    let index = operands.axis(index, usize::try_from(size).unwrap_or(usize::MAX), "indices")?;
    Ok(index.saturating_mul(usize::try_from(stride).unwrap_or(usize::MAX)))
}
