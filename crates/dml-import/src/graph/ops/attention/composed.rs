//! Attention composed of products and a softmax, in 32 bits: with a soft cap, attention sinks, or scores as an
//! output.

use dml_core::ReduceFunction;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, DIVIDE, EXP, MAXIMUM, MULTIPLY, SUBTRACT, TANH, WHERE};
use crate::graph::ops::attention::bias::Scores;
use crate::graph::ops::attention::{Attention, Past, Stage, Steps};
use crate::graph::ops::cast::cast;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::product::{MatrixProduct, Turned, multiplied};
use crate::graph::ops::reduce::reduced;
use crate::graph::ops::scalar::Scalar;
use crate::graph::ops::softmax::{SOFTMAX, Softmax};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;

const FLOAT: ElementType = ElementType::FLOAT32;

impl Attention {
    /// The outputs for all keys and values, each `[batches, heads, steps, elements]`; in the first output, the
    /// heads of a query are adjacent.
    pub(super) fn composed(
        &self,
        operands: &NodeInputs<'_>,
        query: &Steps,
        [all_keys, all_values]: [Value; 2],
        (bias, hidden): (Option<Value>, Option<Value>),
        scores: &Scores,
    ) -> Result<Vec<Value>> {
        let element = query.value.element()?;
        let size = |value: &Value, at: usize| Ok(value.shape()?.get(at).copied().unwrap_or(0));
        let (groups, elements) = (size(&all_keys, 1)?, size(&all_values, 3)?);
        let rows = rows_of_group(operands, scores, groups)?;
        let grouped = |width: u64| [scores.batches, groups, rows, width];
        let queries = operands.reshaped(&by_heads(operands, query)?, &grouped(query.elements))?;
        let product = self.product(operands, [&queries, &all_keys], self.scale(query))?;
        let product = operands.reshaped(&product, &scores.shape())?;
        let capped = match self.softcap {
            None => product.clone(),
            Some(limit) => capped(operands, &product, limit)?,
        };
        let masked = match bias {
            None => capped.clone(),
            Some(bias) => apply(operands, ADD, &[capped.clone(), cast(operands, &bias, FLOAT)?])?,
        };
        let mut probabilities = self.probabilities(operands, &masked, scores)?;
        if let Some(hidden) = hidden {
            let zero = Value::scalar(FLOAT, 0);
            probabilities = apply(operands, WHERE, &[hidden, zero, probabilities])?;
        }
        let weights = operands.reshaped(&probabilities, &grouped(scores.keys))?;
        let found = multiplied(operands, &weights, &cast(operands, &all_values, FLOAT)?)?;
        let found = by_queries(operands, &found, scores, elements)?;
        let shown = match self.stage {
            Stage::Product => product,
            Stage::Capped => capped,
            Stage::Masked => masked,
            Stage::Softmax => probabilities,
        };
        let shown = cast(operands, &shown.broadcast(&scores.shape()), element)?;
        Ok(vec![cast(operands, &found, element)?, all_keys, all_values, shown])
    }

    /// The products of queries and keys, times a factor.
    fn product(
        &self,
        operands: &NodeInputs<'_>,
        [queries, keys]: [&Value; 2],
        factor: f32,
    ) -> Result<Value> {
        let (queries, keys) = (cast(operands, queries, FLOAT)?, cast(operands, keys, FLOAT)?);
        let turned = [Turned::default(), Turned { matrix: true, batch: false }];
        let factors = NodeInputs { values: vec![Some(&queries), Some(&keys)], ..*operands };
        Ok(MatrixProduct::fused(turned, factor).evaluate(&factors)?.remove(0))
    }

