//! References of operators on regions of interest by the documentation, region by region.

use dml_core::operators::MOST_ROI_SAMPLES;
use dml_core::schema::{Comparison, OperatorSchema};
use dml_core::{DataType, Error, InterpolationMode, ReduceFunction, TensorLayout, Validated};

use super::cases::{CaseGenerator, drawn};
use crate::number::{double, encoded};
use crate::{Random, Reference};

/// The reference of an operator on regions of interest.
pub(super) struct OfRegions {
    pub(super) schema: &'static OperatorSchema,
}

/// A region along the height or the width of the input.
pub(in crate::families) struct Extent {
    /// The input's size, and the number of the region's cells.
    pub(in crate::families) size: u32,
    pub(in crate::families) cells: u32,
    /// The scaled corners.
    pub(in crate::families) first: f32,
    pub(in crate::families) last: f32,
}

/// A sampling position along a dimension: the elements below and above it, and the weight of the one above.
#[derive(Clone, Copy)]
pub(in crate::families) struct SamplePosition {
    pub(in crate::families) below: usize,
    pub(in crate::families) above: usize,
    pub(in crate::families) weight: f64,
    /// The position as a fraction of the way from the first corner to the last.
    pub(in crate::families) part: f64,
}

impl Extent {
    /// The sampling positions of a cell, `None` if outside; every step is in single precision.
    pub(in crate::families) fn samples(
        &self,
        operator: &Validated,
        cell: u32,
    ) -> Result<Vec<Option<SamplePosition>>, Error> {
        let optional = |name, default| operator.float(name).unwrap_or(default);
        let corners = operator.bool("AlignRegionsToCorners").unwrap_or(false);
        let offset = if corners { 0.0 } else { optional("OutputPixelOffset", -0.5) };
        let least = operator.uint("MinimumSamplesPerOutput")?.max(1);
        let most = operator.uint("MaximumSamplesPerOutput")?.min(MOST_ROI_SAMPLES);
        let length = self.last - self.first;
        let cells = self.cells as f32;
        let count = saturated((length / cells).ceil()).clamp(least, most);
        let steps = cells * count as f32;
        let steps = if corners { (steps - 1.0).max(1.0) } else { steps };
        let is_linear =
            operator.uint("InterpolationMode")? == InterpolationMode::Linear.dml_value();
        let place = |sample: u32| {
            let sample = cell as f32 * count as f32 + sample as f32;
            let x = (sample - offset) * (length / steps) + self.first;
            let x = x - optional("InputPixelOffset", 0.5);
            let (size, last) = (self.size as f32, self.size - 1);
            if !(-1.0..=size).contains(&x) {
                return None;
            }
            let within = x.clamp(0.0, last as f32);
            let nearest = if is_linear { within } else { within + 0.5 };
            let below = saturated(nearest.floor()) as usize;
            let weight = if is_linear { f64::from(within.fract()) } else { 0.0 };
            let part = f64::from(sample - offset) / f64::from(steps);
            Some(SamplePosition { below, above: (below + 1).min(last as usize), weight, part })
        };
        Ok((0..count).map(place).collect())
    }

    /// The elements of a cell of ROI_POOLING.
    fn elements(&self, cell: u32) -> std::ops::Range<i128> {
        const FARTHEST: f32 = 536_870_912.0;
        #[expect(clippy::cast_possible_truncation, reason = "it is near enough")]
        let whole = |it: f32| it.round().clamp(-FARTHEST, FARTHEST) as i128;
        let (first, last) = (whole(self.first), whole(self.last));
        let (length, cells) = ((last - first + 1).max(1), i128::from(self.cells));
        let share = i128::from(cell) * length;
        let end = (share + length + cells - 1) / cells + first;
        let within = |it: i128| it.clamp(0, self.size.into());
        within(share / cells + first)..within(end)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is not a number, or negative, is 0"
)]
fn saturated(value: f32) -> u32 {
    value as u32
}

/// The elements of the input.
struct Planes<'a> {
    sizes: &'a [u32],
    data_type: DataType,
    bits: &'a [u64],
}

impl Planes<'_> {
    fn at(&self, batch: u64, channel: u32, y: usize, x: usize) -> f64 {
        let batch = batch.min(u64::from(self.sizes[0]) - 1);
        let batch = usize::try_from(batch).unwrap_or(0);
        let [channels, height, width] = [1, 2, 3].map(|at| self.sizes[at] as usize);
        let plane = batch * channels + channel as usize;
        double(self.data_type, self.bits[(plane * height + y) * width + x])
    }
}

fn between(a: f64, b: f64, weight: f64) -> f64 {
    // An element of weight 0 does not contribute, even if it is NaN.
    if weight == 0.0 { a } else { a * (1.0 - weight) + b * weight }
}

