//! Resampling of a dimension with smoothing: where the output is smaller, an output element is the weighted
//! mean of all input elements within one output element's distance, with weights that fall linearly to 0 at
//! that distance.
//!
//! `mean = sum of w x / sum of w` with `w = max(0, 1 - |x's coordinate - coordinate| scale)`. Rows have as
//! many elements as can be within that distance; elements beyond the edges have no weight.

use dml_core::{DataType, Error};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::lowering::{Along, ONE, to_float};
use crate::ir::space::{Displacement, IterationSpace, Operand};
use crate::ir::{Recorder, Reduction};
use crate::lowering::map_builder::MapBuilder;

/// The dimension of a space that holds the rows; smoothed tensors have fewer dimensions than a space.
const ROW: usize = 0;

impl Along {
    /// Adds the steps that sum weighted elements and weights, and returns a Map, to be recorded, that
    /// computes their quotient.
    ///
    /// # Errors
    /// As [`Recorder::reduce`].
    pub(super) fn smoothed(
        &self,
        recorder: &mut Recorder<'_>,
        from: &Operand,
        data_type: DataType,
        sizes: [u32; DIMENSIONS],
    ) -> Result<(MapBuilder, Value), Error> {
        let mut weighted = MapBuilder::default();
        let element = weighted.input(from.clone());
        let mut own = self.own_sizes();
        own[ROW] = self.row();
        let [by, weight] = weighted.tabulated(recorder, own, |map| {
            let (coordinate, weight) = self.weight(map);
            [self.offset(map, coordinate, &from.strides), weight]
        });
        weighted.inputs[0].strides[self.at] = 0;
        weighted.inputs[0].displacement = Some(Displacement::new(by, self.reach(&from.strides)));
        let element = weighted.apply_all(to_float(data_type), element);
        weighted.apply(&f::MULTIPLY_F32, &[element, weight], &[]);
        let sums = self.sum(recorder, weighted, sizes)?;
        let mut weights = MapBuilder::default();
        weights.tabulated(recorder, own, |map| [self.weight(map).1]);
        let weights = self.sum(recorder, weights, self.own_sizes())?;
        let mut map = MapBuilder::default();
        let [sum, weight] = [sums, weights].map(|it| map.input(it));
        let mean = map.apply(&f::DIVIDE_F32, &[sum, weight], &[]);
        Ok((map, mean))
    }

    /// The most elements within the distance of one output element.
    fn row(&self) -> u32 {
        let near = (2.0 / self.scale).ceil() + 2.0;
        let is_some = near < self.size as f32;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number below a size"
        )]
        let near = near as u32;
        if is_some { near.min(self.size) } else { self.size }
    }

    /// Adds the coordinate of a row's element and its weight.
    fn weight(&self, map: &mut MapBuilder) -> (Value, Value) {
        let mut strides = [0; DIMENSIONS];
        strides[ROW] = 1;
        let number = map.input(Operand::numbers(0, strides));
        let number = map.apply(&f::U32_TO_F32, &[number], &[]);
        let center = self.coordinate(map);
        let center = self.within(map, center);
        let before = [ONE, (-1.0 / self.scale).to_bits()];
        let first = map.apply(&f::SCALE_BIAS_F32, &[center], &before);
        let first = map.apply(&f::FLOOR_F32, &[first], &[]);
        let last = (self.size - self.row()) as f32;
        let first = map.apply(&f::CLIP_F32, &[first], &[0, last.to_bits()]);
        let coordinate = map.apply(&f::ADD_F32, &[first, number], &[]);
        let distance = map.apply(&f::SUBTRACT_F32, &[coordinate, center], &[]);
        let distance = map.apply(&f::ABSOLUTE_F32, &[distance], &[]);
        let falling = [(-self.scale).to_bits(), ONE];
        let weight = map.apply(&f::SCALE_BIAS_F32, &[distance], &falling);
        (coordinate, map.apply(&f::CLIP_F32, &[weight], &[0, ONE]))
    }

    /// Adds the Reduce that sums the rows of `map`, for each element of a space.
    fn sum(
        &self,
        recorder: &mut Recorder<'_>,
        map: MapBuilder,
        mut sizes: [u32; DIMENSIONS],
    ) -> Result<Operand, Error> {
        let output = recorder.packed_temporary(ElementWidth::B32, &sizes);
        sizes[ROW] = self.row();
        let reduction = Reduction {
            program: map.computation.program,
            parameters: map.computation.parameters,
            ..Reduction::of(&SUM_F32)
        };
        let space = IterationSpace { sizes, inputs: map.inputs, output: output.clone() };
        recorder.reduce(space, reduction)?;
        Ok(output)
    }
}
