//! Attention as in ONNX Runtime: with a key-value cache, and masks in several forms.

use crate::convert::from_integer;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, AND, GREATER_OR_EQUAL, LESS, MINIMUM, SUBTRACT, WHERE};
use crate::graph::ops::attention::{Attention, followed_by};
use crate::graph::ops::body::slices;
use crate::graph::ops::cast::cast;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::index::gathered_parts;
use crate::graph::ops::scatter::scattered;
use crate::graph::ops::table::numbers;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;

/// Which keys each query sees, in four dimensions. Inputs are a mask, queries, and the number of keys. The mask
/// has an element for each key, or for each query and key; or it has one dimension with the number of keys of
/// each sequence, optionally followed by the positions where they begin.
#[derive(Debug)]
pub(crate) struct KeyMask;

impl Op for KeyMask {
    fn need(&self, input: usize) -> Need {
        [Need::Elements, Need::Shape, Need::Host][input.min(2)]
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let mask = operands.value(0, "mask")?;
        let batches = operands.shape(1, "query")?.first().copied().unwrap_or(1);
        let keys = operands.size(operands.scalar(2, "keys")?, "keys")?;
        let wrong = |shape: &[u64]| {
            let accepted =
                format!("[{batches}], [{batches}, {keys}], [{batches}, queries, {keys}]");
            operands.node.invalid("mask", text(shape), "is the wrong shape", accepted)
        };
        let shape = match *mask.shape()? {
            [count] if count == batches || count == batches.saturating_mul(2) => {
                return self.of_lengths(operands, mask, [batches, keys]).map(|it| vec![it]);
            }
            [batches, given] if given == keys => [batches, 1, 1, keys],
            [batches, queries, given] if given == keys => [batches, 1, queries, keys],
            ref other => return Err(wrong(other)),
        };
        let mask = operands.reshaped(mask, &shape)?;
        Ok(vec![cast(operands, &mask, ElementType::Bool)?])
    }
}

impl KeyMask {
    fn of_lengths(
        &self,
        operands: &NodeInputs<'_>,
        mask: &Value,
        [batches, keys]: [u64; 2],
    ) -> Result<Value> {
        let count = mask.shape()?.first().copied().unwrap_or(0);
        let mask = operands.reshaped(mask, &[count / batches.max(1), batches, 1, 1, 1])?;
        let parts = slices(operands, &mask, 0, false)?;
        let places = numbers(operands, mask.element()?, &[1, 1, 1, keys])?;
        let mut seen: Option<Value> = None;
        for (end, function) in parts.iter().zip([LESS, GREATER_OR_EQUAL]) {
            let one = apply(operands, function, &[places.clone(), end.clone()])?;
            seen = Some(match seen {
                None => one,
                Some(other) => apply(operands, AND, &[other, one])?,
            });
        }
        let none = || operands.node.invalid("mask", 0, "is the wrong number", "1 and more");
        seen.ok_or_else(none)
    }
}

/// Attention whose past keys and values are in a buffer that may have spare room. Inputs are those of
/// [`Attention`] up to the past values, where the mask leaves each query a key; the number of past keys of each
/// sequence; the total number of keys; a bias added to scores; and attention sinks.
#[derive(Debug)]
pub(crate) struct CachedAttention(pub(crate) Attention);

impl Op for CachedAttention {
    fn need(&self, input: usize) -> Need {
        if input == 7 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let mut values: Vec<Option<&Value>> = (0..6).map(|it| operands.optional(it)).collect();
        let (bias, sink) = (operands.optional(8), operands.optional(9));
        values.extend([None, sink]);
        let mask = match (values[3], bias) {
            (Some(mask), Some(bias)) => {
                let bias = for_all_keys(operands, bias, mask)?;
                Some(apply(operands, ADD, &[mask.clone(), bias])?)
            }
            (mask, bias) => mask.or(bias).cloned(),
        };
        values[3] = mask.as_ref();
        let attention = Attention { may_hide_all: bias.is_some(), ..self.0 };
        let (Some(past_keys), Some(past_values)) = (values[4], values[5]) else {
            return attention.evaluate(&NodeInputs { values, ..*operands });
        };
        let given = operands.shape(1, "key")?;
        let [batches, steps] = [0, 1].map(|it| given.get(it).copied().unwrap_or(0));
        let earlier = past_keys.shape()?.get(2).copied().unwrap_or(0);
        let keys = operands.size(operands.scalar(7, "total_sequence_length")?, "keys")?;
        if earlier == 0 {
            return attention.evaluate(&NodeInputs { values, ..*operands });
        }
        (values[4], values[5]) = (None, None);
        let attention = Attention { outputs: 1, ..attention };
        // There is no gap between past and new keys.
        let is_joined = batches == 1 && keys == earlier.saturating_add(steps);
        let all = |(past, at): (&Value, (usize, &str))| {
            let new = self.by_steps(operands, past, at)?;
            match keys == earlier {
                true => self.written(operands, past, &new),
                false if is_joined => {
                    join(operands, &[past, &new.transposed(&[0, 2, 1, 3])], 2, at.1)
                }
                false => self.appended(operands, past, (&new, at.1), keys),
            }
        };
        let all = [all((past_keys, (1, "key")))?, all((past_values, (2, "value")))?];
        let mut outputs = if keys == earlier || is_joined {
            attention.over_caches(&NodeInputs { values, ..*operands }, all.each_ref())?
        } else {
            (values[1], values[2]) = (Some(&all[0]), Some(&all[1]));
            attention.evaluate(&NodeInputs { values, ..*operands })?
        };
        outputs.truncate(1);
        outputs.extend(all);
        Ok(outputs)
    }
}

