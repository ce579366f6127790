//! Element-wise operations: each element of the output is computed from one element of each input.

use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, TensorDesc};

use crate::convert;
use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::graph::dml;
use crate::graph::ops::arithmetic::{ADD, DIVIDE};
use crate::graph::ops::broadcast::{broadcast, source};
use crate::graph::ops::function::Function;
use crate::graph::ops::operands::{ComputeLocation, Operator};
use crate::graph::ops::scalar::{Fold, Scalar};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::strides::Sizes;
use crate::graph::value::{Content, Kind, Value};
use crate::tensor::{Tensor, element_count, host_elements, text};

/// The broadcasting rule for inputs of different shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broadcasting {
    /// NumPy's rule: dimensions are aligned at the last one, and those of size 1 are repeated.
    NumPy,
    /// ONNX's rule before version 7: if broadcasting is allowed, the second input's dimensions are aligned with
    /// the first input's from `axis` on, or at the last one.
    Legacy { is_allowed: bool, axis: Option<i64> },
}

/// An element-wise operation.
#[derive(Debug)]
pub(crate) struct ElementWise {
    pub(crate) function: Function,
    pub(crate) broadcasting: Broadcasting,
    /// The attributes of DirectML's operator, in its order; empty if it has none, or for its defaults.
    pub(crate) attributes: Vec<FieldValue>,
}

impl ElementWise {
    pub(crate) fn new(function: Function) -> Self {
        Self { function, broadcasting: Broadcasting::NumPy, attributes: vec![] }
    }
}

impl Op for ElementWise {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let given = |index| operands.value(index, "inputs").cloned();
        let mut values = (0..operands.values.len()).map(given).collect::<Result<Vec<_>>>()?;
        if let Broadcasting::Legacy { is_allowed, axis } = self.broadcasting {
            align(operands, &mut values, is_allowed, axis)?;
        }
        let result = match values.as_slice() {
            [only] if self.function.is_chain => only.clone(),
            [first, rest @ ..] if self.function.is_chain => {
                let add = |sum: Value, next: &Value| self.apply(operands, &[sum, next.clone()]);
                rest.iter().try_fold(first.clone(), add)?
            }
            all => self.apply(operands, all)?,
        };
        Ok(vec![result])
    }
}

/// Applies a function without attributes to these values.
pub(super) fn apply(
    operands: &NodeInputs<'_>,
    function: Function,
    values: &[Value],
) -> Result<Value> {
    ElementWise::new(function).apply(operands, values)
}

impl ElementWise {
    /// Applies the operation to these values.
    pub(super) fn apply(&self, operands: &NodeInputs<'_>, values: &[Value]) -> Result<Value> {
        let function = &self.function;
        let (element, shape) = self.infer(operands, values)?;
        let output = if function.is_truth { ElementType::Bool } else { element };
        let kind = Kind { element: output, shape };
        if kind.is_empty() {
            return Value::empty(kind);
        }
        if let (Some(fold), Some(bits)) = (function.fold, fills(values)) {
            let scalars = values
                .iter()
                .zip(bits)
                .map(|(value, bits)| Scalar::new(bits, value.element.unwrap_or(element)));
            let scalars: Vec<Scalar> = scalars.collect();
            return Ok(Value::fill(kind, fold(&scalars).bits(output)));
        }
        if let Some(fold) = function.on_host(element).filter(|_| self.attributes.is_empty()) {
            return folded(operands, fold, values, kind);
        }
        let operator = function.operator(element);
        if let Some(fold) = function.fold {
            let is_integer = |it: &Value| it.element.is_some_and(ElementType::is_integer);
            let replaced = match operator {
                Some(_) => Operator::Present,
                None if values.iter().all(is_integer) => Operator::Replaceable,
                // The caller's floats are left to the device.
                None => Operator::Absent,
            };
            let of = NodeInputs { values: values.iter().map(Some).collect(), ..*operands };
            if of.place(element_count(&kind.shape), replaced) == ComputeLocation::Host {
                return folded(operands, fold, values, kind);
            }
        }
        values.iter().try_for_each(Value::check)?;
        if let Some(composition) = function.composition(element) {
            return composition(operands, values);
        }
        let Some(schema) = operator else {
            let reason = function.missing(element);
            return Err(operands.node.not_supported(reason));
        };
        let all: Vec<&Value> = values.iter().collect();
        Ok(dml::element_wise(operands.device, operands.owner, &all, kind, |inputs, output| {
            built(schema, inputs, output, &self.attributes)
                .map_err(|error| operands.node.not_supported(error.to_string()))
        }))
    }

