//! The greatest sample of each cell, and its place.

use dml_core::Error;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;
use dml_spirv::reduce::{GREATEST_F32, LEAST_U32};

use super::Gradient;
use crate::families::roi::space::{CELLS, CHANNEL, GRID, PARTS, REGION, along};
use crate::ir::space::{Displacement, Operand};
use crate::lowering::map_builder::MapBuilder;

impl Gradient<'_> {
    /// Adds, for maxima, the steps that find the greatest sample of each cell, the first of several; from
    /// then on `places` are the places of these samples. Samples outside of the tensor are ignored.
    pub(super) fn choose(&mut self) -> Result<(), Error> {
        if self.sampling.is_average {
            return Ok(());
        }
        let counts = self.sampling.counts(&mut self.regions)?;
        let sizes = self.sizes_of_samples();
        let cells = self.regions.sizes;
        let [greatest, chosen] =
            [0; 2].map(|_| self.regions.recorder.packed_temporary(ElementWidth::B32, &cells));
        let mut map = MapBuilder::default();
        let ([value, offset], number) = self.sample(&mut map, &counts)?;
        let least = f32::NEG_INFINITY.to_bits();
        let value = map.apply(&f::UNLESS_NOWHERE, &[value, offset], &[least]);
        let to = (sizes, greatest.clone());
        let (space, reduction) = map.reduced(value, &GREATEST_F32, to, |_, _| ());
        self.regions.recorder.reduce_grids(space, number, reduction)?;

        let mut map = MapBuilder::default();
        let ([value, offset], number) = self.sample(&mut map, &counts)?;
        let greatest = map.input(greatest);
        let mut of_samples = along(GRID, self.sampling.most.into());
        of_samples[GRID + 1] = 1;
        let own = map.input(Operand::numbers(0, of_samples));
        let own = map.apply(&f::NUMBER_WHERE_EQUAL_F32, &[value, greatest, own], &[]);
        let own = map.apply(&f::UNLESS_NOWHERE, &[own, offset], &[f::NOWHERE]);
        let (space, reduction) = map.reduced(own, &LEAST_U32, (sizes, chosen.clone()), |_, _| ());
        self.regions.recorder.reduce_grids(space, number, reduction)?;
        self.chosen = Some(chosen);
        let [y, x] = self.places.clone();
        self.places = [self.of_chosen(0, &y, 1)?, self.of_chosen(1, &x, 1)?];
        Ok(())
    }

    /// Adds a sample and its offset, and returns them with the number of the input that has the sizes of grids.
    fn sample(&self, map: &mut MapBuilder, counts: &Operand) -> Result<([Value; 2], usize), Error> {
        let places = self.places.clone().map(|it| map.input(it));
        let number = map.inputs.len();
        map.input(counts.clone());
        let [(y, below), (x, left)] = places.map(|place| self.halves(map, place));
        let around = self.around(map, [y, x], below)?;
        let (Some(below), Some(left)) = (below, left) else {
            return Ok(([around.rows[0][0], around.offset], number));
        };
        let [first, second] = around.rows.map(|[element, neighbour]| {
            map.apply(&f::INTERPOLATED_F32, &[element, neighbour, left], &[])
        });
        let value = map.apply(&f::INTERPOLATED_F32, &[first, second, below], &[]);
        Ok(([value, around.offset], number))
    }

    /// Adds the steps that read a table of samples along an axis at the chosen samples, for each of its
    /// `parts`. The result has an element for each cell, which is nowhere where no sample is chosen.
    pub(super) fn of_chosen(
        &mut self,
        axis: usize,
        table: &Operand,
        parts: u32,
    ) -> Result<Operand, Error> {
        let Some(chosen) = self.chosen.clone() else { return Ok(table.clone()) };
        let axis = self.regions.axes[axis];
        let (most, stride) = (self.sampling.most, table.strides[axis.place()]);
        let step = u32::try_from(stride).unwrap_or(0);
        let inner = if axis.at == 0 { most } else { 1 };
        let mut map = MapBuilder::default();
        let chosen = map.input(chosen);
        let by = map.apply(&f::WINDOW_AT, &[chosen], &[inner, most, step, 0]);
        let reach = u64::from(most - 1) * u64::from(step);
        let displacement = Some(Displacement::new(by, reach));
        let mut table = Operand { displacement, ..table.clone() };
        table.strides[axis.place()] = 0;
        let width = table.width;
        let place = map.input(table);
        if width == ElementWidth::B64 {
            let chosen = map.apply(&f::U32_TO_U64, &[chosen], &[]);
            map.apply(&f::UNLESS_NOWHERE_64, &[place, chosen], &[f::NOWHERE, 0]);
        } else {
            map.apply(&f::UNLESS_NOWHERE, &[place, chosen], &[f::NOWHERE]);
        }
        let output = self.by_channels(width, parts);
        let mut sizes = self.regions.sizes;
        sizes[PARTS] = parts;
        map.record(&mut self.regions.recorder, sizes, output.clone())?;
        Ok(output)
    }

    /// A buffer of `parts` with an element for each cell in each; the cells of a channel are adjacent.
    pub(super) fn by_channels(&mut self, width: ElementWidth, parts: u32) -> Operand {
        let sizes = self.regions.sizes.map(i64::from);
        let count: u64 = self.regions.sizes.iter().map(|size| u64::from(*size)).product();
        let mut place = self.regions.recorder.temporary(width, count * u64::from(parts));
        let [down, across] = [CELLS, CELLS + 1].map(|at| sizes[at]);
        place.strides[PARTS] = if parts > 1 { count.cast_signed() } else { 0 };
        place.strides[CHANNEL] = sizes[REGION] * down * across;
        place.strides[REGION] = down * across;
        place.strides[CELLS] = across;
        place.strides[CELLS + 1] = 1;
        place
    }
}
