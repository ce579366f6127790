//! Lowers ROI_ALIGN: computes the samples' positions in each cell and their number in each region, then reduces the
//! samples.

use dml_core::operators::MOST_ROI_SAMPLES;
use dml_core::{DataType, Error, InterpolationMode, ReduceFunction, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;
use dml_spirv::reduce::{GREATEST_F32, SUM_F32};

use super::space::{Axis, GRID, REGION, Regions, coordinates};
use crate::Target;
use crate::ir;
use crate::ir::space::{Displacement, Operand};
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::map_builder::MapBuilder;

const ONE: u32 = 0x3f80_0000;
const HALF: u32 = 0x3f00_0000;

/// The attributes by which samples are taken.
pub(super) struct Sampling {
    /// The least and the greatest number of samples of a cell along each axis.
    pub(super) least: u32,
    pub(super) most: u32,
    /// The offsets that are subtracted: from coordinates of the input, and from sample numbers before they
    /// are scaled.
    input_offset: f32,
    output_offset: f32,
    /// Whether the first and the last sample are in the corners.
    is_to_corners: bool,
    pub(super) is_linear: bool,
    pub(super) is_average: bool,
    /// The bits of a sample outside of the input.
    outside: u32,
}

impl Sampling {
    pub(super) fn new(operator: &Validated) -> Result<Self, Error> {
        let is_to_corners = operator.bool("AlignRegionsToCorners").unwrap_or(false);
        let output_offset = operator.float("OutputPixelOffset").unwrap_or(-0.5);
        Ok(Self {
            least: operator.uint("MinimumSamplesPerOutput")?.max(1),
            most: operator.uint("MaximumSamplesPerOutput")?.min(MOST_ROI_SAMPLES),
            input_offset: operator.float("InputPixelOffset").unwrap_or(0.5),
            output_offset: if is_to_corners { 0.0 } else { output_offset },
            is_to_corners,
            is_linear: operator.uint("InterpolationMode")? == InterpolationMode::Linear.dml_value(),
            is_average: operator.uint("ReductionFunction")? == ReduceFunction::Average.dml_value(),
            // Gradients have no such value.
            outside: operator.float("OutOfBoundsInputValue").unwrap_or(0.0).to_bits(),
        })
    }
}

/// The position of a sample along an axis: at `moved / steps` of the way from the first corner to the last,
/// and at this coordinate.
pub(super) struct SamplePosition {
    pub(super) moved: Value,
    pub(super) steps: Value,
    pub(super) coordinate: Value,
}

/// The averages or the greatest of samples.
pub(super) fn samples(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let sampling = Sampling::new(operator)?;
    let [y, x] = ["SpatialScaleY", "SpatialScaleX"].map(|it| operator.float(it));
    let (mut regions, input) = Regions::new(operator, target, 0, [y?, x?])?;
    let [y, x] = regions.axes;
    let tables = [sampling.table(&mut regions, &y)?, sampling.table(&mut regions, &x)?];
    let counts = sampling.counts(&mut regions)?;
    sampling.reduce(regions, input, tables, counts)
}

impl Sampling {
    /// Adds the number of samples of a cell along an axis, from the length of the region.
    pub(super) fn count(&self, map: &mut MapBuilder, length: Value, axis: &Axis) -> Value {
        let cell = map.apply(&f::DIVIDE_BY_F32, &[length], &[(axis.cells as f32).to_bits()]);
        let count = map.apply(&f::CEIL_F32, &[cell], &[]);
        // NaN and negative numbers become 0.
        let count = map.apply(&f::F32_TO_U32, &[count], &[]);
        map.apply(&f::CLIP_U32, &[count], &[self.least, self.most])
    }

    /// Adds the position of a sample along an axis.
    pub(super) fn place(
        &self,
        map: &mut MapBuilder,
        regions: &Regions<'_>,
        axis: &Axis,
    ) -> SamplePosition {
        let [first, last] = regions.corners(map, axis);
        let length = map.apply(&f::SUBTRACT_F32, &[last, first], &[]);
        let count = self.count(map, length, axis);
        let numbers = [axis.cell(), axis.place()].map(|at| map.input(coordinates(0, at)));
        let [cell, place, count] =
            [numbers[0], numbers[1], count].map(|it| map.apply(&f::U32_TO_F32, &[it], &[]));
        let before = map.apply(&f::MULTIPLY_F32, &[cell, count], &[]);
        let sample = map.apply(&f::ADD_F32, &[before, place], &[]);
        let cells = (axis.cells as f32).to_bits();
        let steps = match self.is_to_corners {
            true => {
                let steps = map.apply(&f::SCALE_BIAS_F32, &[count], &[cells, (-1.0_f32).to_bits()]);
                map.apply(&f::THRESHOLD_F32, &[steps], &[ONE])
            }
            false => map.apply(&f::SCALE_BIAS_F32, &[count], &[cells, 0]),
        };
        let step = map.apply(&f::DIVIDE_F32, &[length, steps], &[]);
        let moved = [ONE, (-self.output_offset).to_bits()];
        let moved = map.apply(&f::SCALE_BIAS_F32, &[sample], &moved);
        let scaled = map.apply(&f::MULTIPLY_F32, &[moved, step], &[]);
        let coordinate = map.apply(&f::ADD_F32, &[scaled, first], &[]);
        let from_first = [ONE, (-self.input_offset).to_bits()];
        let coordinate = map.apply(&f::SCALE_BIAS_F32, &[coordinate], &from_first);
        SamplePosition { moved, steps, coordinate }
    }

    /// Adds whether a coordinate is near the elements along an axis, and the nearest coordinate within them.
    pub(super) fn within(map: &mut MapBuilder, axis: &Axis, coordinate: Value) -> [Value; 2] {
        let around = [(-1.0_f32).to_bits(), (axis.size as f32).to_bits()];
        let near = map.apply(&f::CLIP_F32, &[coordinate], &around);
        let is_near = map.apply(&f::EQUALS_F32, &[near, coordinate], &[]);
        let edges = [0, ((axis.size - 1) as f32).to_bits()];
        [is_near, map.apply(&f::CLIP_F32, &[coordinate], &edges)]
    }

    /// Adds the steps that compute the positions of all samples along an axis: offsets, which for the height
    /// include the batch's, and for interpolation the weight of the next neighbour in the high word.
    pub(super) fn table(&self, regions: &mut Regions<'_>, axis: &Axis) -> Result<Operand, Error> {
        let mut map = MapBuilder::default();
        let SamplePosition { coordinate, .. } = self.place(&mut map, regions, axis);
        let [is_near, within] = Self::within(&mut map, axis, coordinate);
        let rounded = match self.is_linear {
            true => within,
            false => map.apply(&f::SCALE_BIAS_F32, &[within], &[ONE, HALF]),
        };
        let below = map.apply(&f::FLOOR_F32, &[rounded], &[]);
        let offset = Self::offset(&mut map, regions, axis, [below, is_near])?;
        let sizes = regions.table(axis, self.most);
        if !self.is_linear {
            return regions.write(map, sizes, ElementWidth::B32);
        }
        let weight = map.apply(&f::SUBTRACT_F32, &[within, below], &[]);
        map.apply(&f::PAIR, &[offset, weight], &[]);
        regions.write(map, sizes, ElementWidth::B64)
    }

    /// Adds the offset of an element with a whole coordinate, which for the height includes the batch's: all
    /// bits are set unless the coordinate is near the input.
    pub(super) fn offset(
        map: &mut MapBuilder,
        regions: &Regions<'_>,
        axis: &Axis,
        [whole, is_near]: [Value; 2],
    ) -> Result<Value, Error> {
        let number = map.apply(&f::F32_TO_U32, &[whole], &[]);
        let mut offset = map.apply(&f::NEAREST_U32, &[number], &[axis.size, axis.stride]);
        if let Some(batches) = regions.batches.clone().filter(|_| axis.at == 0) {
            let data_type = regions.operator.required_tensor("BatchIndicesTensor")?.data_type();
            let nearest = match data_type {
                DataType::Uint64 => &f::NEAREST_U64,
                _ => &f::NEAREST_U32,
            };
            let index = map.input(batches);
            offset = regions.in_batch(map, offset, index, nearest);
        }
        let mask = map.apply(&f::OPPOSITE_I32, &[is_near], &[]);
        let mask = map.apply(&f::BIT_NOT_WORD, &[mask], &[]);
        Ok(map.apply(&f::BIT_OR_WORD, &[offset, mask], &[]))
    }

    /// Adds the steps that compute the number of samples in each region's cells: along the width in the low
    /// word, and along the height in the high word.
    pub(super) fn counts(&self, regions: &mut Regions<'_>) -> Result<Operand, Error> {
        let mut map = MapBuilder::default();
        let counts = regions.axes.map(|axis| {
            let [first, last] = regions.corners(&mut map, &axis);
            let length = map.apply(&f::SUBTRACT_F32, &[last, first], &[]);
            self.count(&mut map, length, &axis)
        });
        let [rows, columns] = counts;
        map.apply(&f::PAIR, &[columns, rows], &[]);
        let mut sizes = [1; 8];
        sizes[REGION] = regions.sizes[REGION];
        regions.write(map, sizes, ElementWidth::B64)
    }

    /// Adds a sample, from its positions in both tables.
    fn sample(
        &self,
        map: &mut MapBuilder,
        regions: &Regions<'_>,
        input: &Operand,
        places: [Value; 2],
    ) -> Value {
        let most = regions.reach();
        let element = |map: &mut MapBuilder, by: Value| {
            let displacement = Some(Displacement::new(by, most));
            let element = map.input(Operand { displacement, ..input.clone() });
            map.apply_all(widened(regions.data_type), element)
        };
        let joined = |map: &mut MapBuilder, [y, x]: [Value; 2]| map.apply(&f::JOINED, &[y, x], &[]);
        if !self.is_linear {
            let offset = joined(map, places);
            let value = element(map, offset);
            return map.apply(&f::UNLESS_NOWHERE, &[value, offset], &[self.outside]);
        }
        let offsets = places.map(|place| map.apply(&f::LOW_WORDS, &[place], &[]));
        let weights = places.map(|place| map.apply(&f::HIGH_WORDS, &[place], &[]));
        let upper = [0, 1].map(|at| {
            let stride = regions.axes[at].stride;
            map.apply(&f::UPPER_NEIGHBOUR, &[offsets[at], weights[at]], &[stride])
        });
        let mut nowhere = None;
        let rows = [offsets[0], upper[0]].map(|y| {
            let [a, b] = [offsets[1], upper[1]].map(|x| {
                let offset = joined(map, [y, x]);
                nowhere.get_or_insert(offset);
                element(map, offset)
            });
            map.apply(&f::INTERPOLATED_F32, &[a, b, weights[1]], &[])
        });
        let mean = map.apply(&f::INTERPOLATED_F32, &[rows[0], rows[1], weights[0]], &[]);
        let offset = nowhere.unwrap_or(offsets[0]);
        map.apply(&f::UNLESS_NOWHERE, &[mean, offset], &[self.outside])
    }

    /// The program, with a reduction of the samples after the steps so far.
    fn reduce(
        &self,
        mut regions: Regions<'_>,
        input: Operand,
        tables: [Operand; 2],
        counts: Operand,
    ) -> Result<ir::Program, Error> {
        let mut map = MapBuilder::default();
        let places = tables.map(|table| map.input(table));
        let number = map.inputs.len();
        map.input(counts.clone());
        let sample = self.sample(&mut map, &regions, &input, places);
        let is_divided_later = self.is_average && self.least != self.most;
        let output = match is_divided_later {
            true => regions.recorder.packed_temporary(ElementWidth::B32, &regions.sizes),
            false => regions.of_cells.clone(),
        };
        let reducer = if self.is_average { &SUM_F32 } else { &GREATEST_F32 };
        let mut sizes = regions.sizes;
        sizes[GRID..].fill(self.most);
        let to = (sizes, output.clone());
        let (space, reduction) = map.reduced(sample, reducer, to, |map, mut result| {
            if is_divided_later {
                return;
            }
            if self.is_average {
                let count = (self.most * self.most) as f32;
                result = map.apply(&f::DIVIDE_BY_F32, &[result], &[count.to_bits()]);
            }
            map.apply_all(narrowed(regions.data_type), result);
        });
        regions.recorder.reduce_grids(space, number, reduction)?;
        if is_divided_later {
            let mut map = MapBuilder::default();
            let [sum, counts] = [output, counts].map(|it| map.input(it));
            let [columns, rows] =
                [&f::LOW_WORDS, &f::HIGH_WORDS].map(|it| map.apply(it, &[counts], &[]));
            let count = map.apply(&f::MULTIPLY_I32, &[columns, rows], &[]);
            let count = map.apply(&f::U32_TO_F32, &[count], &[]);
            let average = map.apply(&f::DIVIDE_F32, &[sum, count], &[]);
            map.apply_all(narrowed(regions.data_type), average);
            map.record(&mut regions.recorder, regions.sizes, regions.of_cells)?;
        }
        Ok(regions.recorder.finish())
    }
}
