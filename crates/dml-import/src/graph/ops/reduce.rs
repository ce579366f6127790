//! Reductions, on the device, and on the host for values that shapes are computed from.

use dml_core::operators::{ARGMAX, ARGMIN, ReduceDesc};
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, AxisDirection, FieldValue, ReduceFunction, TensorDesc};

use crate::convert::{from_float, from_integer};
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::DIVIDE;
use crate::graph::ops::cast::cast;
use crate::graph::ops::clip::ends;
use crate::graph::ops::double::{self, DOUBLE};
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::operands::{ComputeLocation, Operator};
use crate::graph::ops::packed::{self, Use, dimension};
use crate::graph::ops::scalar::Scalar;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::strides::{packed as packed_strides, positions};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, element_count, host_elements, text};

/// A reduction along some dimensions.
#[derive(Debug)]
pub(crate) struct Reduce {
    pub(crate) function: ReduceFunction,
    /// `None`: the second input holds the axes; without that, all dimensions are reduced.
    pub(crate) axes: Option<Vec<i64>>,
    pub(crate) keeps_dimensions: bool,
    /// Whether an empty list of axes means no reduction rather than all axes.
    pub(crate) is_none_of_none: bool,
}

impl Op for Reduce {
    fn need(&self, input: usize) -> Need {
        if input == 1 { Need::Host } else { Need::Elements }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let (element, shape) = (data.element()?, data.shape()?);
        let axes = match &self.axes {
            None if operands.optional(1).is_some() => operands.vector(1, "axes")?,
            axes => axes.clone().unwrap_or_default(),
        };
        let is_reduced = match axes.is_empty() {
            true => vec![!self.is_none_of_none; shape.len()],
            false => along(operands, &axes, shape.len())?,
        };
        if axes.is_empty() && self.is_none_of_none && keeps_one(self.function) {
            return Ok(vec![data.clone()]);
        }
        let kind = Kind { element, shape: kept(shape, &is_reduced, self.keeps_dimensions).into() };
        if let Some(empty) = of_no_elements(data, &kind, self.function) {
            return Ok(vec![empty]);
        }
        if element == DOUBLE && !kind.is_empty() {
            let wide = double_reduced(operands, data, &is_reduced, self.function)?;
            return Ok(vec![operands.reshaped(&wide, &kind.shape)?]);
        }
        let is_integer = element.is_integer() && element != ElementType::Bool;
        let only = NodeInputs { values: vec![Some(data)], ..*operands };
        let of_host = is_integer && self.is_of_host();
        let operator = match self.has_operator(element) {
            true => Operator::Present,
            false => Operator::Replaceable,
        };
        if of_host && only.place(element_count(shape), operator) == ComputeLocation::Host {
            data.check()?;
            let tensor = operands.read(data)?;
            return Ok(vec![Value::host(self.reduced(&tensor, &is_reduced)?)]);
        }
        let result = match is_integer && !self.is_of_device() {
            true => self.of_integers(operands, data, &is_reduced, kind)?,
            false => reduced_to(operands, data, &is_reduced, kind, self.function)?,
        };
        Ok(vec![result])
    }
}

/// The reduction of `data`, with reduced dimensions kept at size 1.
pub(super) fn reduced(
    operands: &NodeInputs<'_>,
    data: &Value,
    is_reduced: &[bool],
    function: ReduceFunction,
) -> Result<Value> {
    let kind =
        Kind { element: data.element()?, shape: kept(data.shape()?, is_reduced, true).into() };
    reduced_to(operands, data, is_reduced, kind, function)
}

fn reduced_to(
    operands: &NodeInputs<'_>,
    data: &Value,
    is_reduced: &[bool],
    kind: Kind,
    function: ReduceFunction,
) -> Result<Value> {
    if let Some(empty) = of_no_elements(data, &kind, function) {
        return Ok(empty);
    }
    if kind.element == DOUBLE && !kind.is_empty() {
        let wide = double_reduced(operands, data, is_reduced, function)?;
        return operands.reshaped(&wide, &kind.shape);
    }
    on_device(operands, data, is_reduced, kind, |input_tensor, output_tensor, axes| {
        ReduceDesc { function, input_tensor, output_tensor, axes }.into()
    })
}

/// The reduction of FLOAT64 on the host, with reduced dimensions kept at size 1.
fn double_reduced(
    operands: &NodeInputs<'_>,
    data: &Value,
    is_reduced: &[bool],
    function: ReduceFunction,
) -> Result<Value> {
    let tensor = operands.read(data)?;
    let shape = kept(tensor.shape(), is_reduced, true);
    let strides = strides_of_results(&shape, is_reduced);
    double::reduced(function, &tensor, shape, &strides).map(Value::host)
}

/// For each dimension of the data, how far apart the results of neighbouring elements are.
fn strides_of_results(results: &[u64], is_reduced: &[bool]) -> Vec<u64> {
    let strides = packed_strides(results).into_iter().zip(is_reduced);
    strides.map(|(stride, is_reduced)| if *is_reduced { 0 } else { stride }).collect()
}

