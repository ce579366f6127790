//! DeformConv: a convolution whose filters read samples at computed places, as GridSample reads them.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{ADD, MULTIPLY};
use crate::graph::ops::cast::cast;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::grid::{GridSample, LINEAR, Padding};
use crate::graph::ops::product::multiplied;
use crate::graph::ops::split::parts;
use crate::graph::ops::table::table;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;
use crate::tensor::text;

/// ONNX's DeformConv of two spatial dimensions. Inputs are the data, the filters, the offset of each sample, a bias
/// and a factor for each sample.
#[derive(Debug)]
pub(crate) struct DeformableConvolution {
    pub(crate) groups: i64,
    /// The number of groups of channels that share offsets.
    pub(crate) offset_groups: i64,
    pub(crate) kernel: Option<Vec<i64>>,
    pub(crate) dilations: Vec<i64>,
    pub(crate) pads: Vec<i64>,
    pub(crate) strides: Vec<i64>,
}

/// The sizes of one call.
struct Sizes {
    batches: u64,
    channels: u64,
    places: [u64; 2],
    filters: u64,
    taps: [u64; 2],
    output: [u64; 2],
    groups: u64,
    offset_groups: u64,
}

impl Sizes {
    fn samples(&self) -> u64 {
        self.taps[0] * self.taps[1]
    }

    fn outputs(&self) -> u64 {
        self.output[0] * self.output[1]
    }
}

impl Op for DeformableConvolution {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let sizes = self.sizes(operands)?;
        let (data, filter) = (operands.value(0, "X")?, operands.value(1, "W")?);
        let images = sizes.batches * sizes.offset_groups;
        let channels = sizes.channels / sizes.offset_groups;
        let data = operands.reshaped(data, &[&[images, channels], &sizes.places[..]].concat())?;
        let grid = self.grid(operands, &sizes)?;
        let sample =
            GridSample { sampling: LINEAR, padding: Padding::Zeros, aligns_corners: false };
        let of = NodeInputs { values: vec![Some(&data), Some(&grid)], ..*operands };
        let mut samples = sample.evaluate(&of)?.remove(0);
        if let Some(mask) = operands.optional(4) {
            let mask = operands.reshaped(mask, &[images, 1, sizes.samples(), sizes.outputs()])?;
            samples = apply(operands, MULTIPLY, &[samples, mask])?;
        }
        let depth = sizes.channels / sizes.groups * sizes.samples();
        let columns = [sizes.batches, sizes.groups, depth, sizes.outputs()];
        let columns = operands.reshaped(&samples, &columns)?;
        let rows = [1, sizes.groups, sizes.filters / sizes.groups, depth];
        let rows = operands.reshaped(filter, &rows)?;
        let sums = multiplied(operands, &rows, &columns)?;
        let output = [&[sizes.batches, sizes.filters], &sizes.output[..]].concat();
        let mut result = operands.reshaped(&sums, &output)?;
        if let Some(bias) = operands.optional(3) {
            let bias = operands.reshaped(bias, &[sizes.filters, 1, 1])?;
            result = apply(operands, ADD, &[result, bias])?;
        }
        Ok(vec![result])
    }
}

impl DeformableConvolution {
    fn sizes(&self, operands: &NodeInputs<'_>) -> Result<Sizes> {
        let wrong = |name: &str, shape: &[u64], accepted: String| {
            operands.node.invalid(name, text(shape), "is the wrong shape", accepted)
        };
        let shape = operands.shape(0, "X")?;
        let &[batches, channels, height, width] = shape else {
            let reason = format!("{} dimensions are not sampled so, but 4", shape.len());
            return Err(operands.node.not_supported(reason));
        };
        let count = |given: i64, name: &str, of: u64| {
            let count = u64::try_from(given).ok().filter(|it| *it > 0 && of.is_multiple_of(*it));
            let accepted = format!("a divisor of {of}");
            count.ok_or_else(|| operands.node.invalid(name, given, "does not fit", accepted))
        };
        let filter = operands.shape(1, "W")?;
        let &[filters, depth, taps_y, taps_x] = filter else {
            return Err(wrong("W", filter, "four dimensions".to_owned()));
        };
        let groups = count(self.groups, "attribute group", channels)?;
        count(self.groups, "attribute group", filters)?;
        let offset_groups = count(self.offset_groups, "attribute offset_group", channels)?;
        let is_kernel = |kernel: &Vec<i64>| {
            let taps = [taps_y, taps_x].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
            *kernel == taps
        };
        if depth != channels / groups || !self.kernel.as_ref().is_none_or(is_kernel) {
            let accepted =
                format!("[.., {}, ..] with the attribute kernel_shape", channels / groups);
            return Err(wrong("W", filter, accepted));
        }
        let taps = [taps_y, taps_x];
        let output = [0, 1].map(|at| self.output(operands, at, [[height, width][at], taps[at]]));
        let [rows, columns] = output;
        let output = [rows?, columns?];
        // No tensor has as many elements as saturated products say.
        let samples = offset_groups.saturating_mul(taps_y).saturating_mul(taps_x);
        let offsets = [batches, samples.saturating_mul(2), output[0], output[1]];
        operands.has_shape(operands.value(2, "offset")?, &offsets, "offset")?;
        if let Some(bias) = operands.optional(3) {
            operands.has_shape(bias, &[filters], "B")?;
        }
        if let Some(mask) = operands.optional(4) {
            operands.has_shape(mask, &[batches, samples, output[0], output[1]], "mask")?;
        }
        let places = [height, width];
        Ok(Sizes { batches, channels, places, filters, taps, output, groups, offset_groups })
    }

