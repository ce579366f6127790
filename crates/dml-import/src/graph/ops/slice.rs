//! Slice: SLICE or SLICE1.

use dml_core::AbstractOperator;
use dml_core::operators::{Slice1Desc, SliceDesc};

use crate::error::Result;
use crate::graph::dml::MAX_RANK;
use crate::graph::ops::movement::{joined, leading, moved, tensors};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;

/// The elements from `starts` up to `ends`, in steps.
#[derive(Debug)]
pub(crate) enum Slice {
    /// All parameters are attributes.
    Fixed { starts: Vec<i64>, ends: Vec<i64>, axes: Option<Vec<i64>> },
    /// Starts and ends are the second and third input; axes and steps are the inputs with these indices, and
    /// may be left out.
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

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
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

fn sliced(operands: &NodeInputs<'_>, range: &Range) -> Result<Value> {
    let data = operands.value(0, "data")?;
    let shape = data.shape()?;
    let mut walks: Vec<Walk> = shape.iter().map(|size| Walk::whole(*size)).collect();
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
        let axis = operands.axis(axis, shape.len(), "axes")?;
        if step == 0 {
            return Err(operands.node.invalid("steps", 0, "is not a step", "any other"));
        }
        walks[axis] = Walk::of(range.starts[index], *end, step, shape[axis]);
    }
    walked(operands, data, &walks)
}

/// The elements of `data` at these coordinates in each dimension.
pub(super) fn walked(operands: &NodeInputs<'_>, data: &Value, walks: &[Walk]) -> Result<Value> {
    if walks.iter().all(Walk::is_whole) {
        return Ok(data.clone());
    }
    let positions = || walks.iter().map(Walk::positions).collect();
    let build = || {
        let walks = joined(walks, MAX_RANK, |outer, inner| {
            let joins = outer.is_whole() && inner.is_whole();
            joins.then(|| Walk::whole(outer.size.saturating_mul(inner.size)))
        });
        operator(operands, data, &walks)
    };
    moved(operands, data, walks.iter().map(|walk| walk.count).collect(), positions, build)
}

/// SLICE, or SLICE1 if a step is negative.
fn operator(operands: &NodeInputs<'_>, data: &Value, walks: &[Walk]) -> Result<AbstractOperator> {
    let sizes: Vec<u64> = walks.iter().map(|walk| walk.size).collect();
    let counts: Vec<u64> = walks.iter().map(|walk| walk.count).collect();
    let [input_tensor, output_tensor] = tensors(operands, data, [&sizes, &counts])?;
    // Values beyond 32 bits belong to tensors beyond the limits, which are checked.
    let number = |value: i128| u32::try_from(value).unwrap_or(u32::MAX);
    let last = |walk: &Walk| walk.first + walk.step * i128::from(walk.count.saturating_sub(1));
    let offsets = walks.iter().map(|walk| number(walk.first.min(last(walk))));
    let input_window_offsets = leading(offsets, 0);
    if walks.iter().all(|walk| walk.step > 0) {
        let offsets = input_window_offsets;
        let strides = leading(walks.iter().map(|walk| number(walk.step)), 1);
        let sizes = output_tensor.sizes.clone();
        return Ok(SliceDesc { input_tensor, output_tensor, offsets, sizes, strides }.into());
    }
    let window = |walk: &Walk| number((last(walk) - walk.first).abs() + 1);
    let step = |walk: &Walk| {
        i32::try_from(walk.step).map_err(|_| {
            operands.node.not_supported("steps backwards beyond the 32 bits of SLICE1's strides")
        })
    };
    let strides = walks.iter().map(step).collect::<Result<Vec<i32>>>()?;
    Ok(Slice1Desc {
        input_tensor,
        output_tensor,
        input_window_offsets,
        input_window_sizes: leading(walks.iter().map(window), 1),
        input_window_strides: leading(strides, 1),
    }
    .into())
}

/// The selected coordinates of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    size: u64,
    first: i128,
    step: i128,
    count: u64,
}

impl Walk {
    pub(super) fn whole(size: u64) -> Self {
        Self::forwards(size, 0, size)
    }

    /// `count` coordinates from `first` on.
    pub(super) fn forwards(size: u64, first: u64, count: u64) -> Self {
        Self { size, first: first.into(), step: 1, count }
    }

    /// The slice of a sequence of `size` elements. It is Python's, except that a backward slice from before the
    /// first element begins at the first element.
    fn of(start: i64, end: i64, step: i64, size: u64) -> Self {
        let length = i128::from(size);
        if length == 0 {
            return Self { size, first: 0, step: 1, count: 0 };
        }
        let (least_end, most) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let from_start = |at: i64| {
            let at = i128::from(at);
            if at < 0 { at + length } else { at }
        };
        let (first, step) = (from_start(start).clamp(0, most), i128::from(step));
        let distance = (from_start(end).clamp(least_end, most) - first) * step.signum();
        let count = (distance + step.abs() - 1) / step.abs();
        let count = u64::try_from(count).unwrap_or(0);
        // The step does not matter for a single element.
        Self { size, first, step: if count > 1 { step } else { 1 }, count }
    }

    fn is_whole(&self) -> bool {
        *self == Self::whole(self.size)
    }

    fn positions(&self) -> Vec<usize> {
        let at = |index: u64| self.first + i128::from(index) * self.step;
        (0..self.count).filter_map(|index| usize::try_from(at(index)).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(start: i64, end: i64, step: i64, size: u64) -> Vec<usize> {
        Walk::of(start, end, step, size).positions()
    }

    #[test]
    fn a_backward_slice_from_before_the_first_element_begins_there() {
        // Python's slice is empty.
        assert_eq!(positions(-9, -8, -1, 6), [0]);
        assert_eq!(positions(i64::MIN, i64::MIN, -3, 2), [0]);
        assert!(positions(-9, 0, -1, 6).is_empty());
    }

    #[test]
    fn positions_are_python_s() {
        assert_eq!(positions(1, 4, 2, 6), [1, 3]);
        assert_eq!(positions(-2, i64::MAX, 1, 6), [4, 5]);
        assert_eq!(positions(i64::MAX, i64::MIN, -2, 5), [4, 2, 0]);
        assert_eq!(positions(0, -1, i64::MAX, 3), [0]);
        assert_eq!(positions(i64::MIN, i64::MAX, i64::MAX, 3), [0]);
        assert!(positions(3, 1, 1, 6).is_empty());
        assert!(positions(0, 5, 1, 0).is_empty());
        assert!(positions(0, 5, -1, 0).is_empty());
    }
}
