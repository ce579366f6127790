//! Elements changed by others where indices say: gathered, computed with, and scattered again.

use std::collections::HashMap;

use crate::error::Result;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::function::Function;
use crate::graph::ops::index::{Tuples, gathered};
use crate::graph::ops::packed::count;
use crate::graph::ops::scatter::{Scatter, has_shape};
use crate::graph::ops::{Need, Op, Operands};
use crate::graph::strides::{packed, positions};
use crate::graph::value::Value;
use crate::tensor::{Tensor, text};

/// The first input, with what a function makes of its elements and of those of the third input where the second one's
/// indices say, which the host has to know: DirectML replaces elements, and each once.
#[derive(Debug)]
pub(crate) struct Accumulate {
    pub(crate) at: Scatter,
    pub(crate) function: Function,
}

/// How often one element may be changed.
const ROUNDS: usize = 64;

impl Op for Accumulate {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let (data, updates) = (operands.value(0, "data")?, operands.value(2, "updates")?);
        let kind = data.kind()?;
        operands.type_is(updates.element()?, &[kind.element], "updates")?;
        // Numbers of elements are computed even where a dimension of 0 leaves none.
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
        let mut data = operands.reshaped(data, &[count(&kind.shape) / width, width])?;
        let updates = operands.reshaped(updates, &[rows.len() as u64, width])?;
        for round in rounds(operands, &rows)? {
            let chosen: Vec<i64> = round.iter().map(|(row, _)| *row).collect();
            let of_updates: Vec<i64> = round.iter().map(|(_, update)| *update).collect();
            let rows = integers(&[chosen.len() as u64], &chosen);
            let before = gathered(operands, &data, &rows, 0)?;
            let of_updates = integers(&[chosen.len() as u64], &of_updates);
            let with = gathered(operands, &updates, &of_updates, 0)?;
            let after = ElementWise::new(self.function).apply(operands, &[before, with])?;
            let rows = integers(&[chosen.len() as u64, 1], &chosen);
            let all =
                Operands { values: vec![Some(&data), Some(&rows), Some(&after)], ..*operands };
            data = Scatter::Parts.evaluate(&all)?.remove(0);
        }
        operands.reshaped(&data, &kind.shape).map(|it| vec![it])
    }
}

fn integers(shape: &[u64], values: &[i64]) -> Value {
    Value::host(Tensor::from_integers(shape.to_vec(), values))
}

/// The number of the element that each index along a dimension names.
fn elements(operands: &Operands<'_>, axis: i64) -> Result<Vec<usize>> {
    let (shape, given) = (operands.shape(0, "data")?, operands.shape(1, "indices")?);
    has_shape(operands, operands.value(2, "updates")?, given)?;
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

/// The number of the part that each tuple of coordinates names, and how many elements a part has.
fn parts(operands: &Operands<'_>) -> Result<(Vec<usize>, u64)> {
    let (data, indices) = (operands.value(0, "data")?, operands.value(1, "indices")?);
    let tuples = Tuples::of(operands, data, indices, 0)?;
    let shape = [tuples.indices.as_slice(), &tuples.rest].concat();
    has_shape(operands, operands.value(2, "updates")?, &shape)?;
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

/// What an index adds to the number of an element.
fn offset(operands: &Operands<'_>, index: i64, size: u64, stride: u64) -> Result<usize> {
    let index = operands.axis(index, usize::try_from(size).unwrap_or(usize::MAX), "indices")?;
    Ok(index.saturating_mul(usize::try_from(stride).unwrap_or(usize::MAX)))
}

/// Rows and the numbers of their updates, such that no round has a row twice and updates of a row stay in order.
fn rounds(operands: &Operands<'_>, rows: &[usize]) -> Result<Vec<Vec<(i64, i64)>>> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let mut rounds: Vec<Vec<(i64, i64)>> = vec![];
    for (update, row) in rows.iter().enumerate() {
        let count = counts.entry(*row).or_default();
        if *count == ROUNDS {
            let reason = format!("an element is changed more than {ROUNDS} times");
            return Err(operands.node.not_supported(reason));
        }
        if *count == rounds.len() {
            rounds.push(vec![]);
        }
        let number = |it: usize| i64::try_from(it).unwrap_or(i64::MAX);
        rounds[*count].push((number(*row), number(update)));
        *count += 1;
    }
    Ok(rounds)
}
