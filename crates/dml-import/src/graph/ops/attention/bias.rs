//! Attention masks, as a bias added to scores.

use dml_core::{PaddingMode, ReduceFunction};

use crate::convert::{convert, from_integer};
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{
    ADD, AND, EQUAL, GREATER_OR_EQUAL, LESS, LESS_OR_EQUAL, WHERE,
};
use crate::graph::ops::attention::Attention;
use crate::graph::ops::cast::cast;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::pad::{Margins, Pad};
use crate::graph::ops::reduce::reduced;
use crate::graph::ops::table::numbers;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;

/// The sizes of attention scores.
pub(super) struct Scores {
    pub(super) batches: u64,
    pub(super) heads: u64,
    pub(super) queries: u64,
    /// The number of keys, past ones included.
    pub(super) keys: u64,
    pub(super) earlier: u64,
}

impl Scores {
    pub(super) fn shape(&self) -> [u64; 4] {
        [self.batches, self.heads, self.queries, self.keys]
    }
}

/// The sum of all masks, which is added to scores: `[batches, heads, queries, keys]`, where any size may be 1.
pub(super) struct Bias {
    /// `None`: no bias.
    pub(super) value: Option<Value>,
    /// Whether a query may see no key.
    may_hide_all: bool,
}

impl Bias {
    /// For each query, whether it sees no key, with size 1 for keys; `None` if every query sees a key.
    pub(super) fn hidden_rows(&self, operands: &NodeInputs<'_>) -> Result<Option<Value>> {
        let Some(bias) = self.value.as_ref().filter(|_| self.may_hide_all) else {
            return Ok(None);
        };
        let element = bias.element()?;
        let is_key = [false, false, false, true];
        let greatest = reduced(operands, bias, &is_key, ReduceFunction::Max)?;
        let hidden = Value::scalar(element, minus_infinity(element));
        apply(operands, EQUAL, &[greatest, hidden]).map(Some)
    }
}

impl Attention {
    /// The sum of all masks.
    pub(super) fn bias(
        &self,
        operands: &NodeInputs<'_>,
        element: ElementType,
        scores: &Scores,
    ) -> Result<Bias> {
        let mask = self.mask(operands, scores)?;
        let lengths = operands.optional(6).map(|it| lengths(operands, it, scores)).transpose()?;
        let (truths, added) = match mask {
            Some(mask) if is_bool(&mask) => (Some(mask), None),
            Some(mask) => (None, Some(cast(operands, &mask, element)?)),
            None => (None, None),
        };
        let has_mask = truths.is_some() || added.is_some();
        let may_hide_all =
            has_mask && self.may_hide_all || lengths.is_some() || self.window_may_hide_all(scores);
        let by_position = self.by_position(operands, scores, lengths.as_ref())?;
        let mut visible: Option<Value> = None;
        for part in truths.into_iter().chain(by_position) {
            visible = Some(match visible {
                None => part,
                Some(all) => apply(operands, AND, &[all, part])?,
            });
        }
        let Some(visible) = visible else { return Ok(Bias { value: added, may_hide_all }) };
        let [zero, hidden] = [0, minus_infinity(element)].map(|bits| Value::scalar(element, bits));
        let hidden = apply(operands, WHERE, &[visible, zero, hidden])?;
        let value = match added {
            None => hidden,
            Some(added) => apply(operands, ADD, &[added, hidden])?,
        };
        Ok(Bias { value: Some(value), may_hide_all })
    }

