//! Convolutions, transposed convolutions, and integer convolutions.

use dml_core::operators::{CONVOLUTION, CONVOLUTION_INTEGER, QUANTIZED_LINEAR_CONVOLUTION};
use dml_core::schema::{FieldKind, OperatorSchema};
use dml_core::{AbstractOperator, FieldValue, TensorDesc};

use crate::error::Result;
use crate::graph::ops::packed::{by_strides, count};
use crate::graph::ops::pooling::setting;
use crate::graph::ops::{AutoPad, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// The role of a convolution's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Data,
    Filter,
    /// A parameter with one element for all, or one for each output channel.
    OfChannels,
}

/// A kind of convolution: DirectML's operator, and the node's input and role for each of its inputs.
#[derive(Debug)]
pub(crate) struct ConvolutionForm {
    schema: &'static OperatorSchema,
    inputs: &'static [(usize, Role)],
    /// The node's input with the output's type; `None` if the output is INT32.
    typed_by: Option<usize>,
}

pub(crate) static REAL: ConvolutionForm = ConvolutionForm {
    schema: &CONVOLUTION,
    inputs: &[(0, Role::Data), (1, Role::Filter), (2, Role::OfChannels)],
    typed_by: Some(0),
};
pub(crate) static INTEGER: ConvolutionForm = ConvolutionForm {
    schema: &CONVOLUTION_INTEGER,
    inputs: &[(0, Role::Data), (2, Role::OfChannels), (1, Role::Filter), (3, Role::OfChannels)],
    typed_by: None,
};
pub(crate) static QUANTIZED: ConvolutionForm = ConvolutionForm {
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

/// A convolution. Attributes that are left out are empty.
#[derive(Debug)]
pub(crate) struct Convolution {
    pub(crate) form: &'static ConvolutionForm,
    pub(crate) is_transposed: bool,
    pub(crate) auto_pad: AutoPad,
    pub(crate) groups: i64,
    pub(crate) dilations: Vec<i64>,
    pub(crate) kernel: Vec<i64>,
    pub(crate) pads: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) output_padding: Vec<i64>,
    pub(crate) output_shape: Vec<i64>,
}

/// One spatial dimension, all in elements.
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
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let of = |role| self.form.inputs.iter().find(|input| input.1 == role).map_or(0, |it| it.0);
        let data = operands.value(of(Role::Data), "X")?;
        let filter = operands.value(of(Role::Filter), "W")?;
        let (shape, taps) = (data.shape()?.to_vec(), filter.shape()?.to_vec());
        if !(3..=5).contains(&shape.len()) || shape.len() != taps.len() {
            let accepted = "three to five dimensions, as many as the other";
            return Err(operands.node.invalid("W", text(&taps), "is the wrong shape", accepted));
        }
        let places = shape.len() - 2;
        let is_filter = |(size, taps): (&i64, &u64)| u64::try_from(*size).as_ref() == Ok(taps);
        let has_filter =
            self.kernel.len() == places && self.kernel.iter().zip(&taps[2..]).all(is_filter);
        if !self.kernel.is_empty() && !has_filter {
            let (path, given) = ("attribute kernel_shape", format!("{:?}", self.kernel));
            let problem = "is not the filter's";
            return Err(operands.node.invalid(path, given, problem, text(&taps[2..])));
        }
        let extents = (2..shape.len())
            .map(|at| self.extent(operands, [at - 2, places], [shape[at], taps[at]]));
        let extents = extents.collect::<Result<Vec<Extent>>>()?;
        let groups = operands.size(self.groups, "attribute group")?;
        let channels = if self.is_transposed { taps[1].saturating_mul(groups) } else { taps[0] };
        let mut output = vec![shape[0], channels];
        output.extend(extents.iter().map(|extent| extent.output));
        let element = match self.form.typed_by {
            Some(index) => operands.value(index, "zero point")?.element()?,
            None => crate::element::ElementType::INT32,
        };
        let kind = Kind { element, shape: output.into() };
        if (shape.contains(&0) || taps.contains(&0)) && !kind.is_empty() {
            return Ok(vec![self.of_no_products(operands, kind)?]);
        }
        let rank = shape.len().max(4);
        let mut inputs = vec![];
        for (index, role) in self.form.inputs {
            let value = operands.optional(*index);
            inputs.push(value.map(|value| seen(operands, value, *role, rank)).transpose()?);
        }
        let of_output = spread(&kind.shape);
        let value = by_strides(operands, &inputs, kind, &of_output, |tensors, output| {
            self.operator(operands, tensors, output, &extents)
        })?;
        Ok(vec![value])
    }
}

