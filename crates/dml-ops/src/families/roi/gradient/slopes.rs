//! The gradients of regions: the slopes of samples with respect to the corners' coordinates.

use dml_core::Error;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::{Gradient, PARTS};
use crate::families::roi::align::{SamplePosition, Sampling};
use crate::families::roi::space::{Axis, REGION, along};
use crate::ir::space::Operand;
use crate::lowering::conversion::narrowed;
use crate::lowering::map_builder::MapBuilder;

/// The dimension of a space of cells that numbers the corners: the first and the last one.
const CORNER: usize = PARTS;
const CORNERS: u32 = 2;

impl Gradient<'_> {
    /// Adds the steps that write the gradients of the regions' coordinates.
    pub(super) fn write_regions(&mut self, output: Operand) -> Result<(), Error> {
        const NUMBER: usize = DIMENSIONS - 1;
        let number = output.strides[NUMBER];
        let mut strides = along(REGION, output.strides[NUMBER - 1]);
        strides[CORNER] = 2 * number;
        for axis in self.regions.axes {
            // A corner's x comes before its y.
            let base = output.base + if axis.at == 0 { number } else { 0 };
            let output = Operand { base, strides, ..output.clone() };
            match self.sampling.is_linear {
                true => self.write_corners(&axis, output)?,
                false => self.write_zeros(output)?,
            }
        }
        Ok(())
    }

    /// The sizes of a space with an element for each corner of each region.
    fn sizes_of_corners(&self) -> [u32; DIMENSIONS] {
        let mut sizes = [1; DIMENSIONS];
        (sizes[REGION], sizes[CORNER]) = (self.regions.sizes[REGION], CORNERS);
        sizes
    }

    /// Writes zeros: with the nearest element, a sample does not change if it moves a little.
    fn write_zeros(&mut self, output: Operand) -> Result<(), Error> {
        let mut map = MapBuilder::default();
        let zero = self.regions.recorder.constant(output.width, 0);
        map.input(zero);
        let sizes = self.sizes_of_corners();
        map.record(&mut self.regions.recorder, sizes, output)
    }

    /// Adds the steps that write the gradients of both corners' coordinates along an axis.
    fn write_corners(&mut self, axis: &Axis, output: Operand) -> Result<(), Error> {
        let (sums, counts) = self.of_cells(axis)?;
        let sizes = self.sizes_of_corners();
        let of_regions = self.regions.recorder.packed_temporary(ElementWidth::B32, &sizes);
        let mut all = self.regions.sizes;
        all[CORNER] = CORNERS;
        let mut map = MapBuilder::default();
        let sum = map.input(sums);
        let to = (all, of_regions.clone());
        let (space, reduction) = map.reduced(sum, &SUM_F32, to, |_, _| ());
        self.regions.recorder.reduce(space, reduction)?;

        let mut map = MapBuilder::default();
        let mut value = map.input(of_regions);
        if let Some(counts) = counts {
            let counts = map.input(counts);
            let [columns, rows] =
                [&f::LOW_WORDS, &f::HIGH_WORDS].map(|half| map.apply(half, &[counts], &[]));
            let count = map.apply(&f::MULTIPLY_I32, &[columns, rows], &[]);
            let count = map.apply(&f::U32_TO_F32, &[count], &[]);
            value = map.apply(&f::DIVIDE_F32, &[value, count], &[]);
        }
        let value = map.computation.scaled(value, axis.scale, 0.0);
        map.apply_all(narrowed(self.data_type()), value);
        map.record(&mut self.regions.recorder, sizes, output)
    }

    /// Adds the steps that write the cells' contributions to both corners, by corners, regions, channels and
    /// cells. Returns them, and for averages the number of samples that they have to be divided by.
    fn of_cells(&mut self, axis: &Axis) -> Result<(Operand, Option<Operand>), Error> {
        let factors = self.factors(axis)?;
        let mut sizes = self.sizes_of_samples();
        sizes[CORNER] = CORNERS;
        let mut cells = self.regions.sizes;
        cells[CORNER] = CORNERS;
        // The contributions to a corner of a region are contiguous, as rows of the next sum.
        let mut output = self.regions.recorder.packed_temporary(ElementWidth::B32, &cells);
        let of_region: i64 =
            self.regions.sizes[REGION + 1..].iter().map(|it| i64::from(*it)).product();
        output = output.packed(&self.regions.sizes);
        output.strides[CORNER] = of_region * i64::from(cells[REGION]);
        let mut map = MapBuilder::default();
        if self.chosen.is_some() {
            self.slope(&mut map, axis, factors)?;
            map.record(&mut self.regions.recorder, sizes, output.clone())?;
            return Ok((output, None));
        }
        let counts = self.sampling.counts(&mut self.regions)?;
        map.input(counts.clone());
        let slope = self.slope(&mut map, axis, factors)?;
        let (space, reduction) = map.reduced(slope, &SUM_F32, (sizes, output.clone()), |_, _| ());
        self.regions.recorder.reduce_grids(space, 0, reduction)?;
        Ok((output, Some(counts)))
    }

    /// Adds the slope of a sample times its cell's gradient, from the places along the other axis and the
    /// factors along this axis.
    fn slope(&self, map: &mut MapBuilder, axis: &Axis, factors: Operand) -> Result<Value, Error> {
        let mut places = self.places.clone();
        places[axis.at] = factors;
        let places = places.map(|place| map.input(place));
        let gradient = self.of_cell(map);
        let [[y, down], [x, across]] = places.map(|place| {
            [&f::LOW_WORDS, &f::HIGH_WORDS].map(|half| map.apply(half, &[place], &[]))
        });
        let around = self.around(map, [y, x], Some(down))?;
        let [[before, before_right], [after, after_right]] = around.rows;
        // Subtracts first: interpolated elements are rounded, and their differences would lose digits.
        let (pairs, weight, factor) = match axis.at {
            0 => ([[before, after], [before_right, after_right]], across, down),
            _ => ([[before, before_right], [after, after_right]], down, across),
        };
        let [first, second] = pairs.map(|[from, to]| map.apply(&f::SUBTRACT_F32, &[to, from], &[]));
        let slope = map.apply(&f::INTERPOLATED_F32, &[first, second, weight], &[]);
        let slope = map.apply(&f::MULTIPLY_F32, &[slope, gradient], &[]);
        let share = Self::share(map, slope, factor);
        Ok(map.apply(&f::UNLESS_NOWHERE, &[share, around.offset], &[0]))
    }

    /// Adds the steps that write how far samples along an axis move with each corner: offsets, and in the
    /// high words factors, which are 0 where a sample is exactly at an element.
    fn factors(&mut self, axis: &Axis) -> Result<Operand, Error> {
        let sizes = self.regions.table(axis, self.sampling.most);
        let mut both = sizes;
        both[CORNER] = CORNERS;
        let table = self.regions.recorder.packed_temporary(ElementWidth::B64, &both);
        for corner in 0..CORNERS {
            let mut map = MapBuilder::default();
            let SamplePosition { moved, steps, coordinate } =
                self.sampling.place(&mut map, &self.regions, axis);
            let [is_near, within] = Sampling::within(&mut map, axis, coordinate);
            let below = map.apply(&f::FLOOR_F32, &[within], &[]);
            let fraction = map.apply(&f::SUBTRACT_F32, &[within, below], &[]);
            let part = match corner {
                0 => map.apply(&f::SUBTRACT_F32, &[steps, moved], &[]),
                _ => moved,
            };
            let factor = map.apply(&f::DIVIDE_F32, &[part, steps], &[]);
            let is_at = map.apply(&f::LOGICAL_NOT_WORD, &[fraction], &[]);
            let is_between = map.apply(&f::LOGICAL_NOT_WORD, &[is_at], &[]);
            let moves = map.apply(&f::BIT_AND_WORD, &[is_between, is_near], &[]);
            let mask = map.apply(&f::OPPOSITE_I32, &[moves], &[]);
            let factor = map.apply(&f::BIT_AND_WORD, &[factor, mask], &[]);
            let offset = Sampling::offset(&mut map, &self.regions, axis, [below, is_near])?;
            map.apply(&f::PAIR, &[offset, factor], &[]);
            let base = table.base + i64::from(corner) * table.strides[CORNER];
            let output = Operand { base, ..table.clone() };
            map.record(&mut self.regions.recorder, sizes, output)?;
        }
        self.of_chosen(axis.at, &table, CORNERS)
    }
}
