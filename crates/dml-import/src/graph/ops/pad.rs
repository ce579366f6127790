//! Pad: PADDING and PADDING1, and cropping.

use dml_core::operators::{Padding1Desc, PaddingDesc};
use dml_core::{AbstractOperator, DataType, PaddingMode};

use crate::convert::as_float;
use crate::element::scalar;
use crate::error::Result;
use crate::graph::dml::{MAX_RANK, storage_type};
use crate::graph::ops::movement::{is_on_host, joined, leading, moved, tensors, written};
use crate::graph::ops::slice::{Walk, walked};
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Content, Kind, Value};
use crate::tensor::{Tensor, host_elements, text};

/// The first input with padding, where negative padding crops.
#[derive(Debug)]
pub(crate) struct Pad {
    pub(crate) mode: PaddingMode,
    pub(crate) source: Margins,
}

/// The source of padding amounts and value.
#[derive(Debug)]
pub(crate) enum Margins {
    /// Padding before all dimensions followed by padding after them, and the constant value.
    Attributes { pads: Vec<i64>, value: f32 },
    /// Padding in the second input, the value in the third, and optionally the padded axes in the fourth.
    Inputs,
}

/// The padding of one dimension, and the size of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Margin {
    start: u64,
    size: u64,
    end: u64,
}

impl Op for Pad {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "data")?;
        let rank = data.shape()?.len();
        let (pads, bits) = match &self.source {
            Margins::Attributes { pads, value } => {
                let float = dml_core::value::element_bits;
                let of = |data_type| float(*value, data_type);
                (pads.clone(), storage_type(operands.node, data.element()?).map(of)?)
            }
            Margins::Inputs => (operands.vector(1, "pads")?, constant_value(operands, data)?),
        };
        let axes: Vec<i64> = match operands.optional(3) {
            Some(_) => operands.vector(3, "axes")?,
            None => (0..).take(rank).collect(),
        };
        if pads.len() != 2 * axes.len() {
            let problem = "is the wrong number of elements";
            let accepted = format!("2 for each of {} dimensions", axes.len());
            return Err(operands.node.invalid("pads", pads.len(), problem, accepted));
        }
        let mut all = vec![[0; 2]; rank];
        for (index, axis) in axes.iter().enumerate() {
            let at = operands.axis(*axis, rank, "axes")?;
            all[at] = [pads[index], pads[axes.len() + index]];
        }
        padded(operands, data, &all, self.mode, bits).map(|it| vec![it])
    }
}

/// The bits of the third input; 0 if it is left out.
fn constant_value(operands: &NodeInputs<'_>, data: &Value) -> Result<u64> {
    let Some(value) = operands.optional(2) else { return Ok(0) };
    operands.type_is(value.element()?, &[data.element()?], "constant_value")?;
    let tensor = operands.read(value)?;
    let bits: Vec<u64> = tensor.bits().collect();
    match bits.as_slice() {
        [bits] => Ok(*bits),
        _ => {
            let (given, problem) = (bits.len(), "is the wrong number of elements");
            Err(operands.node.invalid("constant_value", given, problem, "1"))
        }
    }
}

/// `data` with padding before and after each dimension; it is cropped first where padding is negative.
pub(super) fn padded(
    operands: &NodeInputs<'_>,
    data: &Value,
    margins: &[[i64; 2]],
    mode: PaddingMode,
    bits: u64,
) -> Result<Value> {
    let walk = |(size, margins): (&u64, &[i64; 2])| {
        let [before, after] = margins.map(|margin| margin.min(0).unsigned_abs());
        let left = size.checked_sub(before).and_then(|it| it.checked_sub(after));
        let left = left.ok_or_else(|| {
            let cut = i128::from(before) + i128::from(after);
            operands.node.invalid("pads", -cut, "cuts off too much", format!("-{size} and more"))
        });
        Ok(Walk::forwards(*size, before, left?))
    };
    let walks = data.shape()?.iter().zip(margins).map(walk).collect::<Result<Vec<Walk>>>()?;
    let data = &walked(operands, data, &walks)?;
    let all: Vec<Margin> = data
        .shape()?
        .iter()
        .zip(margins)
        .map(|(size, margins)| {
            let [start, end] = margins.map(|margin| margin.max(0).unsigned_abs());
            Margin { start, size: *size, end }
        })
        .collect();
    if all.iter().all(Margin::is_none) {
        return Ok(data.clone());
    }
    let shape: Vec<u64> = all.iter().map(Margin::total).collect();
    if mode != PaddingMode::Constant {
        let without_elements = all.iter().find(|it| it.size == 0 && !it.is_none());
        if let Some(Margin { start, end, .. }) = without_elements {
            let (given, problem) =
                (text(&[*start, *end]), "repeat elements of a dimension of size 0");
            return Err(operands.node.invalid("pads", given, problem, "0, or the mode constant"));
        }
        if data.is_empty() {
            return Ok(Value::host(Tensor::new(data.element()?, shape, vec![])?));
        }
    }
    let build = || operator(operands, data, &all, mode, bits);
    if mode != PaddingMode::Constant {
        let positions = || all.iter().map(|it| it.positions(mode)).collect();
        return moved(operands, data, shape, positions, build);
    }
    let kind = Kind { element: data.element()?, shape: shape.into() };
    match data.content {
        _ if data.is_empty() => Ok(Value::fill(kind, bits)),
        Content::Fill(own) if own == bits => Ok(Value::fill(kind, bits)),
        _ if is_on_host(operands, data, &kind.shape) => on_host(operands, data, &all, kind, bits),
        _ => written(operands, data, kind, build),
    }
}

