//! LinearAttention: attention by a state of fixed size, which each step of the sequence updates. The steps are
//! unrolled.

use crate::convert::from_float;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, EXP, MULTIPLY, SUBTRACT};
use crate::graph::ops::body::slices;
use crate::graph::ops::cast::cast;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::product::multiplied;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, text};

/// The update of the state by a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpdateRule {
    /// Whether the state is multiplied by the powers of a decay first.
    pub(crate) is_gated: bool,
    /// Whether a value is replaced by its difference to what the state gives for its key, times a rate.
    pub(crate) is_delta: bool,
}

/// ONNX's LinearAttention. Inputs are queries, keys, values, the state before, decays and rates; outputs are the
/// results of all steps, and the state after them. Everything is computed in FLOAT32.
#[derive(Debug)]
pub(crate) struct LinearAttention {
    pub(crate) rule: UpdateRule,
    /// The numbers of heads of queries, and of keys and values.
    pub(crate) heads: [u64; 2],
    /// The scale of results; `None` for the reciprocal root of a key's length.
    pub(crate) scale: Option<f32>,
}

/// Sizes of one call.
struct Sizes {
    batches: u64,
    steps: u64,
    /// Heads of keys and values.
    heads: u64,
    /// Heads of queries for each of them.
    group: u64,
    key: u64,
    value: u64,
}

/// The values of a step; each has the dimensions batch, head, row and column.
struct StepInputs<'a> {
    query: &'a Value,
    /// Keys as columns.
    key: &'a Value,
    value: &'a Value,
    decay: Option<&'a Value>,
    rate: Option<&'a Value>,
}

impl Op for LinearAttention {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let sizes = self.sizes(operands)?;
        let Sizes { batches, steps, heads, group, key, value } = sizes;
        let element = operands.value(0, "query")?.element()?;
        let state = operands.optional(3);
        let of_state = state.map_or(Ok(element), Value::element)?;
        let shape = [batches, heads, key, value];
        let mut state = match state {
            Some(state) => {
                operands.has_shape(state, &shape, "past_state")?;
                cast(operands, state, ElementType::FLOAT32)?
            }
            None => Value::fill(Kind { element: ElementType::FLOAT32, shape: shape.into() }, 0),
        };
        let columns = heads.saturating_mul(group).saturating_mul(value);
        if steps == 0 || batches == 0 || columns == 0 {
            let none = Tensor::new(element, [batches, steps, columns], vec![])?;
            return Ok(vec![Value::host(none), cast(operands, &state, of_state)?]);
        }
        // Each step has about so many values.
        operands.budget.take_values(operands.node, steps.saturating_mul(16))?;
        let of = |value, shape| self.steps(operands, value, shape);
        let queries = of(operands.value(0, "query")?, [heads, group, key])?;
        let keys = of(operands.value(1, "key")?, [heads, key, 1])?;
        let values = of(operands.value(2, "value")?, [heads, 1, value])?;
        let decays = self.decays(operands, &sizes)?;
        let rates = match operands.optional(5) {
            Some(rates) => Some(of(rates, [last(rates)?, 1, 1])?),
            None => None,
        };
        let mut results = Vec::with_capacity(queries.len());
        for at in 0..queries.len() {
            let step = StepInputs {
                query: &queries[at],
                key: &keys[at],
                value: &values[at],
                decay: decays.as_ref().map(|decay| &decay[at]),
                rate: rates.as_ref().map(|rate| &rate[at]),
            };
            state = step.updated(operands, state)?;
            let result = multiplied(operands, step.query, &state)?;
            results.push(operands.reshaped(&result, &[batches, 1, columns])?);
        }
        let results = join(operands, &results.iter().collect::<Vec<_>>(), 1, "output")?;
        let results = apply(operands, MULTIPLY, &[results, self.scale(key)])?;
        Ok(vec![cast(operands, &results, element)?, cast(operands, &state, of_state)?])
    }
}

