//! Convolutions, transposed ones, and those of integers.

use dml_core::operators::{CONVOLUTION, CONVOLUTION_INTEGER, QUANTIZED_LINEAR_CONVOLUTION};
use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, TensorDesc};

use crate::error::Result;
use crate::graph::ops::packed::by_strides;
use crate::graph::ops::{AutoPad, Op, Operands};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Data,
    Filter,
    /// One for all, or one for each channel of the output.
    OfChannels,
}

/// DirectML's operator, and for each of its inputs which one of the node that is.
#[derive(Debug)]
pub(crate) struct Form {
    schema: &'static OperatorSchema,
    inputs: &'static [(usize, Role)],
    /// The input whose type is the output's; none where that is INT32.
    typed_by: Option<usize>,
}

pub(crate) static REAL: Form = Form {
    schema: &CONVOLUTION,
    inputs: &[(0, Role::Data), (1, Role::Filter), (2, Role::OfChannels)],
    typed_by: Some(0),
};
pub(crate) static INTEGER: Form = Form {
    schema: &CONVOLUTION_INTEGER,
    inputs: &[(0, Role::Data), (2, Role::OfChannels), (1, Role::Filter), (3, Role::OfChannels)],
    typed_by: None,
};
pub(crate) static QUANTIZED: Form = Form {
    schema: &QUANTIZED_LINEAR_CONVOLUTION,
    inputs: &[
        (0, Role::Data),
        (1, Role::OfChannels),
        (2, Role::OfChannels),
        (3, Role::Filter),
        (4, Role::OfChannels),
        (5, Role::OfChannels),
        (8, Role::OfChannels),
        (6, Role::OfChannels),
        (7, Role::OfChannels),
    ],
    typed_by: Some(7),
};

/// A convolution. What is left out is empty.
#[derive(Debug)]
pub(crate) struct Convolution {
    pub(crate) form: &'static Form,
    pub(crate) is_transposed: bool,
    pub(crate) auto_pad: AutoPad,
    pub(crate) groups: i64,
    pub(crate) dilations: Vec<i64>,
    pub(crate) pads: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) output_padding: Vec<i64>,
    pub(crate) output_shape: Vec<i64>,
}

/// One dimension of places, all counted in elements.
#[derive(Clone, Copy, Debug)]
struct Extent {
    stride: u64,
    dilation: u64,
    start: u64,
    end: u64,
    output_padding: u64,
    output: u64,
}

impl Op for Convolution {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let of = |role| self.form.inputs.iter().find(|it| it.1 == role).map_or(0, |it| it.0);
        let data = operands.value(of(Role::Data), "X")?;
        let filter = operands.value(of(Role::Filter), "W")?;
        let (shape, taps) = (data.shape()?.to_vec(), filter.shape()?.to_vec());
        if !(3..=5).contains(&shape.len()) || shape.len() != taps.len() {
            let accepted = "three to five dimensions, as many as the other";
            return Err(operands.node.invalid("W", text(&taps), "is the wrong shape", accepted));
        }
        let places = shape.len() - 2;
        let extents = (2..shape.len())
            .map(|at| self.extent(operands, [at - 2, places], [shape[at], taps[at]]));
        let extents = extents.collect::<Result<Vec<Extent>>>()?;
        let groups = operands.size(self.groups, "attribute group")?;
        let channels = if self.is_transposed { taps[1].saturating_mul(groups) } else { taps[0] };
        let mut output = vec![shape[0], channels];
        output.extend(extents.iter().map(|it| it.output));
        let element = match self.form.typed_by {
            Some(index) => operands.value(index, "zero point")?.element()?,
            None => crate::element::ElementType::INT32,
        };
        let kind = Kind { element, shape: output };
        if (shape.contains(&0) || taps.contains(&0)) && !kind.is_empty() {
            return Ok(vec![self.of_no_products(operands, kind)?]);
        }
        let rank = shape.len().max(4);
        let mut inputs = vec![];
        for (index, role) in self.form.inputs {
            let value = operands.optional(*index);
            inputs.push(value.map(|it| seen(operands, it, *role, rank)).transpose()?);
        }
        let of_output = spread(&kind.shape);
        let value = by_strides(operands, &inputs, kind, &of_output, |tensors, output| {
            self.operator(operands, tensors, output, &extents)
        })?;
        Ok(vec![value])
    }
}

/// With a dimension of one place more, where there is but one.
fn spread(shape: &[u64]) -> Vec<u64> {
    match *shape {
        [batches, channels, places] => vec![batches, channels, 1, places],
        ref other => other.to_vec(),
    }
}

/// An input with the dimensions of DirectML's operator.
fn seen(operands: &Operands<'_>, value: &Value, role: Role, rank: usize) -> Result<Value> {
    let shape = value.shape()?;
    let shape = match role {
        Role::Data | Role::Filter => spread(shape),
        Role::OfChannels => {
            let mut all = vec![1; rank];
            all[1] = shape.iter().product();
            all
        }
    };
    operands.reshaped(value, &shape)
}

impl Convolution {
    /// Sums without a product: what is added to them.
    fn of_no_products(&self, operands: &Operands<'_>, kind: Kind) -> Result<Value> {
        if std::ptr::eq(self.form, &QUANTIZED) {
            return Err(operands.node.not_supported("it quantizes sums of no products"));
        }
        let bias = operands.optional(2).filter(|_| std::ptr::eq(self.form, &REAL));
        let Some(bias) = bias else { return Ok(Value::fill(kind, 0)) };
        let mut of_channels = vec![1; kind.shape.len()];
        of_channels[1] = kind.shape[1];
        if bias.shape()? != [kind.shape[1]] {
            let (given, accepted) = (text(bias.shape()?), text(&[kind.shape[1]]));
            return Err(operands.node.invalid("B", given, "is the wrong shape", accepted));
        }
        Ok(operands.reshaped(bias, &of_channels)?.broadcast(&kind.shape))
    }

