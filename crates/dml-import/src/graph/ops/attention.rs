//! Attention: MULTIHEAD_ATTENTION, or MULTIHEAD_ATTENTION1 if several query heads share a head of keys and
//! values. Attention with a soft cap, attention sinks, or scores as an output, is composed of products and a
//! softmax ([`composed`]).

mod bias;
mod composed;

use dml_core::operators::{MULTIHEAD_ATTENTION, MULTIHEAD_ATTENTION1};
use dml_core::schema::FieldSchema;
use dml_core::{AbstractOperator, FieldValue, MultiheadAttentionMaskType as MaskType, TensorDesc};

use crate::error::{Error, Result};
use crate::graph::ops::arithmetic::WHERE;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::packed::by_strides_all;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::{element_count, text};

use bias::Scores;
use composed::appended;

pub(super) use bias::followed_by;

/// Scaled dot-product attention. Inputs are queries, keys and values, a mask, past keys and values, the number
/// of valid keys of each sequence, and an attention sink: one extra score per head. Outputs are the weighted
/// values, all keys, all values, and scores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention {
    pub(crate) is_causal: bool,
    /// The attention window: how many keys before and after its own position a query sees at most.
    pub(crate) window: [Option<u64>; 2],
    /// The numbers of query heads and of key/value heads, for inputs of three dimensions.
    pub(crate) heads: [Option<i64>; 2],
    /// The scale of scores; `None` for `1 / sqrt(head size)`.
    pub(crate) scale: Option<f32>,
    /// Soft cap: scores become `c * tanh(score / c)`.
    pub(crate) softcap: Option<f32>,
    /// Whether a mask with a single key is padded to all keys, instead of broadcast.
    pub(crate) pads_single_key: bool,
    /// Whether a mask may hide all keys from a query.
    pub(crate) may_hide_all: bool,
    /// Whether each row of scores has an attention sink of score 0.
    pub(crate) has_zero_sink: bool,
    /// The stage of the scores in the fourth output.
    pub(crate) stage: Stage,
    pub(crate) outputs: usize,
}

/// A stage in the computation of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The scaled products of queries and keys.
    Product,
    /// After the soft cap.
    Capped,
    /// After adding masks.
    Masked,
    /// After the softmax.
    Softmax,
}

/// DirectML's inputs and outputs, in binding order.
const INPUTS: [&str; 11] = [
    "QueryTensor",
    "KeyTensor",
    "ValueTensor",
    "StackedQueryKeyTensor",
    "StackedKeyValueTensor",
    "StackedQueryKeyValueTensor",
    "BiasTensor",
    "MaskTensor",
    "RelativePositionBiasTensor",
    "PastKeyTensor",
    "PastValueTensor",
];
const OUTPUTS: [&str; 3] = ["OutputTensor", "OutputPresentKeyTensor", "OutputPresentValueTensor"];

/// Queries, keys or values in three dimensions; the heads of a step are adjacent.
struct Steps {
    value: Value,
    batches: u64,
    steps: u64,
    heads: u64,
    /// The size of a head.
    elements: u64,
}

impl Steps {
    fn of(operands: &NodeInputs<'_>, at: (usize, &str), heads: Option<i64>) -> Result<Self> {
        let value = operands.value(at.0, at.1)?;
        match *value.shape()? {
            [batches, heads, steps, elements] => {
                let shape = [batches, steps, heads.saturating_mul(elements)];
                let value = operands.reshaped(&value.transposed(&[0, 2, 1, 3]), &shape)?;
                Ok(Self { value, batches, steps, heads, elements })
            }
            [batches, steps, width] => {
                let given = heads.and_then(|head| u64::try_from(head).ok());
                let is_whole = |it: &u64| *it > 0 && width.is_multiple_of(*it);
                let heads = given.filter(is_whole).ok_or_else(|| {
                    let accepted = format!("attributes with the heads of {width} elements");
                    let given = heads.map_or("no number of heads".to_owned(), |it| it.to_string());
                    operands.node.invalid(
                        at.1,
                        given,
                        "does not divide a step into heads",
                        accepted,
                    )
                })?;
                let (value, elements) = (value.clone(), width / heads);
                Ok(Self { value, batches, steps, heads, elements })
            }
            ref other => {
                let (problem, accepted) = ("is the wrong shape", "three or four dimensions");
                Err(operands.node.invalid(at.1, text(other), problem, accepted))
            }
        }
    }
}