impl StepInputs<'_> {
    /// The state after this step.
    fn updated(&self, operands: &NodeInputs<'_>, mut state: Value) -> Result<Value> {
        let of =
            |function, a: &Value, b: &Value| apply(operands, function, &[a.clone(), b.clone()]);
        if let Some(decay) = self.decay {
            state = of(MULTIPLY, &state, decay)?;
        }
        let mut value = self.value.clone();
        if let Some(rate) = self.rate {
            let row = self.key.transposed(&[0, 1, 3, 2]);
            let known = multiplied(operands, &row, &state)?;
            value = of(MULTIPLY, rate, &of(SUBTRACT, &value, &known)?)?;
        }
        of(ADD, &state, &of(MULTIPLY, self.key, &value)?)
    }
}

impl LinearAttention {
    fn sizes(&self, operands: &NodeInputs<'_>) -> Result<Sizes> {
        let [of_queries, heads] = self.heads;
        let packed = |index, name, heads: u64| {
            let shape = operands.shape(index, name)?;
            match *shape {
                [batches, steps, size] if size % heads == 0 => Ok([batches, steps, size / heads]),
                _ => {
                    let accepted = format!("[batches, steps, a multiple of {heads} heads]");
                    let problem = "is the wrong shape";
                    Err(operands.node.invalid(name, text(shape), problem, accepted))
                }
            }
        };
        let [batches, steps, key] = packed(0, "query", of_queries)?;
        let [.., value] = packed(2, "value", heads)?;
        let [keys, values] = [operands.value(1, "key")?, operands.value(2, "value")?];
        operands.has_shape(keys, &[batches, steps, heads * key], "key")?;
        operands.has_shape(values, &[batches, steps, heads * value], "value")?;
        let UpdateRule { is_gated, is_delta } = self.rule;
        for (index, name, is_used) in [(4, "decay", is_gated), (5, "beta", is_delta)] {
            let given = operands.optional(index);
            if given.is_some() != is_used {
                let (given, problem) = match is_used {
                    true => ("nothing", "is given"),
                    false => ("a value", "is not read by the attribute update_rule"),
                };
                let accepted = if is_used { "a value" } else { "nothing" };
                return Err(operands.node.invalid(name, given, problem, accepted));
            }
            let Some(given) = given else { continue };
            let widths = if index == 4 { [heads, heads * key] } else { [heads, 1] };
            let fits = given.shape()? == [batches, steps, widths[0]]
                || given.shape()? == [batches, steps, widths[1]];
            if !fits {
                let accepted = format!("[{batches}, {steps}, {} or {}]", widths[0], widths[1]);
                let given = text(given.shape()?);
                return Err(operands.node.invalid(name, given, "is the wrong shape", accepted));
            }
        }
        Ok(Sizes { batches, steps, heads, group: of_queries / heads, key, value })
    }

    /// The values of all steps in FLOAT32, each of `shape` with the batch before it.
    fn steps(
        &self,
        operands: &NodeInputs<'_>,
        packed: &Value,
        shape: [u64; 3],
    ) -> Result<Vec<Value>> {
        let single = cast(operands, packed, ElementType::FLOAT32)?;
        let given = packed.shape()?;
        let apart = operands.reshaped(&single, &[&given[..2], &shape].concat())?;
        slices(operands, &apart, 1, false)
    }

    /// The factors of the state in all steps.
    fn decays(&self, operands: &NodeInputs<'_>, sizes: &Sizes) -> Result<Option<Vec<Value>>> {
        let Some(decays) = operands.optional(4) else { return Ok(None) };
        let single = cast(operands, decays, ElementType::FLOAT32)?;
        let factors = apply(operands, EXP, &[single])?;
        let rows = last(decays)? / sizes.heads;
        self.steps(operands, &factors, [sizes.heads, rows, 1]).map(Some)
    }

    #[expect(clippy::cast_precision_loss, reason = "the length of a key is far smaller")]
    fn scale(&self, key: u64) -> Value {
        let scale = self.scale.map_or(1.0 / (key as f64).sqrt(), f64::from);
        Value::scalar(ElementType::FLOAT32, from_float(scale, ElementType::FLOAT32))
    }
}

fn last(value: &Value) -> Result<u64> {
    Ok(value.shape()?.last().copied().unwrap_or(1))
}
