//! Unique: elements or slices without repeats, on the host, as the outputs' shapes depend on them.

use crate::convert::{float, integer};
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::device::no_counterpart;
use crate::graph::ops::packed::{around, count};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::{Tensor, host_elements};

/// Outputs are the distinct elements or slices, the index of the first occurrence of each, the index of the
/// result for each element, and the number of occurrences.
#[derive(Debug)]
pub(crate) struct Unique {
    /// The dimension whose slices are compared; `None`: the elements are.
    pub(crate) axis: Option<i64>,
    /// Whether results are sorted, rather than in the input's order.
    pub(crate) is_sorted: bool,
}

impl Op for Unique {
    fn need(&self, _input: usize) -> Need {
        Need::Host
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let mut data = operands.tensor(0, "X")?;
        let element = data.element_type();
        if element.storage().is_none() {
            return Err(no_counterpart(operands.node, element));
        }
        if self.axis.is_none() {
            let all = vec![count(data.shape())];
            data = data.reshaped(all);
        }
        let axis = operands.axis(self.axis.unwrap_or(0), data.shape().len(), "attribute axis")?;
        let mut shape = data.shape().to_vec();
        host_elements(&shape)?;
        // The number of slices is unlimited if they have no elements.
        operands.budget.take(&shape[axis..=axis])?;
        let [outer, size, inner] = around(&shape, axis);
        let [outer, size, inner] =
            [host_elements(&[outer])?, host_elements(&[size])?, host_elements(&[inner])?];
        let at = |slice: usize, block: usize| (block * size + slice) * inner;
        let of_slice = |slice| (0..outer).flat_map(move |it| at(slice, it)..at(slice, it) + inner);
        let keys: Vec<i128> = data.bits().map(|bits| key(bits, element)).collect();
        let sliced: Vec<i128> = (0..size).flat_map(of_slice).map(|at| keys[at]).collect();
        let length = outer * inner;
        let found = self.found(size, |slice| &sliced[slice * length..(slice + 1) * length]);
        shape[axis] = found.first.len() as u64;
        let block =
            |block| found.first.iter().flat_map(move |it| at(*it, block)..at(*it, block) + inner);
        let picked: Vec<usize> = (0..outer).flat_map(block).collect();
        let integers = |all: &[usize]| {
            let all: Vec<i64> = all.iter().map(|it| (*it as u64).cast_signed()).collect();
            Value::host(Tensor::from_integers(vec![all.len() as u64], &all))
        };
        Ok(vec![
            Value::host(data.picked(shape, &picked)),
            integers(&found.first),
            integers(&found.inverse),
            integers(&found.counts),
        ])
    }
}

/// The index of each result's first occurrence, the result of each slice, and the number of occurrences.
struct UniqueSlices {
    first: Vec<usize>,
    inverse: Vec<usize>,
    counts: Vec<usize>,
}

impl Unique {
    fn found<'a>(&self, size: usize, slice: impl Fn(usize) -> &'a [i128]) -> UniqueSlices {
        let mut order: Vec<usize> = (0..size).collect();
        // A stable sort, so that each group begins with its first occurrence.
        order.sort_by(|a, b| slice(*a).cmp(slice(*b)));
        let mut groups: Vec<&[usize]> = order.chunk_by(|a, b| slice(*a) == slice(*b)).collect();
        if !self.is_sorted {
            groups.sort_by_key(|group| group.first().copied());
        }
        let mut inverse = vec![0; size];
        for (number, group) in groups.iter().enumerate() {
            group.iter().for_each(|slice| inverse[*slice] = number);
        }
        let first = groups.iter().filter_map(|group| group.first().copied()).collect();
        UniqueSlices { first, inverse, counts: groups.iter().map(|group| group.len()).collect() }
    }
}

/// The sort key of an element: both zeros are equal, and all NaNs are one value above all others.
fn key(bits: u64, element: ElementType) -> i128 {
    if element.is_integer() {
        return integer(bits, element);
    }
    let value = float(bits, element) + 0.0;
    if value.is_nan() {
        return i64::MAX.into();
    }
    // The bits of negative floats are in reverse order.
    let bits = value.to_bits().cast_signed();
    (if bits < 0 { bits ^ i64::MAX } else { bits }).into()
}