/// The shape, with a second spatial dimension of size 1 if there is only one.
fn spread(shape: &[u64]) -> Vec<u64> {
    match *shape {
        [batches, channels, places] => vec![batches, channels, 1, places],
        ref other => other.to_vec(),
    }
}

/// An input as DirectML's operator takes it.
fn seen(operands: &NodeInputs<'_>, value: &Value, role: Role, rank: usize) -> Result<Value> {
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
    /// The output of a convolution with empty sums: the bias, zeros or zero points.
    fn of_no_products(&self, operands: &NodeInputs<'_>, kind: Kind) -> Result<Value> {
        let ones = vec![1; kind.shape.len()];
        if std::ptr::eq(self.form, &QUANTIZED) {
            if operands.optional(8).is_some() {
                let reason = "the bias alone is quantized, of sums without a product";
                return Err(operands.node.not_supported(reason));
            }
            let zero_point = operands.value(7, "y_zero_point")?;
            if count(zero_point.shape()?) != 1 {
                let given = text(zero_point.shape()?);
                let problem = "is the wrong shape";
                return Err(operands.node.invalid("y_zero_point", given, problem, "one element"));
            }
            return Ok(operands.reshaped(zero_point, &ones)?.broadcast(&kind.shape));
        }
        let bias = operands.optional(2).filter(|_| std::ptr::eq(self.form, &REAL));
        let Some(bias) = bias else { return Ok(Value::fill(kind, 0)) };
        let mut of_channels = ones;
        of_channels[1] = kind.shape[1];
        if bias.shape()? != [kind.shape[1]] {
            let (given, accepted) = (text(bias.shape()?), text(&[kind.shape[1]]));
            return Err(operands.node.invalid("B", given, "is the wrong shape", accepted));
        }
        Ok(operands.reshaped(bias, &of_channels)?.broadcast(&kind.shape))
    }

    /// Element `at` of an attribute of `all` values, none of which may be less than the default for an omitted
    /// attribute.
    fn setting(
        operands: &NodeInputs<'_>,
        name: &str,
        values: &[i64],
        [at, all]: [usize; 2],
        default: u32,
    ) -> Result<u64> {
        let values = Some((values, all)).filter(|(values, _)| !values.is_empty());
        setting(operands, name, values, at, default).map(u64::from)
    }

    /// The extent of spatial dimension `at` of `places`.
    fn extent(
        &self,
        operands: &NodeInputs<'_>,
        [at, places]: [usize; 2],
        [input, taps]: [u64; 2],
    ) -> Result<Extent> {
        let value = |name: &str, values: &[i64], at, all, default| {
            Self::setting(operands, name, values, [at, all], default)
        };
        // Explicit padding may give an empty dimension some windows.
        let is_bare = input == 0 && self.auto_pad != AutoPad::Given;
        if is_bare || taps == 0 {
            let path = if taps == 0 { "W" } else { "X" };
            let accepted = "sizes above 0 after batches and channels";
            return Err(operands.node.invalid(path, 0, "is an empty dimension", accepted));
        }
        let stride = value("strides", &self.strides, at, places, 1)?;
        let dilation = value("dilations", &self.dilations, at, places, 1)?;
        let output_padding = value("output_padding", &self.output_padding, at, places, 0)?;
        let given_pads = [
            value("pads", &self.pads, at, 2 * places, 0)?,
            value("pads", &self.pads, places + at, 2 * places, 0)?,
        ];
        let window = (taps - 1).saturating_mul(dilation).saturating_add(1);
        let extent = Extent { stride, dilation, start: 0, end: 0, output_padding, output: 0 };
        if self.is_transposed {
            let wanted = self.wanted(operands, [at, places], input.saturating_mul(stride))?;
            let whole = input.saturating_mul(stride).saturating_add(window).saturating_sub(stride);
            self.transposed_extent(operands, extent, whole, wanted, given_pads)
        } else {
            self.forward_extent(operands, extent, window, input, given_pads)
        }
    }

    /// The extent of a transposed convolution's dimension, in which filters cover `whole` output elements.
    fn transposed_extent(
        &self,
        operands: &NodeInputs<'_>,
        extent: Extent,
        whole: u64,
        wanted: Option<u64>,
        given_pads: [u64; 2],
    ) -> Result<Extent> {
        let whole = whole.saturating_add(extent.output_padding);
        let missing = wanted.map_or(0, |size| size.saturating_sub(whole));
        let [start, end] =
            self.distributed(wanted.map(|size| whole.saturating_sub(size)), given_pads);
        let (whole, cut) = (whole.saturating_add(missing), start.saturating_add(end));
        let output = whole.checked_sub(cut).filter(|size| *size > 0).ok_or_else(|| {
            let accepted = format!("less than {whole} together");
            operands.node.invalid("attribute pads", cut, "leave no element", accepted)
        })?;
        let output_padding = extent.output_padding.saturating_add(missing);
        Ok(Extent { start, end, output_padding, output, ..extent })
    }

    /// The extent of a convolution's dimension, in which a filter covers `window` input elements.
    fn forward_extent(
        &self,
        operands: &NodeInputs<'_>,
        extent: Extent,
        window: u64,
        input: u64,
        given_pads: [u64; 2],
    ) -> Result<Extent> {
        let steps = input.div_ceil(extent.stride);
        let needed = (steps.saturating_sub(1) * extent.stride).saturating_add(window);
        let is_same = matches!(self.auto_pad, AutoPad::Same { .. });
        let [start, end] =
            self.distributed(is_same.then_some(needed.saturating_sub(input)), given_pads);
        let padded = input.saturating_add(start).saturating_add(end);
        let room = padded.checked_sub(window).ok_or_else(|| {
            let accepted = format!("a filter that covers up to {padded}");
            operands.node.invalid("W", window, "is more than the padded input has", accepted)
        })?;
        Ok(Extent { start, end, output: room / extent.stride + 1, ..extent })
    }

    /// Padding at the start and at the end: `total` divided by the auto_pad mode if there is one, otherwise as
    /// given.
    fn distributed(&self, total: Option<u64>, given: [u64; 2]) -> [u64; 2] {
        match (total, self.auto_pad) {
            (Some(all), AutoPad::Same { more_at_end: true }) => [all / 2, all - all / 2],
            (Some(all), _) => [all - all / 2, all / 2],
            (None, AutoPad::Given) => given,
            (None, _) => [0, 0],
        }
    }

    /// The output size that a transposed convolution must have, if any: from `output_shape`, which may begin
    /// with batches and channels, or `same`.
    fn wanted(
        &self,
        operands: &NodeInputs<'_>,
        [at, places]: [usize; 2],
        same: u64,
    ) -> Result<Option<u64>> {
        let given = self.output_shape.len();
        if !self.is_transposed || given == 0 {
            let is_same = self.is_transposed && matches!(self.auto_pad, AutoPad::Same { .. });
            return Ok(is_same.then_some(same));
        }
        if given != places && given != places + 2 {
            let (path, problem) = ("attribute output_shape", "is the wrong length");
            return Err(operands.node.invalid(path, given, problem, places.to_string()));
        }
        let spatial = &self.output_shape[given - places..];
        Self::setting(operands, "output_shape", spatial, [at, places], 1).map(Some)
    }

    fn operator(
        &self,
        operands: &NodeInputs<'_>,
        inputs: Vec<Option<TensorDesc>>,
        output: TensorDesc,
        extents: &[Extent],
    ) -> Result<AbstractOperator> {
        let mut tensors = inputs.into_iter();
        // The second spatial dimension that was added to a single one.
        let added = usize::from(extents.len() == 1);
        let number = |value: u64| {
            u32::try_from(value).map_err(|_| {
                let accepted = format!("up to {}", u32::MAX);
                operands.node.invalid("attributes", value, "is too large", accepted)
            })
        };
        let list = |of: fn(&Extent) -> u64, first: u32| {
            let values = extents.iter().map(|extent| number(of(extent)));
            let values = std::iter::repeat_n(Ok(first), added).chain(values);
            values.collect::<Result<Vec<u32>>>().map(FieldValue::UintArray)
        };
        let fields = self.form.schema.fields.iter().map(|field| {
            Ok(match (field.kind, field.name) {
                (FieldKind::Input, _) => FieldValue::Tensor(tensors.next().flatten()),
                (FieldKind::Output, _) => FieldValue::Tensor(Some(output.clone())),
                // Mode 1 is cross-correlation.
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
