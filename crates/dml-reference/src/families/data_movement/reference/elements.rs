//! The element of the input that each element of an output is.

use dml_core::schema::FieldKind;
use dml_core::{DepthSpaceOrder, Error, FieldValue, PaddingMode, TensorLayout, Validated};

use crate::value;

/// The source of an output's element.
pub(super) enum Element {
    /// The element of the input at a coordinate.
    At(Vec<u32>),
    /// A constant, given by its bits.
    Bits(u64),
    /// The sum of the elements of the input at these coordinates.
    Sum(Vec<Vec<u32>>),
}

/// The input's and the output's layout.
pub(super) fn tensors(operator: &Validated) -> Result<[&TensorLayout; 2], Error> {
    let missing = || Error::internal(operator.schema().name, "a tensor is missing");
    let only =
        |kind| operator.present_tensors(kind).map(|(_, tensor)| tensor).next().ok_or_else(missing);
    Ok([only(FieldKind::Input)?, only(FieldKind::Output)?])
}

/// The element of the input at a coordinate.
fn at(coordinate: impl IntoIterator<Item = i64>) -> Element {
    let size = |at: i64| u32::try_from(at).expect("validated: within the input");
    Element::At(coordinate.into_iter().map(size).collect())
}

pub(super) fn slice(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let (offsets, strides) = (operator.uint_array("Offsets")?, operator.uint_array("Strides")?);
    let from = |dimension: usize| {
        i64::from(offsets[dimension]) + i64::from(strides[dimension]) * i64::from(output[dimension])
    };
    Ok(at((0..output.len()).map(from)))
}

/// The coordinate at which SLICE1 starts to copy.
fn copy_start(operator: &Validated) -> Result<Vec<i64>, Error> {
    let sizes = operator.uint_array("InputWindowSizes")?;
    let strides = operator.int_array("InputWindowStrides")?;
    let mut start: Vec<i64> =
        operator.uint_array("InputWindowOffsets")?.iter().map(|it| i64::from(*it)).collect();
    for dimension in 0..start.len() {
        if strides[dimension] < 0 {
            start[dimension] += i64::from(sizes[dimension]) - 1;
        }
    }
    Ok(start)
}

pub(super) fn slice1(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let strides = operator.int_array("InputWindowStrides")?.iter();
    let start = copy_start(operator)?.into_iter();
    let steps = strides.zip(output).map(|(stride, at)| i64::from(*stride) * i64::from(*at));
    Ok(at(start.zip(steps).map(|(start, step)| start + step)))
}

/// The element that SLICE1 would copy from here; 0 if there is none.
pub(super) fn slice_grad(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let [input, _] = tensors(operator)?;
    let strides = operator.int_array("InputWindowStrides")?;
    let mut from = vec![];
    for (dimension, start) in copy_start(operator)?.into_iter().enumerate() {
        let (stride, distance) =
            (i64::from(strides[dimension]), i64::from(output[dimension]) - start);
        let step = distance / stride;
        if distance % stride != 0 || step < 0 || step >= i64::from(input.sizes()[dimension]) {
            return Ok(Element::Bits(0));
        }
        from.push(step);
    }
    Ok(at(from))
}

pub(super) fn tile(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let [input, _] = tensors(operator)?;
    Ok(Element::At(output.iter().zip(input.sizes()).map(|(at, size)| at % size).collect()))
}

/// The index of a channel of the deeper tensor: `[block row, block column, channel]` combined, or `[channel,
/// block row, block column]`.
fn depth_channel(
    operator: &Validated,
    channels: u32,
    [channel, row, column]: [u32; 3],
) -> Result<u32, Error> {
    let block = operator.uint("BlockSize")?;
    let has_order = operator.schema().has_field("Order");
    let order = if has_order { operator.uint("Order")? } else { 0 };
    Ok(match order == DepthSpaceOrder::ColumnRowDepth.dml_value() {
        false => (row * block + column) * channels + channel,
        true => (channel * block + row) * block + column,
    })
}

pub(super) fn depth_to_space(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let [_, space] = tensors(operator)?;
    let block = operator.uint("BlockSize")?;
    let [batch, channel, y, x] = [0, 1, 2, 3].map(|dimension| output[dimension]);
    let inside = [channel, y % block, x % block];
    let channel = depth_channel(operator, space.sizes()[1], inside)?;
    Ok(Element::At(vec![batch, channel, y / block, x / block]))
}

/// The element that DEPTH_TO_SPACE would move here.
pub(super) fn space_to_depth(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let [space, _] = tensors(operator)?;
    let (block, channels) = (operator.uint("BlockSize")?, space.sizes()[1]);
    let [batch, deep, y, x] = [0, 1, 2, 3].map(|dimension| output[dimension]);
    for channel in 0..channels {
        for (row, column) in (0..block).flat_map(|row| (0..block).map(move |it| (row, it))) {
            if depth_channel(operator, channels, [channel, row, column])? == deep {
                return Ok(Element::At(vec![batch, channel, y * block + row, x * block + column]));
            }
        }
    }
    Err(Error::internal(operator.schema().name, "no element becomes this one"))
}

pub(super) fn padding(operator: &Validated, output: &[u32]) -> Result<Element, Error> {
    let [input, _] = tensors(operator)?;
    let start = operator.uint_array("StartPadding")?;
    let mode = PaddingMode::from_dml_value(operator.uint("PaddingMode")?);
    let mut from = vec![];
    for (dimension, size) in input.sizes().iter().enumerate() {
        let (mut at, size) =
            (i64::from(output[dimension]) - i64::from(start[dimension]), i64::from(*size));
        // Coordinates outside are reflected or wrapped until they are inside.
        while !(0..size).contains(&at) {
            let is_before = at < 0;
            at = match mode {
                Some(PaddingMode::Edge) => at.clamp(0, size - 1),
                Some(PaddingMode::Reflection) if size == 1 => 0,
                Some(PaddingMode::Reflection) if is_before => -at,
                Some(PaddingMode::Reflection) => 2 * (size - 1) - at,
                Some(PaddingMode::Symmetric) if is_before => -1 - at,
                Some(PaddingMode::Symmetric) => 2 * size - 1 - at,
                Some(PaddingMode::Wrap) if is_before => at + size,
                Some(PaddingMode::Wrap) => at - size,
                _ => return padding_value(operator).map(Element::Bits),
            };
        }
        from.push(at);
    }
    Ok(at(from))
}

fn padding_value(operator: &Validated) -> Result<u64, Error> {
    let data_type = operator.required_tensor("OutputTensor")?.data_type();
    let values = operator.schema().fields.iter().zip(operator.values());
    match values.map(|(_, value)| value).find(|it| matches!(it, FieldValue::Float(_))) {
        Some(_) => Ok(value::from_float(operator.float("PaddingValue")?, data_type)),
        None => value::from_scalar(operator, "PaddingValue"),
    }
}
