//! Attention: MULTIHEAD_ATTENTION, and where heads of keys and values are shared MULTIHEAD_ATTENTION1.

use dml_core::operators::{MULTIHEAD_ATTENTION, MULTIHEAD_ATTENTION1};
use dml_core::schema::FieldSchema;
use dml_core::{
    AbstractOperator, FieldValue, MultiheadAttentionMaskType as MaskType, PaddingMode, TensorDesc,
};

use crate::convert::convert;
use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::graph::ops::arithmetic::ADD;
use crate::graph::ops::cast::cast;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::packed::by_strides_all;
use crate::graph::ops::pad::{Margins, Pad};
use crate::graph::ops::{Op, Operands};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, text};

/// What queries find by keys. Inputs are queries, keys and values, a mask, earlier keys and values, and how many
/// keys each sequence has; outputs what is found, and all keys and values.
#[derive(Debug)]
pub(crate) struct Attention {
    pub(crate) is_causal: bool,
    /// Heads of queries, and of keys and values, where these have three dimensions.
    pub(crate) heads: [Option<i64>; 2],
    /// The factor of products; `None`: the square root of a head's elements divides them.
    pub(crate) scale: Option<f32>,
    pub(crate) outputs: usize,
}

/// Where DirectML has inputs and outputs.
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

/// Queries, keys or values: a step's heads next to each other, in three dimensions.
struct Steps {
    value: Value,
    batches: u64,
    steps: u64,
    heads: u64,
    /// Of a head.
    elements: u64,
}