/// The greatest value, or NaN if there is one.
fn greatest(values: impl Iterator<Item = f64>) -> Option<f64> {
    let is_less = |a: f64, b: f64| b.is_nan() || (!a.is_nan() && a.total_cmp(&b).is_lt());
    values.reduce(|a, b| if is_less(a, b) { b } else { a })
}

pub(in crate::families) fn is_average(operator: &Validated) -> bool {
    operator.uint("ReductionFunction").ok() == Some(ReduceFunction::Average.dml_value())
}

/// Whether every element of the output is an element of the input, or the out-of-bounds value.
fn is_moved(operator: &Validated) -> bool {
    let mode = operator.uint("InterpolationMode").ok();
    !is_average(operator) && mode != Some(InterpolationMode::Linear.dml_value())
}

impl Reference for OfRegions {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let [input, output] =
            ["InputTensor", "OutputTensor"].map(|it| operator.required_tensor(it));
        let (input, output) = (input?, output?.sizes());
        let (data_type, sizes) = (input.data_type(), input.sizes());
        let elements = |at: usize| inputs.get(at).and_then(|it| it.as_deref()).unwrap_or_default();
        let planes = Planes { sizes, data_type, bits: elements(0) };
        let pools = operator.float("SpatialScale");
        let width = if pools.is_ok() { 5 } else { 4 };
        let scale = |name| pools.clone().or_else(|_| operator.float(name));
        let scales = [scale("SpatialScaleY")?, scale("SpatialScaleX")?];
        let mut result = vec![];
        for region in 0..output[0] as usize {
            let numbers = &elements(1)[region * width..][..width];
            #[expect(clippy::cast_possible_truncation, reason = "floats of at most 32 bits")]
            let number = |bits: &u64| double(data_type, *bits) as f32;
            let numbers: Vec<f32> = numbers.iter().map(number).collect();
            let corners = &numbers[width - 4..];
            let extent = |at: usize| Extent {
                size: sizes[2 + at],
                cells: output[2 + at],
                first: corners[1 - at] * scales[at],
                last: corners[3 - at] * scales[at],
            };
            let extents = [extent(0), extent(1)];
            let batch = match width {
                5 => saturated(numbers[0]).into(),
                _ => elements(2)[region],
            };
            for channel in 0..output[1] {
                let at = |y, x| planes.at(batch, channel, y, x);
                for (y, x) in (0..output[2]).flat_map(|y| (0..output[3]).map(move |x| (y, x))) {
                    let value = match width {
                        5 => pooled(&extents, [y, x], at),
                        _ => aligned(operator, &extents, [y, x], at)?,
                    };
                    result.push(encoded(data_type, value));
                }
            }
        }
        Ok(vec![result])
    }

    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        match is_moved(operator) {
            true => Comparison::Ulp(0),
            false => operator.schema().comparison(data_type),
        }
    }

    fn may_flush(&self, operator: &Validated, index: usize) -> bool {
        index > 0 || !is_moved(operator)
    }

    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        drawn(random, operator, index, layout, is_moved(operator))
    }

    cases_by!(self, signature: CaseGenerator { schema: self.schema, signature });
}

/// The greatest element of a cell, whose elements `at` gives; 0 if the cell is empty.
fn pooled(extents: &[Extent; 2], cell: [u32; 2], at: impl Fn(usize, usize) -> f64) -> f64 {
    let [rows, columns] = [0, 1].map(|it| extents[it].elements(cell[it]));
    let place = |it: i128| usize::try_from(it).unwrap_or(0);
    let all = rows.flat_map(|y| columns.clone().map(move |x| (y, x)));
    greatest(all.map(|(y, x)| at(place(y), place(x)))).unwrap_or(0.0)
}

/// The average or the greatest of a cell's samples.
fn aligned(
    operator: &Validated,
    extents: &[Extent; 2],
    cell: [u32; 2],
    at: impl Fn(usize, usize) -> f64,
) -> Result<f64, Error> {
    let [rows, columns] = [0, 1].map(|it| extents[it].samples(operator, cell[it]));
    let (rows, columns) = (rows?, columns?);
    let outside = f64::from(operator.float("OutOfBoundsInputValue")?);
    let sample = |y: &Option<SamplePosition>, x: &Option<SamplePosition>| match (y, x) {
        (Some(y), Some(x)) => {
            let row = |y: usize| between(at(y, x.below), at(y, x.above), x.weight);
            between(row(y.below), row(y.above), y.weight)
        }
        _ => outside,
    };
    let sample = &sample;
    let samples = rows.iter().flat_map(|y| columns.iter().map(move |x| sample(y, x)));
    Ok(match is_average(operator) {
        true => samples.sum::<f64>() / (rows.len() * columns.len()) as f64,
        false => greatest(samples).unwrap_or(outside),
    })
}
