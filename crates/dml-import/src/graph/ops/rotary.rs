//! Rotary position embedding: pairs of elements are rotated by an angle for each step.

use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, MULTIPLY, SUBTRACT};
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::function::Function;
use crate::graph::ops::index::gathered;
use crate::graph::ops::slice::Slice;
use crate::graph::ops::table::numbers;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;

/// Inputs are the data, of three dimensions or with heads in a fourth, tables of cosines and sines, and
/// optionally the positions: the table row for each step.
#[derive(Debug)]
pub(crate) struct RotaryEmbedding {
    /// Whether a pair is two neighbours, rather than one element of each half.
    pub(crate) is_interleaved: bool,
    /// The number of heads, for data of three dimensions.
    pub(crate) heads: Option<i64>,
    /// How many of the first elements of a head are rotated; `None`: all.
    pub(crate) turned: Option<u64>,
    /// Whether, if not stated, the number of heads and the rotated part follow from the width of the table, and a
    /// single position is the start of all sequences.
    pub(crate) follows_cache: bool,
}

impl Op for RotaryEmbedding {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let given = operands.value(0, "X")?;
        let shape = given.shape()?;
        let wrong = || {
            let accepted = "four dimensions, or three and num_heads";
            operands.node.invalid("X", text(shape), "is the wrong shape", accepted)
        };
        let cosines = operands.shape(1, "cos_cache")?.last().copied().unwrap_or(0);
        let of_cache = self.follows_cache.then_some(cosines.saturating_mul(2)).filter(|it| *it > 0);
        let heads = self.heads.and_then(|head| u64::try_from(head).ok()).filter(|it| *it > 0);
        let width = shape.last().copied().unwrap_or(0);
        let heads =
            heads.or_else(|| of_cache.map(|of_cache| width / of_cache).filter(|it| *it > 0));
        // The data as `[batches, steps, heads, elements]`.
        let by_steps = match (shape, heads) {
            ([_, _, _, _], _) => given.transposed(&[0, 2, 1, 3]),
            ([batches, steps, width], Some(heads)) if width.is_multiple_of(heads) => {
                operands.reshaped(given, &[*batches, *steps, heads, width / heads])?
            }
            _ => return Err(wrong()),
        };
        let [batches, steps, heads, elements] = *by_steps.shape()? else { return Err(wrong()) };
        let turned = self.turned.or(of_cache).unwrap_or(elements);
        if turned > elements || !turned.is_multiple_of(2) {
            let accepted = format!("even numbers up to {elements}");
            let path = "attribute rotary_embedding_dim";
            return Err(operands.node.invalid(path, turned, "is not a number of pairs", accepted));
        }
        let half = turned / 2;
        // The shape of pairs, and the dimension along which the two elements of a pair lie.
        let (pair, along) = if self.is_interleaved { ([half, 2], 4_u8) } else { ([2, half], 3) };
        let first = part(operands, &by_steps, 3, [0, turned])?;
        let pairs = operands.reshaped(&first, &[batches, steps, heads, pair[0], pair[1]])?;
        let [one, other] =
            [[0, 1], [1, 2]].map(|range| part(operands, &pairs, along.into(), range));
        let (one, other) = (one?, other?);
        let mut angles = [batches, steps, 1, half, half];
        angles[usize::from(along)] = 1;
        let [cos, sin] = [(1, "cos_cache"), (2, "sin_cache")].map(|(index, name)| {
            operands.reshaped(&self.of_steps(operands, index, name)?, &angles)
        });
        let (cos, sin) = (cos?, sin?);
        let apply = |function: Function, a: &Value, b: &Value| {
            ElementWise::new(function).apply(operands, &[a.clone(), b.clone()])
        };
        let times = |a, b| apply(MULTIPLY, a, b);
        let real = apply(SUBTRACT, &times(&one, &cos)?, &times(&other, &sin)?)?;
        let imaginary = apply(ADD, &times(&one, &sin)?, &times(&other, &cos)?)?;
        let both = join(operands, &[&real, &imaginary], along.into(), "X")?;
        let both = operands.reshaped(&both, &[batches, steps, heads, turned])?;
        let rest = part(operands, &by_steps, 3, [turned, elements])?;
        let all = join(operands, &[&both, &rest], 3, "X")?;
        Ok(vec![match shape.len() {
            4 => all.transposed(&[0, 2, 1, 3]),
            _ => operands.reshaped(&all, shape)?,
        }])
    }
}

impl RotaryEmbedding {
    /// The cosines or sines of each step.
    fn of_steps(&self, operands: &NodeInputs<'_>, index: usize, name: &str) -> Result<Value> {
        let cache = operands.value(index, name)?;
        let Some(steps) = operands.optional(3) else { return Ok(cache.clone()) };
        let begins = self.follows_cache && matches!(steps.shape()?, [] | [1]);
        let steps = if begins { self.counted(operands, steps)? } else { steps.clone() };
        gathered(operands, cache, &steps, 0)
    }

    /// The consecutive positions of every sequence, starting at `first`.
    fn counted(&self, operands: &NodeInputs<'_>, first: &Value) -> Result<Value> {
        let shape = operands.shape(0, "input")?;
        let [batches, steps] = match *shape {
            [batches, _, steps, _] | [batches, steps, _] => [batches, steps],
            _ => [1, 1],
        };
        let counted = numbers(operands, first.element()?, &[1, steps])?;
        let first = operands.reshaped(first, &[1, 1])?;
        let all = ElementWise::new(ADD).apply(operands, &[first, counted])?;
        Ok(all.broadcast(&[batches, steps]))
    }
}

/// A range of a dimension.
fn part(
    operands: &NodeInputs<'_>,
    value: &Value,
    dimension: i64,
    [start, end]: [u64; 2],
) -> Result<Value> {
    let [start, end] = [start, end].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
    let slice = Slice::Fixed { starts: vec![start], ends: vec![end], axes: Some(vec![dimension]) };
    let only = NodeInputs { values: vec![Some(value)], ..*operands };
    Ok(slice.evaluate(&only)?.remove(0))
}
