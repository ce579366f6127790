//! Other sizes of the same picture: RESAMPLE1, or RESAMPLE2 where it is rounded to the nearest element.
//!
//! Which element of the input the one at `x` is made of is a linear function in all of ONNX's modes,
//! `(x - output_offset) / scale - input_offset` as DirectML writes it.

use dml_core::operators::{Resample1Desc, Resample2Desc};
use dml_core::value::element_bits;
use dml_core::{AxisDirection, DataType, InterpolationMode, PaddingMode, TensorDesc};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::dml::storage_type;
use crate::graph::ops::movement::{joined, leading};
use crate::graph::ops::packed::write;
use crate::graph::ops::pad::padded;
use crate::graph::ops::resized::{Axis, Coordinates};
use crate::graph::ops::weigh::Weighing;
use crate::graph::ops::{Need, Op, Operands};
use crate::graph::value::{Kind, Value};

/// RESAMPLE has so many dimensions at most.
const MAX_RANK: usize = 4;

/// The first input in other sizes.
#[derive(Debug)]
pub(crate) struct Resize {
    pub(crate) interpolation: Interpolation,
    pub(crate) coordinates: Coordinates,
    pub(crate) scales: Scales,
    /// The dimensions that scales and sizes are of, where that is not all of them.
    pub(crate) axes: Option<Vec<i64>>,
    pub(crate) aspect: Aspect,
    /// How neighbours count, where that is more than linear interpolation; else `None`.
    pub(crate) weighing: Option<Weighing>,
    /// What is outside of the region of [`Coordinates::Crop`].
    pub(crate) outside: f32,
}

/// How an element is made where it lies between some of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interpolation {
    Linear,
    Nearest(Nearest),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nearest {
    Floor,
    Ceiling,
    /// The nearest, of two the lower or the higher one.
    Round {
        prefers_floor: bool,
    },
    /// The lower one where a dimension grows, else the higher one.
    BySize,
}

/// Where scales are from.
#[derive(Debug)]
pub(crate) enum Scales {
    Attribute(Vec<f32>),
    /// This input, or the sizes in the next one; the one before has the region.
    Input(usize),
}

/// `keep_aspect_ratio_policy`: what sizes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    Stretch,
    /// The largest output of the input's proportions that is within them.
    NotLarger,
    /// The smallest one that they are within.
    NotSmaller,
}

impl Op for Resize {
    fn need(&self, input: usize) -> Need {
        if input == 0 { Need::Elements } else { Need::Host }
    }

    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let data = operands.value(0, "X")?;
        let axes = self.all_axes(operands, data.shape()?)?;
        if self.coordinates != Coordinates::Crop {
            return Ok(vec![self.resampled(operands, data, &axes)?]);
        }
        let kind =
            Kind { element: data.element()?, shape: axes.iter().map(|it| it.output).collect() };
        let bits = element_bits(self.outside, storage_type(operands.node, kind.element)?);
        let (inner, margins): (Vec<Axis>, Vec<[u64; 2]>) = axes.iter().map(Axis::inside).unzip();
        if inner.iter().any(|it| it.output == 0) {
            return Ok(vec![Value::fill(kind, bits)]);
        }
        let inner = self.resampled(operands, data, &inner)?;
        let signed = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
        let margins: Vec<[i64; 2]> = margins.iter().map(|it| it.map(signed)).collect();
        Ok(vec![padded(operands, &inner, &margins, PaddingMode::Constant, bits)?])
    }
}