    /// The element of an attribute with an element for each dimension.
    fn of(
        &self,
        operands: &Operands<'_>,
        values: &[i64],
        at: usize,
        otherwise: u64,
    ) -> Result<u64> {
        values.get(at).map_or(Ok(otherwise), |value| operands.size(*value, "attributes"))
    }

    /// The dimension `at` of so many `places`.
    fn extent(
        &self,
        operands: &Operands<'_>,
        [at, places]: [usize; 2],
        [input, taps]: [u64; 2],
    ) -> Result<Extent> {
        let stride = self.of(operands, &self.strides, at, 1)?;
        let dilation = self.of(operands, &self.dilations, at, 1)?;
        let refused = |problem: &str| operands.node.invalid("X", input, problem, "another");
        let is_bare = input == 0 && (self.is_transposed || self.auto_pad != AutoPad::Given);
        if stride == 0 || dilation == 0 || taps == 0 || is_bare {
            return Err(refused("leaves nothing to be met"));
        }
        let window = (taps - 1).saturating_mul(dilation).saturating_add(1);
        let half = self.pads.len() / 2;
        let mut start = self.of(operands, &self.pads, at, 0)?;
        let mut end = self.of(operands, &self.pads, half + at, 0)?;
        let output_padding = self.of(operands, &self.output_padding, at, 0)?;
        let more_at_end = self.auto_pad == AutoPad::Same { more_at_end: true };
        let mut pad = |total: u64| {
            let (less, more) = (total / 2, total - total / 2);
            (start, end) = if more_at_end { (less, more) } else { (more, less) };
        };
        let is_same = matches!(self.auto_pad, AutoPad::Same { .. });
        let mut extra = output_padding;
        if self.is_transposed {
            let whole = (input - 1).saturating_mul(stride).saturating_add(window);
            let wanted =
                match self.output_shape.get(self.output_shape.len().saturating_sub(places) + at) {
                    Some(size) => Some(operands.size(*size, "attribute output_shape")?),
                    None if is_same => Some(input.saturating_mul(stride)),
                    None => None,
                };
            if let Some(wanted) = wanted {
                let all = whole.saturating_add(output_padding);
                pad(all.saturating_sub(wanted));
                extra += wanted.saturating_sub(all);
            }
        } else if is_same {
            let steps = input.div_ceil(stride);
            pad(((steps - 1) * stride).saturating_add(window).saturating_sub(input));
        }
        if self.auto_pad == AutoPad::Valid {
            (start, end) = (0, 0);
        }
        let padding = start.saturating_add(end);
        let output = match self.is_transposed {
            true => {
                ((input - 1).saturating_mul(stride).saturating_add(window).saturating_add(extra))
                    .checked_sub(padding)
                    .filter(|size| *size > 0)
            }
            false => (input + padding).checked_sub(window).map(|last| last / stride + 1),
        };
        let output = output.ok_or_else(|| refused("is smaller than the filter"))?;
        Ok(Extent { stride, dilation, start, end, output_padding: extra, output })
    }

    fn operator(
        &self,
        operands: &Operands<'_>,
        inputs: Vec<Option<TensorDesc>>,
        output: TensorDesc,
        extents: &[Extent],
    ) -> Result<AbstractOperator> {
        let mut tensors = inputs.into_iter();
        // A dimension that was put before the only one of places.
        let added = usize::from(extents.len() == 1);
        let number = |value: u64| {
            u32::try_from(value).map_err(|_| {
                let accepted = format!("up to {}", u32::MAX);
                operands.node.invalid("attributes", value, "is too large", accepted)
            })
        };
        let list = |of: fn(&Extent) -> u64, first: u32| {
            let values = extents.iter().map(|it| number(of(it)));
            let values = std::iter::repeat_n(Ok(first), added).chain(values);
            values.collect::<Result<Vec<u32>>>().map(FieldValue::UintArray)
        };
        let fields = self.form.schema.fields.iter().map(|field| {
            Ok(match (field.kind, field.name) {
                (FieldKind::Input, _) => FieldValue::Tensor(tensors.next().flatten()),
                (FieldKind::Output, _) => FieldValue::Tensor(Some(output.clone())),
                // Cross-correlation.
                (_, "Mode") => FieldValue::Uint(1),
                (_, "Direction") => FieldValue::Uint(self.is_transposed.into()),
                (_, "DimensionCount") => FieldValue::Uint(number((extents.len() + added) as u64)?),
                (_, "Strides") => list(|it| it.stride, 1)?,
                (_, "Dilations") => list(|it| it.dilation, 1)?,
                (_, "StartPadding") => list(|it| it.start, 0)?,
                (_, "EndPadding") => list(|it| it.end, 0)?,
                (_, "OutputPadding") => list(|it| it.output_padding, 0)?,
                (_, "GroupCount") => {
                    FieldValue::Uint(number(operands.size(self.groups, "attribute group")?)?)
                }
                _ => field.field_type.empty_value(),
            })
        });
        let fields = fields.collect::<Result<Vec<FieldValue>>>()?;
        Ok(AbstractOperator::new(self.form.schema, fields).expect("the schema's fields"))
    }
}