impl Margin {
    fn is_none(&self) -> bool {
        self.start == 0 && self.end == 0
    }

    fn total(&self) -> u64 {
        self.start.saturating_add(self.size).saturating_add(self.end)
    }

    /// For each coordinate of the output, the coordinate of the input.
    fn positions(&self, mode: PaddingMode) -> Vec<usize> {
        let (start, size) = (i128::from(self.start), i128::from(self.size));
        let at = |output: u64| {
            let at = i128::from(output) - start;
            let folded = |period: i128, last: i128| {
                let phase = at.rem_euclid(period.max(1));
                if phase < size { phase } else { last - phase }
            };
            let position = match mode {
                PaddingMode::Reflection => folded(2 * (size - 1), 2 * (size - 1)),
                PaddingMode::Symmetric => folded(2 * size, 2 * size - 1),
                PaddingMode::Wrap => folded(size, 0),
                PaddingMode::Constant | PaddingMode::Edge => at.clamp(0, size - 1),
            };
            usize::try_from(position).unwrap_or(0)
        };
        (0..self.total()).map(at).collect()
    }
}

/// The data with constant padding.
fn on_host(
    operands: &NodeInputs<'_>,
    data: &Value,
    margins: &[Margin],
    kind: Kind,
    bits: u64,
) -> Result<Value> {
    host_elements(&kind.shape)?;
    let tensor = operands.read(data)?;
    let filled = Tensor::filled(kind.element, kind.shape.to_vec(), bits)?;
    let mut bytes = filled.bytes().to_vec();
    let width = usize::try_from(kind.element.size().unwrap_or(1)).unwrap_or(1);
    let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let rows = margins.iter().rev().skip(1).rev().fold(vec![0], |rows: Vec<usize>, margin| {
        let of = |row: &usize| {
            let first = row * index(margin.total()) + index(margin.start);
            (0..index(margin.size)).map(move |at| first + at).collect::<Vec<_>>()
        };
        rows.iter().flat_map(of).collect()
    });
    let last = margins.last().copied().unwrap_or(Margin { start: 0, size: 1, end: 0 });
    let length = index(last.size) * width;
    for (row, source) in rows.iter().zip(tensor.bytes().chunks(length.max(1))) {
        let start = (row * index(last.total()) + index(last.start)) * width;
        bytes[start..start + length].copy_from_slice(source);
    }
    Ok(Value::host(Tensor::new(kind.element, kind.shape.into_vec(), bytes)?))
}

/// PADDING, or PADDING1 if the value is not representable as FLOAT.
fn operator(
    operands: &NodeInputs<'_>,
    data: &Value,
    margins: &[Margin],
    padding_mode: PaddingMode,
    bits: u64,
) -> Result<AbstractOperator> {
    let margins = joined(margins, MAX_RANK, |outer, inner| {
        let size = outer.size.saturating_mul(inner.size);
        (outer.is_none() && inner.is_none()).then_some(Margin { size, ..inner })
    });
    let sizes: Vec<u64> = margins.iter().map(|margin| margin.size).collect();
    let totals: Vec<u64> = margins.iter().map(Margin::total).collect();
    let [input_tensor, output_tensor] = tensors(operands, data, [&sizes, &totals])?;
    // No padding exceeds the output's size, which has been checked.
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let start_padding = leading(margins.iter().map(|margin| number(margin.start)), 0);
    let end_padding = leading(margins.iter().map(|margin| number(margin.end)), 0);
    let data_type: DataType = output_tensor.data_type;
    // Only constant padding uses the value.
    let bits = if padding_mode == PaddingMode::Constant { bits } else { 0 };
    Ok(match as_float(bits, data_type) {
        Some(padding_value) => PaddingDesc {
            input_tensor,
            output_tensor,
            padding_mode,
            padding_value,
            start_padding,
            end_padding,
        }
        .into(),
        None => Padding1Desc {
            input_tensor,
            output_tensor,
            padding_mode,
            padding_value_data_type: data_type,
            padding_value: scalar(bits),
            start_padding,
            end_padding,
        }
        .into(),
    })
}

/// The data center-cropped or zero-padded to the sizes in the second input.
#[derive(Debug)]
pub(crate) struct CenterCropPad {
    pub(crate) axes: Option<Vec<i64>>,
}

impl Op for CenterCropPad {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "input_data")?;
        let own = data.shape()?;
        let sizes = operands.sizes(1, "shape")?;
        let axes = self.axes.clone().unwrap_or_else(|| (0..).take(own.len()).collect());
        if sizes.len() != axes.len() {
            let problem = "is the wrong number of sizes";
            let accepted = axes.len().to_string();
            return Err(operands.node.invalid("shape", sizes.len(), problem, accepted));
        }
        let mut margins = vec![[0; 2]; own.len()];
        for (axis, size) in axes.iter().zip(&sizes) {
            let at = operands.axis(*axis, own.len(), "attribute axes")?;
            let signed = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
            let more = signed(*size).saturating_sub(signed(own[at]));
            // The extra element of an odd difference is at the end.
            margins[at] = [more / 2, more - more / 2];
        }
        padded(operands, data, &margins, PaddingMode::Constant, 0).map(|it| vec![it])
    }
}