impl Resize {
    /// Every dimension of the input.
    fn all_axes(&self, operands: &Operands<'_>, shape: &[u64]) -> Result<Vec<Axis>> {
        let rank = shape.len();
        let chosen = match &self.axes {
            Some(axes) => axes
                .iter()
                .map(|axis| operands.axis(*axis, rank, "attribute axes"))
                .collect::<Result<Vec<usize>>>()?,
            None => (0..rank).collect(),
        };
        let sizes: Vec<u64> = chosen.iter().map(|at| shape[*at]).collect();
        let scales = self.scales_of(operands, &sizes)?;
        let regions = self.regions(operands, chosen.len())?;
        let mut axes: Vec<Axis> = shape.iter().map(|size| Axis::same(*size)).collect();
        for ((at, (output, scale)), region) in chosen.iter().zip(scales).zip(regions) {
            let axis = self.coordinates.axis([shape[*at], output], scale, region);
            axes[*at] = axis.ok_or_else(|| {
                let problem = "is no region that can be resized";
                operands.node.invalid(
                    "roi",
                    format!("{region:?}"),
                    problem,
                    "an end after the start",
                )
            })?;
        }
        Ok(axes)
    }

    /// The size of the output and the scale, for each of these dimensions of the input.
    fn scales_of(&self, operands: &Operands<'_>, sizes: &[u64]) -> Result<Vec<(u64, f64)>> {
        let of_input = |index: usize| {
            let value = operands.optional(index).filter(|it| !it.is_empty());
            value.map(|it| floats(operands, it, if index < 3 { "scales" } else { "sizes" }))
        };
        let (scales, outputs) = match &self.scales {
            Scales::Attribute(scales) => {
                (Some(scales.iter().map(|it| (*it).into()).collect()), None)
            }
            Scales::Input(index) => {
                (of_input(*index).transpose()?, of_input(index + 1).transpose()?)
            }
        };
        let counted = |name: &str, values: Vec<f64>| {
            let is_above_0 = |it: &f64| *it > 0.0 && it.is_finite();
            if values.len() == sizes.len() && values.iter().all(is_above_0) {
                return Ok(values);
            }
            let accepted = format!("{} numbers above 0", sizes.len());
            Err(operands.node.invalid(name, format!("{values:?}"), "do not fit", accepted))
        };
        let scaled = |size: u64, scale: f64| whole(f64::from(size as f32 * single(scale)));
        match (scales, outputs) {
            (Some(scales), None) => {
                let scales = counted("scales", scales)?;
                let sized = scales.iter().zip(sizes);
                Ok(sized.map(|(scale, size)| (scaled(*size, *scale), *scale)).collect())
            }
            (None, Some(outputs)) => {
                let outputs = counted("sizes", outputs)?;
                let ratios = outputs.iter().zip(sizes).map(|(output, size)| output / *size as f64);
                let one = match self.aspect {
                    Aspect::Stretch => None,
                    Aspect::NotLarger => ratios.clone().reduce(f64::min),
                    Aspect::NotSmaller => ratios.clone().reduce(f64::max),
                };
                Ok(match one {
                    None => outputs.iter().map(|it| whole(*it)).zip(ratios).collect(),
                    Some(scale) => {
                        let rounded = |size: &u64| whole((*size as f64 * scale + 0.5).floor());
                        sizes.iter().map(|size| (rounded(size), scale)).collect()
                    }
                })
            }
            _ => {
                Err(operands.node.invalid("scales", "they", "are wrong", "either scales or sizes"))
            }
        }
    }

    /// The start and the end of the region in each dimension.
    fn regions(&self, operands: &Operands<'_>, count: usize) -> Result<Vec<[f64; 2]>> {
        let (Coordinates::Crop, Scales::Input(index)) = (self.coordinates, &self.scales) else {
            return Ok(vec![[0.0, 1.0]; count]);
        };
        let region = floats(operands, operands.value(index - 1, "roi")?, "roi")?;
        if region.len() != 2 * count {
            let (given, problem) = (region.len(), "is the wrong number of elements");
            return Err(operands.node.invalid("roi", given, problem, (2 * count).to_string()));
        }
        Ok((0..count).map(|at| [region[at], region[count + at]]).collect())
    }

