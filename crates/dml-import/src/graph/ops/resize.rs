//! Resize: output sizes, and the coordinates that elements are sampled from.

use dml_core::value::element_bits;
use dml_core::{DataType, PaddingMode};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::dml::storage_type;
use crate::graph::ops::pad::padded;
use crate::graph::ops::resample::{linear, nearest, weighed};
use crate::graph::ops::resized::{Axis, Coordinates, Nearest, Ratio, Sizes, single};
use crate::graph::ops::weigh::Weighing;
use crate::graph::ops::{Need, NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::text;

/// The first input resized.
#[derive(Debug)]
pub(crate) struct Resize {
    pub(crate) interpolation: Interpolation,
    pub(crate) coordinates: Coordinates,
    pub(crate) scales: Scales,
    /// The dimensions that scales and sizes are for; `None` for all.
    pub(crate) axes: Option<Vec<i64>>,
    pub(crate) aspect: Aspect,
    /// The weights of neighbours, for cubic or antialiased interpolation; otherwise `None`.
    pub(crate) weighing: Option<Weighing>,
    /// The value of elements outside of the region of [`Coordinates::Crop`].
    pub(crate) outside: f32,
}

/// How elements are interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interpolation {
    Linear,
    Nearest(Nearest),
}

/// The source of scales.
#[derive(Debug)]
pub(crate) enum Scales {
    Attribute(Vec<f32>),
    /// The input with scales, which is followed by one with sizes and preceded by one with the region.
    Input(usize),
}

/// `keep_aspect_ratio_policy`: how given sizes are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    Stretch,
    /// The largest output with the input's proportions that is within the sizes.
    NotLarger,
    /// The smallest output with the input's proportions that covers the sizes.
    NotSmaller,
}

impl Op for Resize {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "X")?;
        let axes = self.all_axes(operands, data.shape()?)?;
        let shape: Vec<u64> = axes.iter().map(|axis| axis.output).collect();
        let kind = Kind { element: data.element()?, shape: shape.into() };
        if kind.is_empty() {
            return Ok(vec![Value::empty(kind)?]);
        }
        if data.is_empty() {
            let accepted = "sizes above 0, or an output without elements";
            let given = text(data.shape()?);
            return Err(operands.node.invalid("X", given, "has no elements to resize", accepted));
        }
        if self.coordinates != Coordinates::Crop {
            return Ok(vec![self.resized(operands, data, &axes)?]);
        }
        let bits = element_bits(self.outside, storage_type(operands.node, kind.element)?);
        let parts = axes.iter().map(|axis| axis.inside(operands));
        let parts = parts.collect::<Result<Vec<(Axis, [u64; 2])>>>()?;
        let (inner, margins): (Vec<Axis>, Vec<[u64; 2]>) = parts.into_iter().unzip();
        if inner.iter().any(|axis| axis.output == 0) {
            return Ok(vec![Value::fill(kind, bits)]);
        }
        let inner = self.resized(operands, data, &inner)?;
        let signed = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        let margins: Vec<[i64; 2]> = margins.iter().map(|both| both.map(signed)).collect();
        Ok(vec![padded(operands, &inner, &margins, PaddingMode::Constant, bits)?])
    }
}

impl Resize {
    /// `data` resized along all of these dimensions.
    fn resized(&self, operands: &NodeInputs<'_>, data: &Value, axes: &[Axis]) -> Result<Value> {
        if axes.iter().all(Axis::is_same) {
            return Ok(data.clone());
        }
        match (&self.weighing, self.interpolation) {
            (Some(weighing), _) => weighed(operands, data, axes, weighing),
            (None, Interpolation::Nearest(rounding)) => nearest(operands, data, axes, rounding),
            (None, Interpolation::Linear) => linear(operands, data, axes),
        }
    }

    /// The resampling of every dimension of the input.
    fn all_axes(&self, operands: &NodeInputs<'_>, shape: &[u64]) -> Result<Vec<Axis>> {
        let rank = shape.len();
        let chosen = match &self.axes {
            Some(axes) => axes
                .iter()
                .map(|axis| operands.axis(*axis, rank, "attribute axes"))
                .collect::<Result<Vec<usize>>>()?,
            None => (0..rank).collect(),
        };
        let inputs: Vec<u64> = chosen.iter().map(|at| shape[*at]).collect();
        let sizes = self.sizes(operands, &inputs)?;
        let regions = self.regions(operands, chosen.len())?;
        let mut axes: Vec<Axis> = shape.iter().map(|size| Axis::same(*size)).collect();
        for ((at, sizes), region) in chosen.iter().zip(sizes).zip(regions) {
            axes[*at] = self.coordinates.axis(sizes, region);
        }
        Ok(axes)
    }