impl Op for Attention {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        if let Some(caches) = caches(operands)?
            && let Some(outputs) = self.products_over(operands, caches)?
        {
            return Ok(outputs);
        }
        let query = Steps::of(operands, (0, "Q"), self.heads[0])?;
        let key = Steps::of(operands, (1, "K"), self.heads[1])?;
        let value = Steps::of(operands, (2, "V"), self.heads[1])?;
        let past = Past::of(operands)?;
        let earlier = past.as_ref().map_or(0, |past| past.steps);
        let scores = Scores {
            batches: query.batches,
            heads: query.heads,
            queries: query.steps,
            keys: earlier.saturating_add(key.steps),
            earlier,
        };
        let bias = self.bias(operands, query.value.element()?, &scores)?;
        let hidden = bias.hidden_rows(operands)?;
        let has_sink = self.has_zero_sink || operands.optional(7).is_some();
        let mut outputs = if self.softcap.is_some() || has_sink || self.outputs > 3 {
            let all = appended(operands, past, [&key, &value])?;
            self.composed(operands, &query, all, (bias.value, hidden), &scores)?
        } else {
            let mut outputs =
                self.operator(operands, [&query, &key, &value], past, bias.value, &scores)?;
            if let (Some(hidden), Some(found)) = (hidden, outputs.first_mut()) {
                *found = without_hidden(operands, found, &hidden, [&query, &value])?;
            }
            outputs
        };
        if operands.shape(0, "Q")?.len() == 4
            && let Some(found) = outputs.first_mut()
        {
            *found = by_heads(operands, found, &query, value.elements)?;
        }
        Ok(outputs)
    }
}

/// The most scores that are stored at once: more of them are computed for some queries at a time.
const MOST_SCORES: u64 = 1 << 22;

/// Keys and values of four dimensions of which not all are valid: caches that a node before this one has written.
fn caches<'a>(operands: &NodeInputs<'a>) -> Result<Option<[&'a Value; 2]>> {
    let caches = [operands.value(1, "K")?, operands.value(2, "V")?];
    let is_by_heads = |it: &Value| Ok(it.shape()?.len() == 4);
    let has_lengths = operands.optional(6).is_some() && operands.optional(4).is_none();
    Ok((has_lengths && is_by_heads(caches[0])? && is_by_heads(caches[1])?).then_some(caches))
}

impl Attention {
    /// The outputs for all keys and values in caches, each `[batches, heads, steps, elements]`. The products of few
    /// queries read them where they lie; MULTIHEAD_ATTENTION would need all heads of a step next to each other.
    pub(crate) fn over_caches(
        &self,
        operands: &NodeInputs<'_>,
        caches: [&Value; 2],
    ) -> Result<Vec<Value>> {
        if let Some(outputs) = self.products_over(operands, caches)? {
            return Ok(outputs);
        }
        let mut values = operands.values.clone();
        (values[1], values[2]) = (Some(caches[0]), Some(caches[1]));
        self.evaluate(&NodeInputs { values, ..*operands })
    }

    /// As [`over_caches`](Self::over_caches); `None` if there are too many scores to store at once.
    fn products_over(
        &self,
        operands: &NodeInputs<'_>,
        caches: [&Value; 2],
    ) -> Result<Option<Vec<Value>>> {
        let query = Steps::of(operands, (0, "Q"), self.heads[0])?;
        let size = |at: usize, of: usize| Ok(caches[at].shape()?.get(of).copied().unwrap_or(0));
        let (keys, elements) = (size(0, 2)?, size(1, 3)?);
        let (batches, heads, queries) = (query.batches, query.heads, query.steps);
        let scores = Scores { batches, heads, queries, keys, earlier: 0 };
        if element_count(&scores.shape()).is_none_or(|it| it > MOST_SCORES) {
            return Ok(None);
        }
        let bias = self.bias(operands, query.value.element()?, &scores)?;
        let hidden = bias.hidden_rows(operands)?;
        let mut outputs = self.composed(
            operands,
            &query,
            caches.map(Value::clone),
            (bias.value, hidden),
            &scores,
        )?;
        if operands.shape(0, "Q")?.len() == 4
            && let Some(found) = outputs.first_mut()
        {
            *found = by_heads(operands, found, &query, elements)?;
        }
        Ok(Some(outputs))
    }
}

/// Past keys and values.
struct Past {
    key: Value,
    value: Value,
    steps: u64,
}

