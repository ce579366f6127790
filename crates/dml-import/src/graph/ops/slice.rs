//! Slice.

use crate::error::Result;
use crate::graph::ops::{Need, Op, Operands};
use crate::graph::value::Value;
use crate::tensor::host_elements;

/// The elements from `starts` up to `ends` in steps.
#[derive(Debug)]
pub(crate) enum Slice {
    /// Everything but the data is in attributes.
    Fixed { starts: Vec<i64>, ends: Vec<i64>, axes: Option<Vec<i64>> },
    /// Inputs: data, starts, ends, and at these positions axes and steps, both of which may be left
    /// out.
    Inputs { axes: usize, steps: usize },
}

struct Range {
    starts: Vec<i64>,
    ends: Vec<i64>,
    axes: Option<Vec<i64>>,
    steps: Option<Vec<i64>>,
}

impl Op for Slice {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let range = match self {
            Self::Fixed { starts, ends, axes } => Range {
                starts: starts.clone(),
                ends: ends.clone(),
                axes: axes.clone(),
                steps: None,
            },
            Self::Inputs { axes, steps } => {
                let given = |index: usize, name| {
                    let is_given = operands.optional(index).is_some();
                    is_given.then(|| operands.vector(index, name)).transpose()
                };
                Range {
                    starts: operands.vector(1, "starts")?,
                    ends: operands.vector(2, "ends")?,
                    axes: given(*axes, "axes")?,
                    steps: given(*steps, "steps")?,
                }
            }
        };
        sliced(operands, &range).map(|it| vec![it])
    }
}

fn sliced(operands: &Operands<'_>, range: &Range) -> Result<Value> {
    let data = operands.tensor(0, "data")?;
    host_elements(data.shape())?;
    let mut chosen: Vec<Vec<usize>> = data
        .shape()
        .iter()
        .map(|size| (0..usize::try_from(*size).unwrap_or(0)).collect())
        .collect();
    for index in 0..range.starts.len() {
        let axis = match &range.axes {
            Some(axes) => axes.get(index).copied(),
            None => i64::try_from(index).ok(),
        };
        let step = range.steps.as_ref().map_or(Some(1), |steps| steps.get(index).copied());
        let (Some(axis), Some(end), Some(step)) = (axis, range.ends.get(index), step) else {
            let count = range.starts.len();
            return Err(operands.node.invalid("starts", count, "is its length", "that of ends"));
        };
        let axis = operands.axis(axis, chosen.len(), "axes")?;
        if step == 0 {
            return Err(operands.node.invalid("steps", 0, "is no step", "any other"));
        }
        let size = i64::try_from(data.shape()[axis]).unwrap_or(i64::MAX);
        chosen[axis] = positions(range.starts[index], *end, step, size);
    }
    let shape: Vec<u64> = chosen.iter().map(|it| it.len() as u64).collect();
    let mut picked = vec![0usize; usize::from(!shape.contains(&0))];
    for (positions, size) in chosen.iter().zip(data.shape()) {
        let size = usize::try_from(*size).unwrap_or(0);
        let along = |base: &usize| {
            let start = *base * size;
            positions.iter().map(move |at| start + at)
        };
        picked = picked.iter().flat_map(along).collect();
    }
    Ok(Value::host(data.picked(shape, &picked)))
}

/// Python's slice of a sequence of `size`.
fn positions(start: i64, end: i64, step: i64, size: i64) -> Vec<usize> {
    let (first, last) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let clamp = |at: i64| if at < 0 { at.saturating_add(size) } else { at }.clamp(first, last);
    let (mut at, end) = (clamp(start), clamp(end));
    let mut all = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        all.extend(usize::try_from(at));
        at = at.saturating_add(step);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_python_s() {
        assert_eq!(positions(1, 4, 2, 6), [1, 3]);
        assert_eq!(positions(-2, i64::MAX, 1, 6), [4, 5]);
        assert_eq!(positions(i64::MAX, i64::MIN, -2, 5), [4, 2, 0]);
        assert_eq!(positions(0, -1, i64::MAX, 3), [0]);
        assert!(positions(3, 1, 1, 6).is_empty());
        assert!(positions(0, 5, 1, 0).is_empty());
    }
}
