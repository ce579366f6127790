//! Normalizations by mean and variance or by a norm, and cumulative sums and products.

mod batch;

use dml_core::operators::{
    CUMULATIVE_PRODUCT, CUMULATIVE_SUMMATION, ELEMENT_WISE_RECIP, ELEMENT_WISE_SQRT,
    LpNormalizationDesc, MeanVarianceNormalization1Desc, MeanVarianceNormalization2Desc,
};
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, AxisDirection, FieldValue, ReduceFunction, TensorDesc};

use crate::convert::from_float;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, DIVIDE, MULTIPLY, SUBTRACT};
use crate::graph::ops::broadcast::broadcast;
use crate::graph::ops::cast::cast;
use crate::graph::ops::double::{self, DOUBLE};
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::packed::{self, Use, around, count, dimension};
use crate::graph::ops::reduce::{along, axes_of, reduced};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;

pub(crate) use batch::{BatchNormalize, BatchTraining};

/// The elements that share a mean and a variance.
#[derive(Debug)]
pub(crate) enum Common {
    /// Instance normalization: one channel of one batch element.
    Channel,
    /// Group normalization: groups of channels of one batch element; scales are per channel, or per group.
    Group { groups: i64, by_channel: bool },
    /// Layer normalization: all dimensions from this axis on.
    From(i64),
}

/// Elements minus their mean, divided by the standard deviation; or without a mean, divided by the root mean
/// square.
#[derive(Debug)]
pub(crate) struct Normalize {
    pub(crate) common: Common,
    pub(crate) has_mean: bool,
    pub(crate) epsilon: f32,
    /// The number of outputs: the result, the means, and the reciprocals of deviations.
    pub(crate) outputs: usize,
}

/// The merged dimensions that DirectML's operator normalizes.
struct Layout {
    sizes: Vec<u64>,
    is_along: Vec<bool>,
    /// The shape of scales and biases.
    of_scales: Vec<u64>,
}

impl Normalize {
    fn layout(&self, operands: &NodeInputs<'_>, shape: &[u64]) -> Result<Layout> {
        Ok(match &self.common {
            Common::Channel => {
                let [batch, channels, rest] = channels(operands, shape)?;
                let of_scales = vec![1, channels, 1];
                let is_along = vec![false, false, true];
                Layout { sizes: vec![batch, channels, rest], is_along, of_scales }
            }
            Common::Group { groups, by_channel } => {
                let [batch, channels, rest] = channels(operands, shape)?;
                let groups = u64::try_from(*groups).ok();
                let groups = groups.filter(|group| *group > 0 && channels.is_multiple_of(*group));
                let groups = groups.ok_or_else(|| {
                    let accepted = format!("a divisor of {channels}");
                    operands.node.invalid(
                        "attribute num_groups",
                        text(shape),
                        "are not groups",
                        accepted,
                    )
                })?;
                let each = channels / groups;
                let is_along = vec![false, false, true, true];
                let of_scales = vec![1, groups, if *by_channel { each } else { 1 }, 1];
                Layout { sizes: vec![batch, groups, each, rest], is_along, of_scales }
            }
            Common::From(axis) => {
                let axis = operands.axis(*axis, shape.len(), "attribute axis")?;
                let row = count(&shape[axis..]);
                let sizes = vec![count(&shape[..axis]), row];
                Layout { sizes, is_along: vec![false, true], of_scales: vec![1, row] }
            }
        })
    }

    /// A scale or a bias, and its shape for the operator.
    fn scale(
        &self,
        operands: &NodeInputs<'_>,
        given: (&Value, &str),
        input: &Value,
        layout: &Layout,
    ) -> Result<(Value, Vec<u64>)> {
        let (element, shape) = (input.element()?, input.shape()?);
        let Common::From(axis) = self.common else {
            let value = of_channels(operands, given, count(&layout.of_scales), element)?;
            return Ok((value, layout.of_scales.clone()));
        };
        let axis = operands.axis(axis, shape.len(), "attribute axis")?;
        let (value, differs) = repeated(operands, given, (shape, axis), element)?;
        Ok((value, if differs { layout.sizes.clone() } else { layout.of_scales.clone() }))
    }