/// The reduction of data without elements; `None` if it has elements, or if the result has none either.
fn of_no_elements(data: &Value, kind: &Kind, function: ReduceFunction) -> Option<Value> {
    let is_of_none = data.is_empty() && !kind.is_empty();
    is_of_none.then(|| Value::fill(kind.clone(), of_none(function, kind.element)))
}

/// The bits of a reduction of no elements.
fn of_none(function: ReduceFunction, element: ElementType) -> u64 {
    let (least, greatest) = ends(element);
    match function {
        ReduceFunction::Multiply => element.one(),
        ReduceFunction::Min => greatest,
        ReduceFunction::Max | ReduceFunction::LogSum | ReduceFunction::LogSumExp => least,
        ReduceFunction::Average => from_float(f64::NAN, element),
        _ => 0,
    }
}

/// Whether the reduction of a single element is that element.
fn keeps_one(function: ReduceFunction) -> bool {
    use ReduceFunction::{Average, LogSumExp, Max, Min, Multiply, Sum};
    matches!(function, Average | LogSumExp | Max | Min | Multiply | Sum)
}

/// For each of `rank` dimensions, whether `axes` has it.
pub(super) fn along(operands: &NodeInputs<'_>, axes: &[i64], rank: usize) -> Result<Vec<bool>> {
    let mut is_reduced = vec![false; rank];
    for axis in axes {
        is_reduced[operands.axis(*axis, rank, "axes")?] = true;
    }
    Ok(is_reduced)
}

/// The shape of a reduction's result.
fn kept(shape: &[u64], is_reduced: &[bool], keeps_dimensions: bool) -> Vec<u64> {
    let sizes = shape.iter().zip(is_reduced);
    let sizes = sizes.filter(|(_, is_reduced)| keeps_dimensions || !**is_reduced);
    sizes.map(|(size, is_reduced)| if *is_reduced { 1 } else { *size }).collect()
}

/// The number of elements that are reduced to one.
fn row_length(shape: &[u64], is_reduced: &[bool]) -> u64 {
    let sizes = shape.iter().zip(is_reduced).filter(|(_, is_reduced)| **is_reduced);
    sizes.fold(1, |length, (size, _)| length.saturating_mul(*size))
}

/// The shape that every level accepts: where it has more dimensions, or none, neighbouring ones are merged if both are reduced,
/// or both are not; and which dimensions are reduced. Else dimensions stay as nodes around the reduction have them, so
/// that one kernel may have all.
fn folded(shape: &[u64], is_reduced: &[bool]) -> (Vec<u64>, Vec<bool>) {
    if (1..=packed::LEAST_RANK).contains(&shape.len()) {
        return (shape.to_vec(), is_reduced.to_vec());
    }
    let (mut sizes, mut along) = (vec![1], vec![is_reduced.first().copied().unwrap_or(true)]);
    for (size, is_reduced) in shape.iter().zip(is_reduced) {
        if along.last() == Some(is_reduced) {
            let last = sizes.pop().unwrap_or(1_u64);
            sizes.push(last.saturating_mul(*size));
        } else {
            sizes.push(*size);
            along.push(*is_reduced);
        }
    }
    (sizes, along)
}

/// DirectML's indices of the reduced dimensions.
pub(super) fn axes_of(along: &[bool]) -> Vec<u32> {
    let axes = along.iter().enumerate().filter(|(_, is_along)| **is_along);
    axes.map(|(at, _)| dimension(at, along.len())).collect()
}

/// Adds the operator that `build` makes of the input's and output's tensors and the axes.
fn on_device(
    operands: &NodeInputs<'_>,
    data: &Value,
    is_reduced: &[bool],
    output: Kind,
    build: impl FnOnce(TensorDesc, TensorDesc, Vec<u32>) -> AbstractOperator,
) -> Result<Value> {
    let (sizes, along) = folded(data.shape()?, is_reduced);
    let (seen, axes) = (kept(&sizes, &along, true), axes_of(&along));
    let inputs = [(data, sizes.as_slice())];
    packed::write(operands, Use::Computed, &inputs, output, &seen, |mut inputs, output| {
        build(inputs.remove(0), output, axes)
    })
}

/// The indices of the greatest or least elements along an axis (ArgMax and ArgMin).
#[derive(Debug)]
pub(crate) struct Extreme {
    pub(crate) schema: &'static OperatorSchema,
    pub(crate) axis: i64,
    pub(crate) keeps_dimensions: bool,
    /// Whether the last of equal elements is selected, rather than the first.
    pub(crate) is_last: bool,
}

pub(crate) const GREATEST: &OperatorSchema = &ARGMAX;
pub(crate) const LEAST: &OperatorSchema = &ARGMIN;