    /// The common type and the broadcast shape of the inputs.
    fn infer(&self, operands: &NodeInputs<'_>, values: &[Value]) -> Result<(ElementType, Sizes)> {
        let node = operands.node;
        let (condition, rest) = match (self.function.has_condition, values) {
            (true, [condition, rest @ ..]) => (Some(condition), rest),
            (_, all) => (None, all),
        };
        let Some(first) = rest.first() else {
            return Err(node.invalid("inputs", values.len(), "is the wrong number", "more"));
        };
        if let Some(condition) = condition {
            operands.type_is(condition.element()?, &[ElementType::Bool], "condition")?;
        }
        let element = first.element()?;
        if let Some(accepted) = self.function.refusal(element) {
            return Err(node.invalid("inputs", element, "is the wrong type", accepted));
        }
        let mut shape = Sizes::from(first.shape()?);
        for value in rest.iter().skip(1).chain(condition) {
            let is_condition = condition.is_some_and(|condition| std::ptr::eq(condition, value));
            let same = is_condition || self.function.has_exponent || value.element()? == element;
            let both = broadcast(&shape, value.shape()?).filter(|_| same);
            let Some(both) = both else {
                let given = format!("{} {}", value.element()?, text(value.shape()?));
                let accepted = format!("{element} {}", text(&shape));
                return Err(node.invalid("inputs", given, "does not fit", accepted));
            };
            shape = both;
        }
        Ok((element, shape))
    }
}

/// The mean of the inputs, which are floats.
#[derive(Debug)]
pub(crate) struct Mean;

impl Op for Mean {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let element = operands.value(0, "inputs")?.element()?;
        if element.is_integer() {
            return Err(operands.node.invalid("inputs", element, "is the wrong type", "floats"));
        }
        let sum = ElementWise::new(ADD).evaluate(operands)?;
        let [sum] = sum.as_slice() else { return Ok(sum) };
        if operands.values.len() == 1 {
            return Ok(vec![sum.clone()]);
        }
        let count = convert::from_integer(operands.values.len() as i128, element);
        let count = Value::scalar(element, count);
        ElementWise::new(DIVIDE).apply(operands, &[sum.clone(), count]).map(|it| vec![it])
    }
}

/// The operator with these tensors and attributes.
pub(super) fn built(
    schema: &'static OperatorSchema,
    inputs: Vec<TensorDesc>,
    output: TensorDesc,
    attributes: &[FieldValue],
) -> Result<AbstractOperator, dml_core::Error> {
    let (mut inputs, mut output) = (inputs.into_iter(), Some(output));
    let mut attributes = attributes.iter().cloned();
    let fields = schema.fields.iter().map(|field| match field.kind {
        FieldKind::Input => FieldValue::Tensor(inputs.next()),
        FieldKind::Output => FieldValue::Tensor(output.take()),
        FieldKind::Attribute => attributes.next().unwrap_or_else(|| field.field_type.empty_value()),
    });
    AbstractOperator::new(schema, fields.collect())
}

/// The bits of every value, if each is the same everywhere.
fn fills(values: &[Value]) -> Option<Vec<u64>> {
    let bits = |value: &Value| match value.content {
        Content::Fill(bits) => Some(bits),
        _ => None,
    };
    values.iter().map(bits).collect()
}

fn folded(operands: &NodeInputs<'_>, fold: Fold, values: &[Value], kind: Kind) -> Result<Value> {
    let count = host_elements(&kind.shape)?;
    let tensors =
        values.iter().map(|value| operands.read(value)).collect::<Result<Vec<Tensor>>>()?;
    let bits: Vec<Vec<u64>> = tensors.iter().map(|tensor| tensor.bits().collect()).collect();
    let mut scalars = Vec::with_capacity(values.len());
    let folded = (0..count).map(|index| {
        scalars.clear();
        for (tensor, bits) in tensors.iter().zip(&bits) {
            let at = source(index, &kind.shape, tensor.shape());
            scalars.push(Scalar::new(bits[at], tensor.element_type()));
        }
        fold(&scalars).bits(kind.element)
    });
    let folded: Vec<u64> = folded.collect();
    Tensor::of_bits(kind.element, kind.shape.into_vec(), folded).map(Value::host)
}

/// Reshapes the second value so that it aligns with the first one.
fn align(
    operands: &NodeInputs<'_>,
    values: &mut [Value],
    is_allowed: bool,
    axis: Option<i64>,
) -> Result<()> {
    let [a, b] = values else { return Ok(()) };
    let (first, second) = (a.shape()?.to_vec(), b.shape()?.to_vec());
    let refused = |problem: &str| -> Error {
        operands.node.invalid("B", text(&second), problem, format!("as in {}", text(&first)))
    };
    if !is_allowed {
        return if first == second { Ok(()) } else { Err(refused("is another shape")) };
    }
    let Some(last) = first.len().checked_sub(second.len()) else {
        return Err(refused("has more dimensions"));
    };
    let start = match axis {
        Some(axis) => operands.axis(axis, first.len().max(1), "attribute axis")?,
        None => last,
    };
    if start > last {
        return Err(refused("has too many dimensions after the attribute axis"));
    }
    let aligned = [second.as_slice(), &vec![1; last - start]].concat();
    let fits = |(own, other): (&u64, &u64)| own == other || *own == 1;
    if !aligned.iter().zip(&first[start..]).all(fits) {
        return Err(refused("does not fit the dimensions of A"));
    }
    *b = operands.reshaped(b, &aligned)?;
    Ok(())
}