    /// The means along the normalized dimensions, and the reciprocals of the deviations; FLOAT32 whatever the
    /// input is.
    fn moments(&self, operands: &NodeInputs<'_>, input: &Value) -> Result<Vec<Value>> {
        let Common::From(axis) = self.common else { return Ok(vec![]) };
        let input = &cast(operands, input, ElementType::FLOAT32)?;
        let (element, rank) = (input.element()?, input.shape()?.len());
        let axis = operands.axis(axis, rank, "attribute axis")?;
        let is_along: Vec<bool> = (0..rank).map(|at| at >= axis).collect();
        let average = |value: &Value| reduced(operands, value, &is_along, ReduceFunction::Average);
        let of = |function, values: &[Value]| apply(operands, function, values);
        let unary = |schema, value| of(Function::new(Types::Numbers, schema), &[value]);
        let mean = average(input)?;
        let distance = of(SUBTRACT, &[input.clone(), mean.clone()])?;
        let variance = average(&of(MULTIPLY, &[distance.clone(), distance])?)?;
        let epsilon = from_float(self.epsilon.into(), element);
        let epsilon = Value::scalar(element, epsilon);
        let deviation = unary(&ELEMENT_WISE_SQRT, of(ADD, &[variance, epsilon])?)?;
        Ok(vec![mean, unary(&ELEMENT_WISE_RECIP, deviation)?])
    }
}

/// The sizes of the batch, of the channels, and of all other dimensions together.
fn channels(operands: &NodeInputs<'_>, shape: &[u64]) -> Result<[u64; 3]> {
    match shape.len() {
        0 | 1 => {
            let accepted = "two dimensions at least";
            Err(operands.node.invalid("input", text(shape), "has no channels", accepted))
        }
        _ => Ok(around(shape, 1)),
    }
}

/// A scale, a bias or a moment with one element for each of `count` channels, converted to the operator's type.
fn of_channels(
    operands: &NodeInputs<'_>,
    (value, name): (&Value, &str),
    count: u64,
    element: ElementType,
) -> Result<Value> {
    let shape = value.shape()?;
    if shape != [count] {
        let accepted = text(&[count]);
        return Err(operands.node.invalid(name, text(shape), "is the wrong shape", accepted));
    }
    cast(operands, value, element)
}

/// A scale or a bias broadcast to `shape`, which is normalized from `axis` on; and whether it differs between
/// rows.
fn repeated(
    operands: &NodeInputs<'_>,
    (value, name): (&Value, &str),
    (shape, axis): (&[u64], usize),
    element: ElementType,
) -> Result<(Value, bool)> {
    let own = value.shape()?;
    if broadcast(shape, own).is_none_or(|both| both.as_slice() != shape) {
        let accepted = format!("shapes that are repeated to {}", text(shape));
        return Err(operands.node.invalid(name, text(own), "is the wrong shape", accepted));
    }
    let value = cast(operands, value, element)?;
    let (outer, of_row) = own.split_at(own.len().saturating_sub(shape.len() - axis));
    if outer.iter().any(|size| *size != 1) {
        return Ok((value.broadcast(shape), true));
    }
    Ok((operands.reshaped(&value, of_row)?.broadcast(&shape[axis..]), false))
}

/// Adds the operator that `build` makes for values in these shapes; its output has the shape and type of the
/// first one.
fn write(
    operands: &NodeInputs<'_>,
    values: &[(&Value, &[u64])],
    build: impl FnOnce(Vec<TensorDesc>, TensorDesc) -> AbstractOperator,
) -> Result<Value> {
    let (first, seen) = values[0];
    packed::write(operands, Use::Computed, values, first.kind()?, seen, build)
}

impl Op for Normalize {
    /// Means and deviations.
    fn keeps_single(&self, output: usize) -> bool {
        output > 0
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "X")?;
        let layout = self.layout(operands, input.shape()?)?;
        let (has_mean, epsilon) = (self.has_mean, self.epsilon);
        let mut others = vec![];
        for (at, name) in [(1, "scale"), (2, "bias")] {
            let Some(value) = operands.optional(at) else { continue };
            others.push(self.scale(operands, (value, name), input, &layout)?);
        }
        let mut values = vec![(input, layout.sizes.as_slice())];
        values.extend(others.iter().map(|(value, shape)| (value, shape.as_slice())));
        let axes = axes_of(&layout.is_along);
        let result = write(operands, &values, |inputs, output_tensor| {
            let mut inputs = inputs.into_iter();
            let (input_tensor, scale_tensor, bias_tensor) =
                (inputs.next().expect("the input"), inputs.next(), inputs.next());
            let fused_activation = None;
            match has_mean {
                true => MeanVarianceNormalization1Desc {
                    input_tensor,
                    scale_tensor,
                    bias_tensor,
                    output_tensor,
                    axes,
                    normalize_variance: true,
                    epsilon,
                    fused_activation,
                }
                .into(),
                false => MeanVarianceNormalization2Desc {
                    input_tensor,
                    scale_tensor,
                    bias_tensor,
                    output_tensor,
                    axes,
                    use_mean: false,
                    use_variance: true,
                    epsilon,
                    fused_activation,
                }
                .into(),
            }
        });
        let mut result = result?;
        if let Some(scale) = operands.optional(1).filter(|_| !has_mean) {
            result = cast(operands, &result, scale.element()?)?;
        }
        let mut outputs = vec![result];
        if self.outputs > 1 {
            outputs.extend(self.moments(operands, input)?);
        }
        Ok(outputs)
    }
}