impl Op for Extreme {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let shape = data.shape()?;
        let is_reduced = along(operands, &[self.axis], shape.len())?;
        let shape = kept(shape, &is_reduced, self.keeps_dimensions);
        let kind = Kind { element: ElementType::INT64, shape: shape.into() };
        if data.is_empty() && !kind.is_empty() {
            let (given, accepted) = (text(data.shape()?), "at least one element along the axis");
            return Err(operands.node.invalid(
                "data",
                given,
                "has nothing to choose from",
                accepted,
            ));
        }
        let direction =
            if self.is_last { AxisDirection::Decreasing } else { AxisDirection::Increasing };
        let result = on_device(operands, data, &is_reduced, kind, |input, output, axes| {
            let fields = vec![
                FieldValue::Tensor(Some(input)),
                FieldValue::Tensor(Some(output)),
                FieldValue::Uint(1),
                FieldValue::UintArray(axes),
                FieldValue::Uint(direction.dml_value()),
            ];
            AbstractOperator::new(self.schema, fields).expect("the schema's fields")
        });
        Ok(vec![result?])
    }
}

impl Reduce {
    /// Whether the host computes this reduction of integers.
    fn is_of_host(&self) -> bool {
        use ReduceFunction::{Average, L1, Max, Min, Multiply, Sum, SumSquare};
        matches!(self.function, Average | L1 | Max | Min | Multiply | Sum | SumSquare)
    }

    /// Whether DirectML computes this reduction of integers.
    fn is_of_device(&self) -> bool {
        use ReduceFunction::{Average, L2, LogSum, LogSumExp};
        !matches!(self.function, Average | L2 | LogSum | LogSumExp)
    }

    /// Reductions of integers in another type: means are quotients of 64-bit sums, rounded toward zero, and
    /// functions with roots or logarithms are computed in FLOAT32.
    fn of_integers(
        &self,
        operands: &NodeInputs<'_>,
        data: &Value,
        is_reduced: &[bool],
        kind: Kind,
    ) -> Result<Value> {
        let through = match (self.function, kind.element) {
            (ReduceFunction::Average, ElementType::UINT64) => ElementType::UINT64,
            (ReduceFunction::Average, _) => ElementType::INT64,
            _ => ElementType::FLOAT32,
        };
        let (element, kind) = (kind.element, Kind { element: through, ..kind });
        let data = cast(operands, data, through)?;
        let result = match self.function {
            ReduceFunction::Average => {
                let count = row_length(data.shape()?, is_reduced);
                let sum = reduced_to(operands, &data, is_reduced, kind, ReduceFunction::Sum)?;
                let count = Value::scalar(through, from_integer(count.into(), through));
                apply(operands, DIVIDE, &[sum, count])?
            }
            function => reduced_to(operands, &data, is_reduced, kind, function)?,
        };
        cast(operands, &result, element)
    }

    /// Whether REDUCE supports this integer type: its sums and products are of 32 and 64 bits only.
    fn has_operator(&self, element: ElementType) -> bool {
        use ReduceFunction::{Max, Min};
        matches!(self.function, Max | Min) || element.size().is_some_and(|size| size >= 4)
    }

    fn reduced(&self, tensor: &Tensor, is_reduced: &[bool]) -> Result<Tensor> {
        let (element, shape) = (tensor.element_type(), tensor.shape());
        let kept_sizes = kept(shape, is_reduced, true);
        let strides = strides_of_results(&kept_sizes, is_reduced);
        let mut results = vec![None; host_elements(&kept_sizes)?];
        host_elements(shape)?;
        let at = positions(shape, &strides);
        for (bits, at) in tensor.bits().zip(at) {
            let Scalar::Integer(value) = Scalar::new(bits, element) else { continue };
            let value = self.alone(value);
            results[at] = Some(results[at].map_or(value, |before| self.both(before, value)));
        }
        let count = i128::from(row_length(shape, is_reduced));
        let bits = results.into_iter().map(|result| match (self.function, result) {
            (_, None) => of_none(self.function, element),
            (ReduceFunction::Average, Some(sum)) => Scalar::Integer(sum / count).bits(element),
            (_, Some(result)) => Scalar::Integer(result).bits(element),
        });
        let shape = kept(shape, is_reduced, self.keeps_dimensions);
        Tensor::of_bits(element, shape, bits)
    }

    /// The term of a single element in the reduction's sum or product.
    fn alone(&self, value: i128) -> i128 {
        match self.function {
            ReduceFunction::L1 => value.abs(),
            ReduceFunction::SumSquare => value.wrapping_mul(value),
            _ => value,
        }
    }

    fn both(&self, a: i128, b: i128) -> i128 {
        match self.function {
            ReduceFunction::Multiply => a.wrapping_mul(b),
            ReduceFunction::Min => a.min(b),
            ReduceFunction::Max => a.max(b),
            _ => a.wrapping_add(b),
        }
    }
}
