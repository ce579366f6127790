//! Regions of interest: ROI_ALIGN1 and ROI_POOLING.

use dml_core::operators::{RoiAlign1Desc, RoiPoolingDesc};
use dml_core::value::element_bits;
use dml_core::{DataType, InterpolationMode, ReduceFunction};
use smallvec::smallvec;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::dml::storage_type;
use crate::graph::ops::arithmetic::{ADD, MAXIMUM, MULTIPLY, SUBTRACT, WHERE};
use crate::graph::ops::composed::ABSOLUTE;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::packed::{Use, write};
use crate::graph::ops::slice::{Walk, walked};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, text};

/// RoiAlign: averages or maxima of samples in the cells of regions.
#[derive(Debug)]
pub(crate) struct RoiAlign {
    /// The number of samples per cell in each dimension; 0 for the cell's length in elements.
    pub(crate) samples: u32,
    pub(crate) is_maximum: bool,
    /// Whether coordinates are shifted by half an element. Otherwise regions are at least one element large.
    pub(crate) is_half_pixel: bool,
    pub(crate) scale: f32,
    /// The number of cells along the height and along the width.
    pub(crate) cells: [u64; 2],
}

/// MaxRoiPool: the maxima of the cells of regions.
#[derive(Debug)]
pub(crate) struct MaxRoiPool {
    pub(crate) scale: f32,
    pub(crate) cells: [u64; 2],
}

impl Op for RoiAlign {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, regions) = (operands.value(0, "X")?, operands.value(1, "rois")?);
        let batches = operands.value(2, "batch_indices")?;
        let kind = regions_kind(operands, [data, regions], 4, self.cells)?;
        operands.type_is(batches.element()?, &[ElementType::INT64], "batch_indices")?;
        if batches.shape()? != &kind.shape[..1] {
            let (given, accepted) = (text(batches.shape()?), text(&kind.shape[..1]));
            let problem = "is the wrong shape";
            return Err(operands.node.invalid("batch_indices", given, problem, accepted));
        }
        // A negative batch index, seen as unsigned, is far beyond the last batch.
        let unsigned = ElementType::Dml(DataType::Uint64);
        let batches = Value { element: Some(unsigned), ..batches.clone() };
        let regions = match self.is_half_pixel {
            true => regions.clone(),
            false => self.of_one_element(operands, regions)?,
        };
        let aligned = |data: &Value| self.aligned(operands, [data, &regions, &batches], &kind);
        if !self.is_maximum {
            return Ok(vec![aligned(data)?]);
        }
        // ONNX's maximum is over each neighbour times its weight, not over interpolated samples. Of two
        // neighbours one has an even coordinate: with all elements of other parities set to 0, a sample is a
        // single neighbour times its weight.
        let mut all = parities(operands, data)?.into_iter().map(|it| aligned(&it));
        let first = all.next().transpose()?.unwrap_or_else(|| data.clone());
        let greatest = |a: Value, b: Result<Value>| apply(operands, MAXIMUM, &[a, b?]);
        Ok(vec![all.try_fold(first, greatest)?])
    }
}

impl RoiAlign {
    /// The regions, enlarged to at least one element.
    fn of_one_element(&self, operands: &NodeInputs<'_>, regions: &Value) -> Result<Value> {
        let Kind { element, shape } = regions.kind()?;
        let half = |first| {
            walked(operands, regions, &[Walk::whole(shape[0]), Walk::forwards(shape[1], first, 2)])
        };
        let (starts, ends) = (half(0)?, half(2)?);
        let storage = storage_type(operands.node, element)?;
        let number = |value: f32| Value::scalar(element, element_bits(value, storage));
        let one = number(1.0 / self.scale);
        let mut least = apply(operands, ADD, &[starts.clone(), one.clone()])?;
        if self.samples == 0 {
            // A length that is rounded to more than one element would take another sample.
            let rounding = number(if storage == DataType::Float16 { 2e-3 } else { 2.4e-7 });
            let greatest = apply(
                operands,
                ADD,
                &[apply(operands, ABSOLUTE, std::slice::from_ref(&starts))?, one],
            )?;
            let margin = apply(operands, MULTIPLY, &[greatest, rounding])?;
            least = apply(operands, SUBTRACT, &[least, margin])?;
        }
        let ends = apply(operands, MAXIMUM, &[ends, least])?;
        join(operands, &[&starts, &ends], 1, "rois")
    }