    /// Conditions on the positions of queries and keys.
    fn by_position(
        &self,
        operands: &NodeInputs<'_>,
        scores: &Scores,
        lengths: Option<&Value>,
    ) -> Result<Vec<Value>> {
        let mut all = vec![];
        if lengths.is_none() && !self.is_causal && self.window == [None, None] {
            return Ok(all);
        }
        let keys = numbers(operands, ElementType::INT32, &[1, 1, 1, scores.keys])?;
        if let Some(lengths) = lengths {
            all.push(apply(operands, LESS, &[keys.clone(), lengths.clone()])?);
        }
        if !self.is_causal && self.window == [None, None] {
            return Ok(all);
        }
        let queries = numbers(operands, ElementType::INT32, &[1, 1, scores.queries, 1])?;
        let position = match lengths {
            // The queries are the last steps of their sequence.
            Some(lengths) if scores.earlier == 0 => {
                let first =
                    apply(operands, ADD, &[lengths.clone(), number(-i128::from(scores.queries))])?;
                apply(operands, ADD, &[queries, first])?
            }
            _ => apply(operands, ADD, &[queries, number(scores.earlier.into())])?,
        };
        // Windows larger than this have no effect.
        let most = scores.keys.saturating_add(scores.queries).saturating_mul(2);
        let distance = |size: Option<u64>| size.filter(|size| *size < most).map(i128::from);
        let [before, after] = self.window.map(distance);
        let after = if self.is_causal { Some(0) } else { after };
        for (offset, function) in [(before.map(|it| -it), GREATER_OR_EQUAL), (after, LESS_OR_EQUAL)]
        {
            let Some(offset) = offset else { continue };
            let end = apply(operands, ADD, &[position.clone(), number(offset)])?;
            all.push(apply(operands, function, &[keys.clone(), end])?);
        }
        Ok(all)
    }

    /// Whether the window of the last query begins after the last key.
    fn window_may_hide_all(&self, scores: &Scores) -> bool {
        self.window[0].is_some_and(|before| {
            scores.earlier.saturating_add(scores.queries) > scores.keys.saturating_add(before)
        })
    }

    /// The mask in four dimensions; keys beyond the mask's last one are hidden.
    fn mask(&self, operands: &NodeInputs<'_>, scores: &Scores) -> Result<Option<Value>> {
        let Some(mask) = operands.optional(3) else { return Ok(None) };
        let given = mask.shape()?;
        let shape = [vec![1; 4_usize.saturating_sub(given.len())], given.to_vec()].concat();
        let all = scores.shape();
        let fits = |(size, of): (&u64, &u64)| *size == 1 || size == of;
        let last = shape.last().copied().unwrap_or(1);
        if shape.len() != 4 || last > scores.keys || !shape[..3].iter().zip(&all).all(fits) {
            let (problem, accepted) =
                ("does not fit the scores", format!("what is repeated to {}", text(&all)));
            return Err(operands.node.invalid("attn_mask", text(given), problem, accepted));
        }
        let mask = operands.reshaped(mask, &shape)?;
        if last == scores.keys || last == 1 && !self.pads_single_key {
            return Ok(Some(mask));
        }
        let value = if is_bool(&mask) { 0.0 } else { f32::NEG_INFINITY };
        followed_by(operands, &mask, scores.keys - last, value).map(Some)
    }
}

/// A mask of four dimensions, with so many further keys of one value.
pub(in crate::graph::ops) fn followed_by(
    operands: &NodeInputs<'_>,
    mask: &Value,
    keys: u64,
    value: f32,
) -> Result<Value> {
    let keys = i64::try_from(keys).unwrap_or(i64::MAX);
    let source = Margins::Attributes { pads: vec![0, 0, 0, 0, 0, 0, 0, keys], value };
    let only = NodeInputs { values: vec![Some(mask)], ..*operands };
    Ok(Pad { mode: PaddingMode::Constant, source }.evaluate(&only)?.remove(0))
}

/// The number of keys of each sequence, in a shape that broadcasts to scores.
fn lengths(operands: &NodeInputs<'_>, lengths: &Value, scores: &Scores) -> Result<Value> {
    operands.integer_type(lengths, "nonpad_kv_seqlen")?;
    let (given, accepted) = (lengths.shape()?, [scores.batches]);
    if given != accepted {
        let (problem, accepted) = ("is the wrong shape", text(&accepted));
        return Err(operands.node.invalid("nonpad_kv_seqlen", text(given), problem, accepted));
    }
    let lengths = cast(operands, lengths, ElementType::INT32)?;
    operands.reshaped(&lengths, &[scores.batches, 1, 1, 1])
}

/// An integer constant to compare positions with.
fn number(value: i128) -> Value {
    Value::scalar(ElementType::INT32, from_integer(value, ElementType::INT32))
}

fn minus_infinity(element: ElementType) -> u64 {
    convert(f32::NEG_INFINITY.to_bits().into(), ElementType::FLOAT32, element)
}

fn is_bool(value: &Value) -> bool {
    value.element == Some(ElementType::Bool)
}
