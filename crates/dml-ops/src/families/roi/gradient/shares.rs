//! The gradients of elements: the sums of their shares of the gradients of cells.

use dml_core::Error;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::{CHANNEL, Gradient, PARTS};
use crate::families::roi::space::{Axis, CELLS, REGION, along};
use crate::ir::space::Operand;
use crate::lowering::conversion::narrowed;
use crate::lowering::map_builder::MapBuilder;

/// The dimension of a space of cells that numbers elements along an axis.
const ELEMENT: usize = PARTS;
/// The dimensions of spaces of elements: four for the elements, then regions and cells.
const BATCHES: usize = 0;
const HEIGHT: usize = 2;
const WIDTH: usize = 3;
const OF_REGIONS: usize = 4;
/// The most elements of a temporary buffer for a part of the channels, 64 MiB; a single channel may need more.
const MOST_ELEMENTS: u64 = 1 << 24;
/// About the most parts; they exceed the other limits where there would be more.
const MOST_PARTS: u32 = 64;
/// The most coordinates of a space, unless that takes more than `MOST_PARTS` parts.
const MOST_COORDINATES: u64 = u32::MAX as u64;

/// A part of the channels and a part of the rows of elements: the first of each, and their number.
#[derive(Clone, Copy)]
struct ChannelTile {
    channels: [u32; 2],
    rows: [u32; 2],
}

impl ChannelTile {
    /// Divides the channels and rows of elements into parts. A channel has `between` elements between both
    /// sums, and takes `of_row` coordinates for each row of elements.
    fn all([_, channels, height, _]: [u32; 4], between: u64, of_row: u64) -> Vec<Self> {
        // The length of equal parts of a dimension, of which there are no more than `parts`.
        let length = |most: u64, size: u32, parts: u32| {
            let most = u32::try_from(most).unwrap_or(size);
            most.max(size.div_ceil(parts)).clamp(1, size)
        };
        let all_rows = of_row.saturating_mul(height.into());
        let most = (MOST_ELEMENTS / between).min(MOST_COORDINATES / all_rows);
        let count = length(most, channels, MOST_PARTS);
        let of_row = of_row.saturating_mul(count.into());
        let of_channels = channels.div_ceil(count);
        let rows = length(MOST_COORDINATES / of_row, height, (MOST_PARTS / of_channels).max(1));
        let parts = |size: u32, length: u32| {
            (0..size.div_ceil(length)).map(move |at| [at * length, length.min(size - at * length)])
        };
        let of = |channels| parts(height, rows).map(move |rows| Self { channels, rows });
        parts(channels, count).flat_map(of).collect()
    }

    /// An operand of a space of elements from the first row of the part on; with `channels` from its first
    /// channel on, too.
    fn of(&self, operand: &Operand, channels: bool) -> Operand {
        let mut base = operand.base + i64::from(self.rows[0]) * operand.strides[HEIGHT];
        if channels {
            base += i64::from(self.channels[0]) * operand.strides[CHANNEL];
        }
        Operand { base, ..operand.clone() }
    }
}