    fn aligned(
        &self,
        operands: &NodeInputs<'_>,
        [data, regions, batches]: [&Value; 3],
        kind: &Kind,
    ) -> Result<Value> {
        let inputs = [data, regions, batches];
        let shapes = [data.shape()?, regions.shape()?, batches.shape()?];
        let inputs: Vec<(&Value, &[u64])> = inputs.into_iter().zip(shapes).collect();
        let function = if self.is_maximum { ReduceFunction::Max } else { ReduceFunction::Average };
        write(
            operands,
            Use::Computed,
            &inputs,
            kind.clone(),
            &kind.shape,
            |mut it, output_tensor| {
                RoiAlign1Desc {
                    input_tensor: it.remove(0),
                    roi_tensor: it.remove(0),
                    batch_indices_tensor: it.remove(0),
                    output_tensor,
                    reduction_function: function,
                    interpolation_mode: InterpolationMode::Linear,
                    spatial_scale_x: self.scale,
                    spatial_scale_y: self.scale,
                    input_pixel_offset: if self.is_half_pixel { 0.5 } else { 0.0 },
                    output_pixel_offset: -0.5,
                    out_of_bounds_input_value: 0.0,
                    minimum_samples_per_output: self.samples.max(1),
                    maximum_samples_per_output: if self.samples > 0 {
                        self.samples
                    } else {
                        u32::MAX
                    },
                    align_regions_to_corners: false,
                }
                .into()
            },
        )
    }
}

/// Four copies of the data, each keeping the elements with one combination of even and odd coordinates in the
/// last two dimensions.
fn parities(operands: &NodeInputs<'_>, data: &Value) -> Result<Vec<Value>> {
    let Kind { element, shape } = data.kind()?;
    let zero = Value::scalar(element, 0);
    let plane = &shape[2..];
    let parity = |[odd_row, odd_column]: [u64; 2]| {
        let column = |y: u64| move |x: u64| u8::from(y % 2 == odd_row && x % 2 == odd_column);
        let bytes: Vec<u8> = (0..plane[0]).flat_map(|y| (0..plane[1]).map(column(y))).collect();
        let mask = Value::host(Tensor::new(ElementType::Bool, plane.to_vec(), bytes)?);
        apply(operands, WHERE, &[mask, data.clone(), zero.clone()])
    };
    [[0, 0], [0, 1], [1, 0], [1, 1]].into_iter().map(parity).collect()
}

impl Op for MaxRoiPool {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (data, regions) = (operands.value(0, "X")?, operands.value(1, "rois")?);
        let kind = regions_kind(operands, [data, regions], 5, self.cells)?;
        let inputs = [(data, data.shape()?), (regions, regions.shape()?)];
        let [down, across] = self.cells.map(|cell| u32::try_from(cell).unwrap_or(u32::MAX));
        let shape = kind.shape.clone();
        let pooled =
            write(operands, Use::Computed, &inputs, kind, &shape, |mut it, output_tensor| {
                RoiPoolingDesc {
                    input_tensor: it.remove(0),
                    roi_tensor: it.remove(0),
                    output_tensor,
                    spatial_scale: self.scale,
                    pooled_size: [across, down],
                }
                .into()
            });
        pooled.map(|pooled| vec![pooled])
    }
}

/// The output's type and shape, for data of four dimensions and regions described by this many numbers.
fn regions_kind(
    operands: &NodeInputs<'_>,
    [data, regions]: [&Value; 2],
    numbers: u64,
    cells: [u64; 2],
) -> Result<Kind> {
    let (Kind { element, shape }, given) = (data.kind()?, regions.shape()?);
    let wrong = |name: &str, given: &[u64], accepted: &str| {
        operands.node.invalid(name, text(given), "is the wrong shape", accepted)
    };
    if shape.len() != 4 {
        return Err(wrong("X", &shape, "batches, channels, height and width"));
    }
    let [count, width] = given else {
        return Err(wrong("rois", given, "two dimensions"));
    };
    if *width != numbers {
        return Err(wrong("rois", given, &format!("[{count}, {numbers}]")));
    }
    operands.type_is(regions.element()?, &[element], "rois")?;
    Ok(Kind { element, shape: smallvec![*count, shape[1], cells[0], cells[1]] })
}