    /// The softmax of scores, including an attention sink if there is one.
    fn probabilities(
        &self,
        operands: &NodeInputs<'_>,
        masked: &Value,
        scores: &Scores,
    ) -> Result<Value> {
        let sink = match operands.optional(7) {
            Some(sink) => {
                if sink.shape()? != [scores.heads] {
                    let (given, accepted) = (text(sink.shape()?), text(&[scores.heads]));
                    let problem = "is the wrong shape";
                    return Err(operands.node.invalid("head_sink", given, problem, accepted));
                }
                let sink = operands.reshaped(sink, &[1, scores.heads, 1, 1])?;
                cast(operands, &sink, FLOAT)?
            }
            None if self.has_zero_sink => Value::scalar(FLOAT, 0),
            None => {
                let only = NodeInputs { values: vec![Some(masked)], ..*operands };
                let softmax = Softmax { operators: SOFTMAX, axis: -1, has_rest: false };
                return Ok(softmax.evaluate(&only)?.remove(0));
            }
        };
        softmax_with_sink(operands, masked, &sink)
    }
}

/// The softmax of rows of scores which have one more score, the sink. Its own probability is not computed, and nothing is
/// joined to the scores.
fn softmax_with_sink(operands: &NodeInputs<'_>, scores: &Value, sink: &Value) -> Result<Value> {
    let along = [false, false, false, true];
    let of = |function, values: [&Value; 2]| apply(operands, function, &values.map(Value::clone));
    let power =
        |score: &Value, greatest: &Value| apply(operands, EXP, &[of(SUBTRACT, [score, greatest])?]);
    let greatest = reduced(operands, scores, &along, ReduceFunction::Max)?;
    let greatest = of(MAXIMUM, [&greatest, sink])?;
    let powers = power(scores, &greatest)?;
    let sum = reduced(operands, &powers, &along, ReduceFunction::Sum)?;
    let sum = of(ADD, [&sum, &power(sink, &greatest)?])?;
    of(DIVIDE, [&powers, &sum])
}

/// The number of query rows per key/value head: query heads that share keys are computed in one product.
fn rows_of_group(operands: &NodeInputs<'_>, scores: &Scores, groups: u64) -> Result<u64> {
    match scores.heads.checked_div(groups) {
        Some(heads) if heads.saturating_mul(groups) == scores.heads => {
            Ok(heads.saturating_mul(scores.queries))
        }
        _ => {
            let (problem, heads) = ("does not divide the heads of queries", scores.heads);
            let accepted = format!("a divisor of {heads}");
            Err(operands.node.invalid("heads of K", groups, problem, accepted))
        }
    }
}

/// Weighted values in which the heads of a query are adjacent.
fn by_queries(
    operands: &NodeInputs<'_>,
    found: &Value,
    scores: &Scores,
    elements: u64,
) -> Result<Value> {
    let [batches, heads, queries, _] = scores.shape();
    let found = operands.reshaped(found, &[batches, heads, queries, elements])?;
    let shape = [batches, queries, heads.saturating_mul(elements)];
    operands.reshaped(&found.transposed(&[0, 2, 1, 3]), &shape)
}

/// Soft cap: `limit * tanh(score / limit)`.
fn capped(operands: &NodeInputs<'_>, scores: &Value, limit: f32) -> Result<Value> {
    let limit = Value::scalar(FLOAT, Scalar::Float(limit.into()).bits(FLOAT));
    let relative = apply(operands, DIVIDE, &[scores.clone(), limit.clone()])?;
    apply(operands, MULTIPLY, &[apply(operands, TANH, &[relative])?, limit])
}

/// The value as `[batches, heads, steps, elements]`.
fn by_heads(operands: &NodeInputs<'_>, steps: &Steps) -> Result<Value> {
    let shape = [steps.batches, steps.steps, steps.heads, steps.elements];
    Ok(operands.reshaped(&steps.value, &shape)?.transposed(&[0, 2, 1, 3]))
}

/// All keys and all values, each `[batches, heads, steps, elements]`: past steps followed by these.
pub(super) fn appended(
    operands: &NodeInputs<'_>,
    past: Option<Past>,
    [key, value]: [&Steps; 2],
) -> Result<[Value; 2]> {
    let [keys, values] = [by_heads(operands, key)?, by_heads(operands, value)?];
    match past {
        None => Ok([keys, values]),
        Some(past) => Ok([
            join(operands, &[&past.key, &keys], 2, "past_key")?,
            join(operands, &[&past.value, &values], 2, "past_value")?,
        ]),
    }
}