impl Steps {
    fn of(operands: &Operands<'_>, at: (usize, &str), heads: Option<i64>) -> Result<Self> {
        let value = operands.value(at.0, at.1)?;
        match *value.shape()? {
            [batches, heads, steps, elements] => {
                let shape = [batches, steps, heads.saturating_mul(elements)];
                let value = operands.reshaped(&value.transposed(&[0, 2, 1, 3]), &shape)?;
                Ok(Self { value, batches, steps, heads, elements })
            }
            [batches, steps, width] => {
                let given = heads.and_then(|it| u64::try_from(it).ok());
                let is_whole = |it: &u64| *it > 0 && width.is_multiple_of(*it);
                let heads = given.filter(is_whole).ok_or_else(|| {
                    let accepted = format!("attributes with the heads of {width} elements");
                    let given = heads.map_or("no number of heads".to_owned(), |it| it.to_string());
                    operands.node.invalid(at.1, given, "divides no step into heads", accepted)
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
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let query = Steps::of(operands, (0, "Q"), self.heads[0])?;
        let key = Steps::of(operands, (1, "K"), self.heads[1])?;
        let value = Steps::of(operands, (2, "V"), self.heads[1])?;
        let element = query.value.element()?;
        let past = operands.optional(4).filter(|it| !it.is_empty());
        let earlier = past.map_or(Ok(0), |it| Ok(it.shape()?.get(2).copied().unwrap_or(0)))?;
        let keys = earlier.saturating_add(key.steps);
        let shape = [1, 1, query.steps, keys];
        let (mask, mask_type) = self.mask(operands, keys)?;
        let biases = self.biases(operands, element, shape, earlier)?;
        let inputs = [
            Some(query.value),
            Some(key.value),
            Some(value.value),
            None,
            None,
            None,
            None,
            mask,
            biases,
            past.cloned(),
            operands.optional(5).filter(|_| past.is_some()).cloned(),
        ];
        let ([b, s, h], g) = ([query.batches, query.steps, query.heads], key.heads);
        let found = [b, s, h.saturating_mul(value.elements)];
        let all = |elements| [b, g, keys, elements];
        let (all_keys, all_values) = (all(key.elements), all(value.elements));
        let shapes: [&[u64]; 3] = [&found, &all_keys, &all_values];
        let count = if self.outputs > 1 { 3 } else { 1 };
        let outputs = shapes.into_iter().take(count);
        let outputs = outputs.map(|it| (Kind { element, shape: it.to_vec() }, it));
        let scale = self.scale.unwrap_or_else(|| 1.0 / (query.elements as f32).sqrt());
        let heads = [h, g].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let mut written =
            by_strides_all(operands, &inputs, outputs.collect(), |inputs, outputs| {
                let outputs = OUTPUTS.into_iter().zip(outputs.into_iter().map(Some));
                let tensors: Vec<_> = INPUTS.into_iter().zip(inputs).chain(outputs).collect();
                operator(&tensors, (scale, heads, mask_type))
            })?;
        if operands.shape(0, "Q")?.len() == 4
            && let Some(found) = written.first_mut()
        {
            let split = operands.reshaped(found, &[b, s, h, value.elements])?;
            *found = split.transposed(&[0, 2, 1, 3]);
        }
        Ok(written)
    }
}

impl Attention {
    /// Which keys count: truth values, or how many there are.
    fn mask(&self, operands: &Operands<'_>, keys: u64) -> Result<(Option<Value>, MaskType)> {
        let truths = given_mask(operands, keys)?.filter(is_bool);
        let lengths = operands.optional(6);
        let mask_type = match (&truths, lengths) {
            (None, None) => return Ok((None, MaskType::None)),
            (Some(_), None) => MaskType::Boolean,
            (None, Some(_)) if !self.is_causal => MaskType::KeySequenceLength,
            _ => {
                let reason = "DirectML has no mask beside the lengths of sequences";
                return Err(operands.node.not_supported(reason));
            }
        };
        let mask = truths.as_ref().or(lengths);
        Ok((mask.map(|it| cast(operands, it, ElementType::INT32)).transpose()?, mask_type))
    }

    /// What is added to scores: a mask of numbers, and what hides later keys.
    fn biases(
        &self,
        operands: &Operands<'_>,
        element: ElementType,
        shape: [u64; 4],
        earlier: u64,
    ) -> Result<Option<Value>> {
        let [.., queries, keys] = shape;
        let given = given_mask(operands, keys)?.filter(|it| !is_bool(it));
        let given = given.map(|it| cast(operands, &it, element)).transpose()?;
        if !self.is_causal {
            return Ok(given);
        }
        operands.budget.take(&shape)?;
        let hidden = convert(f32::NEG_INFINITY.to_bits().into(), ElementType::FLOAT32, element);
        let of_query = |query: u64| {
            let last = query.saturating_add(earlier);
            (0..keys).map(move |key| if key > last { hidden } else { 0 })
        };
        let bits = (0..queries).flat_map(of_query);
        let causal = Value::host(Tensor::of_bits(element, shape.to_vec(), bits)?);
        Ok(Some(match given {
            None => causal,
            Some(given) => ElementWise::new(ADD).apply(operands, &[given, causal])?,
        }))
    }
}

fn is_bool(value: &Value) -> bool {
    value.element == Some(ElementType::Bool)
}

/// The mask in four dimensions; keys that it does not have are masked.
fn given_mask(operands: &Operands<'_>, keys: u64) -> Result<Option<Value>> {
    let Some(mask) = operands.optional(3) else { return Ok(None) };
    let shape = mask.shape()?;
    let ones = vec![1; 4_usize.saturating_sub(shape.len())];
    let mask = operands.reshaped(mask, &[&ones, shape].concat())?;
    let last = mask.shape()?.last().copied().unwrap_or(1);
    if last == 1 || last >= keys {
        return Ok(Some(mask));
    }
    let missing = i64::try_from(keys - last).unwrap_or(i64::MAX);
    let value = if is_bool(&mask) { 0.0 } else { f32::NEG_INFINITY };
    let source = Margins::Attributes { pads: vec![0, 0, 0, 0, 0, 0, 0, missing], value };
    let only = Operands { values: vec![Some(&mask)], ..*operands };
    let padded = Pad { mode: PaddingMode::Constant, source }.evaluate(&only)?;
    Ok(padded.into_iter().next())
}

/// The operator on these tensors, with a factor, heads and the type of the mask.
fn operator(
    tensors: &[(&str, Option<TensorDesc>)],
    (scale, [heads, groups], mask_type): (f32, [u32; 2], MaskType),
) -> Result<AbstractOperator> {
    let schema = if heads == groups { &MULTIHEAD_ATTENTION } else { &MULTIHEAD_ATTENTION1 };
    let value = |field: &FieldSchema| match field.name {
        "Scale" => FieldValue::Float(scale),
        "MaskFilterValue" => FieldValue::Float(f32::NEG_INFINITY),
        "HeadCount" | "QueryHeadCount" => FieldValue::Uint(heads),
        "KeyValueHeadCount" => FieldValue::Uint(groups),
        "MaskType" => FieldValue::Uint(mask_type.dml_value()),
        name => {
            let found = tensors.iter().find(|(it, _)| *it == name);
            FieldValue::Tensor(found.and_then(|(_, tensor)| tensor.clone()))
        }
    };
    AbstractOperator::new(schema, schema.fields.iter().map(value).collect())
        .map_err(|error| Error::malformed(error.to_string()))
}