/// A bias for the keys that are in use, as one for all keys that the mask has: it hides the others.
fn for_all_keys(operands: &NodeInputs<'_>, bias: &Value, mask: &Value) -> Result<Value> {
    let keys = mask.shape()?.last().copied().unwrap_or(1);
    match *bias.shape()? {
        // A single one is repeated.
        [_, _, _, used] if used > 1 && used < keys => followed_by(operands, bias, keys - used, 0.0),
        _ => Ok(bias.clone()),
    }
}

impl CachedAttention {
    /// The past, with the new steps of each sequence written after those of it that count. Where the two lie in one
    /// buffer, only the new steps are written.
    fn written(&self, operands: &NodeInputs<'_>, past: &Value, new: &Value) -> Result<Value> {
        let new = new.transposed(&[0, 2, 1, 3]);
        let shape = new.shape()?;
        let before = operands.value(6, "before")?;
        let before = operands.reshaped(before, &[shape[0], 1, 1, 1])?;
        let steps = numbers(operands, before.element()?, &[1, 1, shape[2], 1])?;
        let places = apply(operands, ADD, &[before, steps])?.broadcast(shape);
        scattered(operands, [past, &places, &new], 2)
    }

    /// The new steps as `[batches, steps, heads, elements]`, with the heads of the past.
    fn by_steps(
        &self,
        operands: &NodeInputs<'_>,
        past: &Value,
        (index, name): (usize, &str),
    ) -> Result<Value> {
        let new = operands.value(index, name)?;
        let wrong = |shape: &[u64]| {
            operands.node.invalid(name, text(shape), "does not fit what is kept", "its heads")
        };
        let (of_past, of_new) = (past.shape()?, new.shape()?);
        let ([batches, heads, _, width], [_, steps, all]) = (of_past, of_new) else {
            return Err(wrong(of_new));
        };
        if *all != heads.saturating_mul(*width) || of_new[0] != *batches {
            return Err(wrong(of_new));
        }
        operands.reshaped(new, &[*batches, *steps, *heads, *width])
    }

    /// A buffer of `keys` steps: the past steps of each sequence, followed by its new ones.
    fn appended(
        &self,
        operands: &NodeInputs<'_>,
        past: &Value,
        (new, name): (&Value, &str),
        keys: u64,
    ) -> Result<Value> {
        let ([batches, _, room, _], [_, steps, ..]) = (past.shape()?, new.shape()?) else {
            return Err(operands.node.invalid(name, 0, "has no steps", "1 and more"));
        };
        let all = join(operands, &[&past.transposed(&[0, 2, 1, 3]), new], 1, name)?;
        let before = operands.value(6, "before")?;
        let element = before.element()?;
        let number = |it: u64| Value::scalar(element, from_integer(it.into(), element));
        let before = operands.reshaped(before, &[*batches, 1])?;
        let places = numbers(operands, element, &[1, keys])?;
        let of_new = apply(operands, ADD, &[places.clone(), number(*room)])?;
        let of_new = apply(operands, SUBTRACT, &[of_new, before.clone()])?;
        let last = number(room.saturating_add(*steps).saturating_sub(1));
        let of_new = apply(operands, MINIMUM, &[of_new, last])?;
        let is_past = apply(operands, LESS, &[places.clone(), before])?;
        let chosen = apply(operands, WHERE, &[is_past, places, of_new])?;
        let chosen = operands.reshaped(&chosen, &[*batches, keys, 1])?;
        let found = gathered_parts(operands, &all, &chosen)?;
        Ok(found.transposed(&[0, 2, 1, 3]))
    }
}