/// ONNX's MeanVarianceNormalization: it adds epsilon to the deviation, while DirectML adds it to the variance.
#[derive(Debug)]
pub(crate) struct Standardize {
    pub(crate) axes: Vec<i64>,
}

impl Op for Standardize {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        const SINGLE: ElementType = ElementType::FLOAT32;
        let input = operands.value(0, "X")?;
        let element = input.element()?;
        operands.type_is(element, &[SINGLE, ElementType::FLOAT16], "X")?;
        let is_along = along(operands, &self.axes, input.shape()?.len())?;
        let average = |value: &Value| reduced(operands, value, &is_along, ReduceFunction::Average);
        let of = |function, values: &[Value]| apply(operands, function, values);
        let centered = |value: Value| of(SUBTRACT, &[value.clone(), average(&value)?]);
        // Subtracted twice: otherwise the mean's rounding error would become the deviation of equal elements.
        let distance = centered(centered(cast(operands, input, SINGLE)?)?)?;
        let variance = average(&of(MULTIPLY, &[distance.clone(), distance.clone()])?)?;
        let root = Function::new(Types::Numbers, &ELEMENT_WISE_SQRT);
        let epsilon = Value::scalar(SINGLE, from_float(1e-9, SINGLE));
        let deviation = of(ADD, &[of(root, &[variance])?, epsilon])?;
        let result = of(DIVIDE, &[distance, deviation])?;
        Ok(vec![cast(operands, &result, element)?])
    }
}

/// Elements divided by the Lp norm of their row; 0 if the norm is 0.
#[derive(Debug)]
pub(crate) struct NormOfRow {
    pub(crate) axis: i64,
    pub(crate) p: u32,
}

impl Op for NormOfRow {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "input")?;
        let axis = operands.axis(self.axis, input.shape()?.len(), "attribute axis")?;
        let sizes = around(input.shape()?, axis);
        let p = self.p;
        // Less than the norm of any row that is not all zeros.
        let epsilon = match input.element()? {
            ElementType::FLOAT32 => f32::from_bits(1),
            _ => f32::MIN_POSITIVE,
        };
        let result = write(operands, &[(input, &sizes)], |mut inputs, output_tensor| {
            let (input_tensor, axis) = (inputs.remove(0), dimension(1, 3));
            LpNormalizationDesc { input_tensor, output_tensor, axis, epsilon, p }.into()
        });
        Ok(vec![result?])
    }
}

/// Cumulative sums or products along an axis.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) schema: &'static OperatorSchema,
    pub(crate) is_exclusive: bool,
    pub(crate) is_reversed: bool,
}

pub(crate) const SUMS: &OperatorSchema = &CUMULATIVE_SUMMATION;
pub(crate) const PRODUCTS: &OperatorSchema = &CUMULATIVE_PRODUCT;

impl Op for Running {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let input = operands.value(0, "x")?;
        let axis = operands.axis(operands.scalar(1, "axis")?, input.shape()?.len(), "axis")?;
        let sizes = around(input.shape()?, axis);
        if input.element()? == DOUBLE && !input.is_empty() {
            let running = double::Running {
                is_product: std::ptr::eq(self.schema, PRODUCTS),
                is_exclusive: self.is_exclusive,
                is_reversed: self.is_reversed,
            };
            return Ok(vec![Value::host(running.of(&operands.read(input)?, sizes)?)]);
        }
        let direction = match self.is_reversed {
            true => AxisDirection::Decreasing,
            false => AxisDirection::Increasing,
        };
        let result = write(operands, &[(input, &sizes)], |mut inputs, output| {
            let tensors = [inputs.remove(0), output].map(|it| FieldValue::Tensor(Some(it)));
            let attributes = [
                FieldValue::Uint(dimension(1, 3)),
                FieldValue::Uint(direction.dml_value()),
                FieldValue::Bool(self.is_exclusive),
            ];
            let fields = tensors.into_iter().chain(attributes).collect();
            AbstractOperator::new(self.schema, fields).expect("the schema's fields")
        });
        Ok(vec![result?])
    }
}