    /// Input and output sizes of the resized dimensions.
    fn sizes(&self, operands: &NodeInputs<'_>, inputs: &[u64]) -> Result<Vec<Sizes>> {
        let of_input = |index: usize| {
            let value = operands.optional(index).filter(|value| !value.is_empty());
            value.map(|value| floats(operands, value, if index < 3 { "scales" } else { "sizes" }))
        };
        let (scales, outputs) = match &self.scales {
            Scales::Attribute(scales) => {
                (Some(scales.iter().map(|scale| f64::from(*scale)).collect()), None)
            }
            Scales::Input(index) => {
                (of_input(*index).transpose()?, of_input(index + 1).transpose()?)
            }
        };
        match (scales, outputs) {
            (Some(scales), None) => scaled(operands, inputs, &scales),
            (None, Some(outputs)) => self.sized(operands, inputs, &outputs),
            (given, _) => {
                let given = if given.is_some() { "both" } else { "neither" };
                let accepted = "one of scales and sizes";
                Err(operands.node.invalid("scales and sizes", given, "is given", accepted))
            }
        }
    }

    /// The dimensions with given output sizes, adjusted by [`Aspect`].
    fn sized(
        &self,
        operands: &NodeInputs<'_>,
        inputs: &[u64],
        outputs: &[f64],
    ) -> Result<Vec<Sizes>> {
        let is_size =
            |(output, input): (&f64, &u64)| *output > 0.0 || (*output == 0.0 && *input == 0);
        if outputs.len() != inputs.len() || !outputs.iter().zip(inputs).all(is_size) {
            let accepted = format!("{} sizes above 0", inputs.len());
            return Err(operands.node.invalid(
                "sizes",
                format!("{outputs:?}"),
                "do not fit",
                accepted,
            ));
        }
        let ratios: Vec<Ratio> = outputs
            .iter()
            .zip(inputs)
            .map(|(output, input)| Ratio { numerator: *output, denominator: *input as f64 })
            .collect();
        let smaller = |a: Ratio, b: Ratio| if b.is_less_than(a) { b } else { a };
        let larger = |a: Ratio, b: Ratio| if a.is_less_than(b) { b } else { a };
        let common = match self.aspect {
            Aspect::Stretch => None,
            Aspect::NotLarger => ratios.iter().copied().reduce(smaller),
            Aspect::NotSmaller => ratios.iter().copied().reduce(larger),
        };
        let of = |(input, own): (&u64, Ratio)| {
            let product = |scale: Ratio| scale.nearest_product(*input as f64);
            let output = whole(common.map_or(own.numerator, product));
            let scale = common.unwrap_or(own);
            Sizes { input: *input, output, length: output as f64, scale }
        };
        Ok(inputs.iter().zip(ratios).map(of).collect())
    }

    /// The start and the end of the region in each dimension, as fractions.
    fn regions(&self, operands: &NodeInputs<'_>, count: usize) -> Result<Vec<[f64; 2]>> {
        let (Coordinates::Crop, Scales::Input(index)) = (self.coordinates, &self.scales) else {
            return Ok(vec![[0.0, 1.0]; count]);
        };
        let region = floats(operands, operands.value(index - 1, "roi")?, "roi")?;
        if region.len() != 2 * count {
            let (given, problem) = (region.len(), "is the wrong number of elements");
            return Err(operands.node.invalid("roi", given, problem, (2 * count).to_string()));
        }
        if !region.iter().all(|number| number.is_finite()) {
            let (given, problem) = (format!("{region:?}"), "is not a region");
            return Err(operands.node.invalid("roi", given, problem, "finite numbers"));
        }
        Ok((0..count).map(|at| [region[at], region[count + at]]).collect())
    }
}

/// The dimensions scaled: the product is in single precision, as in ONNX. If it is an integer, the ratio of the
/// sizes replaces the scale, which may be rounded: a third of 9 elements is exactly every third one.
fn scaled(operands: &NodeInputs<'_>, inputs: &[u64], scales: &[f64]) -> Result<Vec<Sizes>> {
    let is_scale = |scale: &f64| *scale > 0.0 && scale.is_finite();
    if scales.len() != inputs.len() || !scales.iter().all(is_scale) {
        let accepted = format!("{} finite numbers above 0", inputs.len());
        let given = format!("{scales:?}");
        return Err(operands.node.invalid("scales", given, "do not fit", accepted));
    }
    let of = |(input, scale): (&u64, &f64)| {
        let (input, scale) = (*input, *scale);
        let length = match scale {
            1.0 => input as f64,
            _ => f64::from(input as f32 * single(scale)),
        };
        let scale = match length.fract() == 0.0 && length > 0.0 {
            true => Ratio { numerator: length, denominator: input as f64 },
            false => Ratio { numerator: scale, denominator: 1.0 },
        };
        Sizes { input, output: whole(length), length, scale }
    };
    Ok(inputs.iter().zip(scales).map(of).collect())
}

/// The integer part of a number that is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is beyond 64 bits is their highest number, which no size can be"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

/// The elements of an input as floats.
fn floats(operands: &NodeInputs<'_>, value: &Value, name: &str) -> Result<Vec<f64>> {
    let double = ElementType::Dml(DataType::Float64);
    let accepted = match name {
        "roi" => vec![ElementType::FLOAT32, ElementType::FLOAT16, double],
        "scales" => vec![ElementType::FLOAT32],
        _ => vec![ElementType::INT64],
    };
    operands.type_is(value.element()?, &accepted, name)?;
    let tensor = operands.read(value)?.converted(double)?;
    Ok(tensor.bits().map(f64::from_bits).collect())
}