impl Past {
    fn of(operands: &NodeInputs<'_>) -> Result<Option<Self>> {
        let [key, value] = [4, 5].map(|index| operands.optional(index));
        if key.is_some() != value.is_some() {
            let given = if key.is_some() { "past_key alone" } else { "past_value alone" };
            let problem = "is half of the past";
            let accepted = "past_key and past_value together, or neither";
            return Err(operands.node.invalid("past_key and past_value", given, problem, accepted));
        }
        let (Some(key), Some(value)) = (key.filter(|key| !key.is_empty()), value) else {
            return Ok(None);
        };
        let steps = key.shape()?.get(2).copied().unwrap_or(0);
        Ok(Some(Self { key: key.clone(), value: value.clone(), steps }))
    }
}

impl Attention {
    /// Adds DirectML's operator.
    fn operator(
        &self,
        operands: &NodeInputs<'_>,
        [query, key, value]: [&Steps; 3],
        past: Option<Past>,
        bias: Option<Value>,
        scores: &Scores,
    ) -> Result<Vec<Value>> {
        let element = query.value.element()?;
        let (past_key, past_value) = past.map(|past| (past.key, past.value)).unzip();
        let [query_steps, key_steps, value_steps] = [query, key, value].map(|it| &it.value);
        let inputs = [
            Some(query_steps.clone()),
            Some(key_steps.clone()),
            Some(value_steps.clone()),
            None,
            None,
            None,
            None,
            None,
            bias,
            past_key,
            past_value,
        ];
        let Scores { batches, heads, queries, keys, .. } = *scores;
        let found = [batches, queries, heads.saturating_mul(value.elements)];
        let all = |elements| [batches, key.heads, keys, elements];
        let (all_keys, all_values) = (all(key.elements), all(value.elements));
        let shapes: [&[u64]; 3] = [&found, &all_keys, &all_values];
        let count = if self.outputs > 1 { 3 } else { 1 };
        let outputs = shapes.into_iter().take(count);
        let outputs = outputs.map(|shape| (Kind { element, shape: shape.into() }, shape));
        let scale = self.scale(query);
        let heads = [heads, key.heads].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        by_strides_all(operands, &inputs, outputs.collect(), |inputs, outputs| {
            let outputs = OUTPUTS.into_iter().zip(outputs.into_iter().map(Some));
            let tensors: Vec<_> = INPUTS.into_iter().zip(inputs).chain(outputs).collect();
            operator(&tensors, scale, heads)
        })
    }

    fn scale(&self, query: &Steps) -> f32 {
        self.scale.unwrap_or_else(|| 1.0 / (query.elements as f32).sqrt())
    }
}

/// Weighted values as `[batches, heads, queries, elements]`, from values whose heads are adjacent.
fn by_heads(
    operands: &NodeInputs<'_>,
    found: &Value,
    query: &Steps,
    elements: u64,
) -> Result<Value> {
    let split = operands.reshaped(found, &[query.batches, query.steps, query.heads, elements])?;
    Ok(split.transposed(&[0, 2, 1, 3]))
}

/// Weighted values, with zeros for queries that see no key.
fn without_hidden(
    operands: &NodeInputs<'_>,
    found: &Value,
    hidden: &Value,
    [query, value]: [&Steps; 2],
) -> Result<Value> {
    let shape = found.shape()?.to_vec();
    let split = [query.batches, query.steps, query.heads, value.elements];
    let found = operands.reshaped(found, &split)?;
    let zero = Value::scalar(found.element()?, 0);
    let found = apply(operands, WHERE, &[hidden.transposed(&[0, 2, 1, 3]), zero, found])?;
    operands.reshaped(&found, &shape)
}

/// The operator on these tensors, with a scale and numbers of heads. All masks are in the bias.
fn operator(
    tensors: &[(&str, Option<TensorDesc>)],
    scale: f32,
    [heads, groups]: [u32; 2],
) -> Result<AbstractOperator> {
    let schema = if heads == groups { &MULTIHEAD_ATTENTION } else { &MULTIHEAD_ATTENTION1 };
    let value = |field: &FieldSchema| match field.name {
        "Scale" => FieldValue::Float(scale),
        "MaskFilterValue" => FieldValue::Float(0.0),
        "HeadCount" | "QueryHeadCount" => FieldValue::Uint(heads),
        "KeyValueHeadCount" => FieldValue::Uint(groups),
        "MaskType" => FieldValue::Uint(MaskType::None.dml_value()),
        name => {
            let found = tensors.iter().find(|(it, _)| *it == name);
            FieldValue::Tensor(found.and_then(|(_, tensor)| tensor.clone()))
        }
    };
    AbstractOperator::new(schema, schema.fields.iter().map(value).collect())
        .map_err(|error| Error::malformed(error.to_string()))
}