    /// `data` along all of these dimensions.
    fn resampled(&self, operands: &Operands<'_>, data: &Value, axes: &[Axis]) -> Result<Value> {
        let element = data.element()?;
        let kind = Kind { element, shape: axes.iter().map(|it| it.output).collect() };
        if axes.iter().all(Axis::is_same) {
            return Ok(data.clone());
        }
        if let Some(weighing) = &self.weighing {
            let changed = axes.iter().enumerate().filter(|(_, axis)| !axis.is_same());
            return changed.into_iter().try_fold(data.clone(), |data, (at, axis)| {
                weighing.along(operands, &data, at, &axis.sources(operands)?)
            });
        }
        let (direction, shift) = self.rounding(operands, axes)?;
        let axes = joined(axes, MAX_RANK, |outer, inner| {
            let stay = outer.is_same() && inner.is_same();
            stay.then(|| Axis::same(outer.input.saturating_mul(inner.input)))
        });
        let axes = leading(axes, Axis::same(1));
        let seen = |size: fn(&Axis) -> u64| axes.iter().map(size).collect::<Vec<u64>>();
        let (input, output) = (seen(|it| it.input), seen(|it| it.output));
        let floats = |of: fn(&Axis) -> f64, shift: f64| {
            let moved = |it: &Axis| if it.is_same() { of(it) } else { of(it) + shift };
            axes.iter().map(|it| single(moved(it))).collect::<Vec<f32>>()
        };
        let build = |mut inputs: Vec<TensorDesc>, output_tensor: TensorDesc| {
            let input_tensor = inputs.remove(0);
            let (scales, output_pixel_offsets) =
                (floats(|it| it.scale, 0.0), floats(|it| it.output_offset, 0.0));
            let input_pixel_offsets = floats(|it| it.input_offset, shift);
            match direction {
                None => Resample1Desc {
                    input_tensor,
                    output_tensor,
                    interpolation_mode: InterpolationMode::Linear,
                    scales,
                    input_pixel_offsets,
                    output_pixel_offsets,
                }
                .into(),
                Some(rounding_direction) => Resample2Desc {
                    input_tensor,
                    output_tensor,
                    interpolation_mode: InterpolationMode::NearestNeighbor,
                    rounding_direction,
                    scales,
                    input_pixel_offsets,
                    output_pixel_offsets,
                }
                .into(),
            }
        };
        write(operands, &[(data, &input)], kind, &output, build)
    }

    /// In which direction coordinates are rounded, and what is subtracted before.
    fn rounding(
        &self,
        operands: &Operands<'_>,
        axes: &[Axis],
    ) -> Result<(Option<AxisDirection>, f64)> {
        let (up, down) = (Some(AxisDirection::Increasing), Some(AxisDirection::Decreasing));
        let Interpolation::Nearest(nearest) = self.interpolation else { return Ok((None, 0.0)) };
        Ok(match nearest {
            Nearest::Floor => (down, 0.0),
            Nearest::Ceiling => (up, 0.0),
            Nearest::Round { prefers_floor: true } => (up, 0.5),
            Nearest::Round { prefers_floor: false } => (down, -0.5),
            Nearest::BySize => {
                let [grows, shrinks] =
                    [axes.iter().any(|it| it.scale > 1.0), axes.iter().any(|it| it.scale < 1.0)];
                if grows && shrinks {
                    let reason = "one dimension grows while another one shrinks";
                    return Err(operands.node.not_supported(reason));
                }
                (if shrinks { up } else { down }, 0.0)
            }
        })
    }
}

/// The whole part of a number that is not below 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is beyond 64 bits is their highest number, which no size can be"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

#[expect(clippy::cast_possible_truncation, reason = "rounded, as DirectML has it")]
fn single(number: f64) -> f32 {
    number as f32
}

/// The elements of a value, which are numbers.
fn floats(operands: &Operands<'_>, value: &Value, name: &str) -> Result<Vec<f64>> {
    let double = ElementType::Dml(DataType::Float64);
    let accepted = [ElementType::FLOAT32, ElementType::INT64, double];
    operands.type_is(value.element()?, &accepted, name)?;
    let tensor = operands.read(value)?.converted(double)?;
    Ok(tensor.bits().map(f64::from_bits).collect())
}