impl Gradient<'_> {
    /// Adds the steps that write the gradients of the elements.
    pub(super) fn write_elements(&mut self, mut output: Operand) -> Result<(), Error> {
        output.strides.rotate_left(DIMENSIONS / 2);
        match self.chosen.clone() {
            Some(chosen) => self.of_greatest(&chosen, &output),
            None => self.of_averages(&output),
        }
    }

    /// Records the gradients of averages: all samples of a cell have equal shares; sums along rows of cells
    /// come first.
    fn of_averages(&mut self, output: &Operand) -> Result<(), Error> {
        let [y, x] = self.regions.axes;
        let [down, across] = [self.weights(&y)?, self.weights(&x)?];
        let [batches, _, _, width] = self.elements;
        let lines = i64::from(self.regions.sizes[REGION]) * i64::from(y.cells);
        let between = lines.unsigned_abs() * u64::from(width);
        let of_row = between * u64::from(batches);
        let mut last = None;
        for part in ChannelTile::all(self.elements, between, of_row) {
            let [first, count] = part.channels;
            let sums = match last.take() {
                Some((channels, sums)) if channels == part.channels => sums,
                _ => self.sums_across(&across, [first, count])?,
            };
            let mut map = MapBuilder::default();
            let mut strides = along(CHANNEL, lines * i64::from(width));
            strides[WIDTH] = lines;
            (strides[OF_REGIONS], strides[OF_REGIONS + 1]) = (y.cells.into(), 1);
            let sum = map.input(Operand { strides, ..sums.clone() });
            let mut strides = along(BATCHES, lines * i64::from(self.elements[HEIGHT]));
            strides[HEIGHT] = lines;
            (strides[OF_REGIONS], strides[OF_REGIONS + 1]) = (y.cells.into(), 1);
            let weight = map.input(part.of(&Operand { strides, ..down.clone() }, false));
            let share = Self::share(&mut map, sum, weight);
            let mut sizes = [1; DIMENSIONS];
            sizes[OF_REGIONS] = self.regions.sizes[REGION];
            sizes[OF_REGIONS + 1] = y.cells;
            self.sum(map, share, sizes, (part, output))?;
            last = Some((part.channels, sums));
        }
        Ok(())
    }

    /// Adds the steps that write the weight of every row or column of elements in every cell along an axis:
    /// for each element the cells of all regions.
    fn weights(&mut self, axis: &Axis) -> Result<Operand, Error> {
        let counts = self.counts_along(axis)?;
        let [batches, _, height, width] = self.elements;
        let count = if axis.at == 0 { batches * height } else { width };
        let mut map = MapBuilder::default();
        let place = map.input(self.places[axis.at].clone());
        let number = map.inputs.len();
        let counts = map.input(counts);
        let weight = self.weight(&mut map, place, axis, along(ELEMENT, axis.stride.into()));
        let half = if axis.at == 0 { &f::HIGH_WORDS } else { &f::LOW_WORDS };
        let samples = map.apply(half, &[counts], &[]);
        let samples = map.apply(&f::U32_TO_F32, &[samples], &[]);
        let share = map.apply(&f::DIVIDE_F32, &[weight, samples], &[]);
        let mut sizes = self.regions.table(axis, self.sampling.most);
        sizes[ELEMENT] = count;
        let lines = u64::from(sizes[REGION]) * u64::from(axis.cells);
        let place = self.regions.recorder.temporary(ElementWidth::B32, lines * u64::from(count));
        let mut output = place.clone();
        output.strides[ELEMENT] = lines.cast_signed();
        output.strides[REGION] = axis.cells.into();
        output.strides[axis.cell()] = 1;
        let (space, reduction) = map.reduced(share, &SUM_F32, (sizes, output), |_, _| ());
        self.regions.recorder.reduce_grids(space, number, reduction)?;
        Ok(place)
    }

    /// Adds the steps that write the number of samples of each region's cells along an axis, as the sizes of grids.
    fn counts_along(&mut self, axis: &Axis) -> Result<Operand, Error> {
        let mut map = MapBuilder::default();
        let [first, last] = self.regions.corners(&mut map, axis);
        let length = map.apply(&f::SUBTRACT_F32, &[last, first], &[]);
        let count = self.sampling.count(&mut map, length, axis);
        let one = map.input(Operand::numbers(1, [0; DIMENSIONS]));
        let [columns, rows] = if axis.at == 0 { [one, count] } else { [count, one] };
        map.apply(&f::PAIR, &[columns, rows], &[]);
        let mut sizes = [1; DIMENSIONS];
        sizes[REGION] = self.regions.sizes[REGION];
        self.regions.write(map, sizes, ElementWidth::B64)
    }

    /// Adds the weight of an element in a sample; `own` are the strides of the element's offset along the axis.
    fn weight(
        &self,
        map: &mut MapBuilder,
        place: Value,
        axis: &Axis,
        own: [i64; DIMENSIONS],
    ) -> Value {
        let (offset, fraction) = self.halves(map, place);
        let is_at = |map: &mut MapBuilder, first: i64| {
            let own = map.input(Operand::numbers(first, own));
            map.apply(&f::EQUALS_I32, &[offset, own], &[])
        };
        let is_below = is_at(map, 0);
        let Some(fraction) = fraction else {
            return map.apply(&f::U32_TO_F32, &[is_below], &[]);
        };
        let is_above = is_at(map, -i64::from(axis.stride));
        let rest = map.computation.scaled(fraction, -1.0, 1.0);
        // All bits of a mask are set where the element is the one before the sample, or the one after it.
        let [of_below, of_above] = [(is_below, rest), (is_above, fraction)].map(|(is, weight)| {
            let mask = map.apply(&f::OPPOSITE_I32, &[is], &[]);
            map.apply(&f::BIT_AND_WORD, &[weight, mask], &[])
        });
        let weight = map.apply(&f::BIT_OR_WORD, &[of_below, of_above], &[]);
        map.apply(&f::UNLESS_NOWHERE, &[weight, offset], &[0])
    }

    /// Adds the steps that write the sums along the cells across, for some channels. The sums are ordered by
    /// channels, columns of elements, regions and cells down.
    fn sums_across(
        &mut self,
        across: &Operand,
        [first, channels]: [u32; 2],
    ) -> Result<Operand, Error> {
        let [_, x] = self.regions.axes;
        let mut sizes = self.regions.sizes;
        (sizes[CHANNEL], sizes[ELEMENT]) = (channels, self.elements[WIDTH]);
        let lines = i64::from(sizes[REGION]) * i64::from(sizes[CELLS]);
        let count = lines.unsigned_abs() * u64::from(sizes[ELEMENT]) * u64::from(channels);
        let place = self.regions.recorder.temporary(ElementWidth::B32, count);
        let mut output = place.clone();
        output.strides[CHANNEL] = lines * i64::from(sizes[ELEMENT]);
        output.strides[ELEMENT] = lines;
        output.strides[REGION] = sizes[CELLS].into();
        output.strides[CELLS] = 1;
        let mut map = MapBuilder::default();
        let gradient = self.of_cell(&mut map);
        map.inputs[0].base += i64::from(first) * map.inputs[0].strides[CHANNEL];
        let mut weights = along(ELEMENT, i64::from(sizes[REGION]) * i64::from(x.cells));
        weights[REGION] = x.cells.into();
        weights[x.cell()] = 1;
        let weight = map.input(Operand { strides: weights, ..across.clone() });
        let share = Self::share(&mut map, gradient, weight);
        let (space, reduction) = map.reduced(share, &SUM_F32, (sizes, output), |_, _| ());
        self.regions.recorder.reduce(space, reduction)?;
        Ok(place)
    }

    /// Records the gradients of maxima: a cell's gradient goes to the elements around its greatest sample.
    fn of_greatest(&mut self, chosen: &Operand, output: &Operand) -> Result<(), Error> {
        let gradients = self.by_channels(ElementWidth::B32, 1);
        let mut map = MapBuilder::default();
        let gradient = self.of_cell(&mut map);
        let chosen = map.input(chosen.clone());
        map.apply(&f::UNLESS_NOWHERE, &[gradient, chosen], &[0]);
        map.record(&mut self.regions.recorder, self.regions.sizes, gradients.clone())?;

        let cells = self.regions.sizes;
        let [batches, _, height, width] = self.elements;
        let plane = i64::from(height) * i64::from(width);
        let of_cells = |it: &Operand| {
            let mut strides = along(CHANNEL, it.strides[CHANNEL]);
            strides[OF_REGIONS] = it.strides[REGION];
            strides[OF_REGIONS + 1..OF_REGIONS + 3].copy_from_slice(&it.strides[CELLS..PARTS]);
            Operand { strides, ..it.clone() }
        };
        let all_cells: u64 =
            [REGION, CELLS, CELLS + 1].map(|at| u64::from(cells[at])).iter().product();
        let of_row = all_cells * u64::from(batches) * u64::from(width);
        for part in ChannelTile::all(self.elements, 1, of_row) {
            let mut map = MapBuilder::default();
            let tables = [&gradients, &self.places[0], &self.places[1]];
            let [gradient, y, x] = tables.map(|table| map.input(part.of(&of_cells(table), true)));
            let mut rows = along(BATCHES, plane);
            rows[HEIGHT] = width.into();
            let axes = self.regions.axes;
            let first = map.inputs.len();
            let of_row = self.weight(&mut map, y, &axes[0], rows);
            map.inputs[first..].iter_mut().for_each(|it| *it = part.of(it, false));
            let of_column = self.weight(&mut map, x, &axes[1], along(WIDTH, 1));
            let share = Self::share(&mut map, gradient, of_column);
            let share = Self::share(&mut map, share, of_row);
            let mut sizes = [1; DIMENSIONS];
            sizes[OF_REGIONS] = cells[REGION];
            sizes[OF_REGIONS + 1..OF_REGIONS + 3].copy_from_slice(&cells[CELLS..PARTS]);
            self.sum(map, share, sizes, (part, output))?;
        }
        Ok(())
    }

    /// Adds the Reduce that sums shares for a part of the elements; `sizes` has the sizes of regions and cells.
    fn sum(
        &mut self,
        map: MapBuilder,
        share: Value,
        mut sizes: [u32; DIMENSIONS],
        (part, output): (ChannelTile, &Operand),
    ) -> Result<(), Error> {
        let [batches, _, _, width] = self.elements;
        sizes[..OF_REGIONS].copy_from_slice(&[batches, part.channels[1], part.rows[1], width]);
        let to = (sizes, part.of(output, true));
        let (space, reduction) = map.reduced(share, &SUM_F32, to, |map, sum| {
            // Adding 0 makes -0 positive.
            let sum = map.computation.scaled(sum, 1.0, 0.0);
            map.apply_all(narrowed(self.regions.data_type), sum);
        });
        self.regions.recorder.reduce(space, reduction)
    }
}