    /// The number of outputs along a spatial dimension of `size` elements and `taps` of the filter.
    fn output(&self, operands: &NodeInputs<'_>, at: usize, [size, taps]: [u64; 2]) -> Result<u64> {
        let one = |list: &[i64], default| list.get(at).copied().unwrap_or(default);
        let pads = i128::from(one(&self.pads, 0)) + i128::from(self.end(at));
        let reach = (i128::from(taps) - 1) * i128::from(one(&self.dilations, 1)) + 1;
        let room = i128::from(size) + pads - reach;
        let stride = i128::from(one(&self.strides, 1));
        let is_valid = stride > 0 && one(&self.dilations, 1) > 0 && room >= 0;
        let output = is_valid.then(|| room / stride + 1);
        output.and_then(|output| u64::try_from(output).ok()).ok_or_else(|| {
            let problem = "leaves no output";
            let accepted =
                "strides and dilations of at least 1, and windows within the padded data";
            operands.node.invalid("attributes strides and pads", stride, problem, accepted)
        })
    }

    /// The padding at the end of a dimension.
    fn end(&self, at: usize) -> i64 {
        self.pads.get(2 + at).copied().unwrap_or(0)
    }

    /// The coordinates of all samples from -1 to 1, innermost dimension first.
    fn grid(&self, operands: &NodeInputs<'_>, sizes: &Sizes) -> Result<Value> {
        const SINGLE: ElementType = ElementType::FLOAT32;
        let images = sizes.batches * sizes.offset_groups;
        let offset = cast(operands, operands.value(2, "offset")?, SINGLE)?;
        let (samples, outputs) = (sizes.samples(), sizes.outputs());
        let offset = operands.reshaped(&offset, &[images, samples, 2, outputs])?;
        let mut along = parts(operands, &offset, 2, &[1, 1])?;
        for (at, offset) in along.iter_mut().enumerate() {
            let size = float(sizes.places[at]);
            // Elements have width 2 / size, and -1 is the outer edge of the first one.
            let table = table(SINGLE, vec![1, samples, 1, outputs], self.places(sizes, at))?;
            let place = apply(operands, ADD, &[offset.clone(), table])?;
            let number =
                |value: f64| Value::scalar(SINGLE, crate::convert::from_float(value, SINGLE));
            let scaled = apply(operands, MULTIPLY, &[place, number(2.0 / size)])?;
            let scaled = apply(operands, ADD, &[scaled, number(1.0 / size - 1.0)])?;
            *offset = operands.reshaped(&scaled, &[images, samples, outputs, 1])?;
        }
        join(operands, &[&along[1], &along[0]], 3, "offset")
    }

    /// The coordinate of every sample along a dimension without its offset.
    fn places(&self, sizes: &Sizes, at: usize) -> impl Iterator<Item = f64> {
        let one = |list: &[i64], default| list.get(at).copied().unwrap_or(default) as f64;
        let (stride, dilation) = (one(&self.strides, 1), one(&self.dilations, 1));
        let start = -one(&self.pads, 0);
        let ([_, columns], [_, across]) = (sizes.taps, sizes.output);
        let (samples, outputs) = (sizes.samples(), sizes.outputs());
        (0..samples).flat_map(move |sample| {
            (0..outputs).map(move |output| {
                let tap = [sample / columns, sample % columns][at];
                let place = [output / across, output % across][at];
                start + stride * float(place) + dilation * float(tap)
            })
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes of tensors are far smaller")]
fn float(size: u64) -> f64 {
    size as f64
}
