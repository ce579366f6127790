//! How a dimension is resampled with smoothing: where the output is smaller, an element is the mean of all that lie
//! nearer to its coordinate than the next one of the output, each with a weight that falls linearly to 0 there.
//!
//! `mean = sum of w x / sum of w` with `w = max(0, 1 - |x's coordinate - coordinate| scale)`. The sums are of a row
//! of as many elements as can be so near, wherever they are; those beyond the edges do not count.

use dml_core::{DataType, Error};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::lowering::{Along, ONE, to_float};
use crate::ir::space::{Displacement, IterationSpace, Operand};
use crate::ir::{PARTS_OF_SUMS, Recorder, Reduction};
use crate::lowering::made::Made;

/// The place of rows in a space: tensors that are smoothed have fewer dimensions.
const ROW: usize = 0;

impl Along {
    /// The mean for each element of a space of `sizes`, whose quotient is still to be added.
    ///
    /// # Errors
    /// As [`Recorder::reduce`].
    pub(super) fn smoothed(
        &self,
        recorder: &mut Recorder<'_>,
        from: &Operand,
        data_type: DataType,
        sizes: [u32; DIMENSIONS],
    ) -> Result<(Made, Value), Error> {
        let mut weighted = Made::default();
        let element = weighted.input(from.clone());
        let (coordinate, weight) = self.weight(&mut weighted);
        let by = self.offset(&mut weighted, coordinate, &from.strides);
        weighted.inputs[0].strides[self.at] = 0;
        weighted.inputs[0].displacement = Some(Displacement::new(by, self.reach(&from.strides)));
        let element = weighted.apply_all(to_float(data_type), element);
        weighted.apply(&f::MULTIPLY_F32, &[element, weight], &[]);
        let sums = self.sum(recorder, weighted, sizes)?;
        let mut weights = Made::default();
        self.weight(&mut weights);
        let mut own = [1; DIMENSIONS];
        own[self.at] = self.output;
        let weights = self.sum(recorder, weights, own)?;
        let mut made = Made::default();
        let [sum, weight] = [sums, weights].map(|it| made.input(it));
        let mean = made.apply(&f::DIVIDE_F32, &[sum, weight], &[]);
        Ok((made, mean))
    }

    /// How many elements are nearer to a coordinate than the next one of the output, at most.
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
    fn weight(&self, made: &mut Made) -> (Value, Value) {
        let mut strides = [0; DIMENSIONS];
        strides[ROW] = 1;
        let number = made.input(Operand::numbers(0, strides));
        let number = made.apply(&f::U32_TO_F32, &[number], &[]);
        let center = self.coordinate(made);
        let center = self.within(made, center);
        let before = [ONE, (-1.0 / self.scale).to_bits()];
        let first = made.apply(&f::SCALE_BIAS_F32, &[center], &before);
        let first = made.apply(&f::FLOOR_F32, &[first], &[]);
        let last = (self.size - self.row()) as f32;
        let first = made.apply(&f::CLIP_F32, &[first], &[0, last.to_bits()]);
        let coordinate = made.apply(&f::ADD_F32, &[first, number], &[]);
        let distance = made.apply(&f::SUBTRACT_F32, &[coordinate, center], &[]);
        let distance = made.apply(&f::ABSOLUTE_F32, &[distance], &[]);
        let falling = [(-self.scale).to_bits(), ONE];
        let weight = made.apply(&f::SCALE_BIAS_F32, &[distance], &falling);
        (coordinate, made.apply(&f::CLIP_F32, &[weight], &[0, ONE]))
    }

    /// Adds the sums of what `made` makes of rows, for each element of a space.
    fn sum(
        &self,
        recorder: &mut Recorder<'_>,
        made: Made,
        mut sizes: [u32; DIMENSIONS],
    ) -> Result<Operand, Error> {
        let output = recorder.packed_temporary(ElementWidth::B32, &sizes);
        sizes[ROW] = self.row();
        let reduction = Reduction {
            program: made.computation.program,
            parameters: made.computation.parameters,
            ..Reduction::of(PARTS_OF_SUMS, &SUM_F32)
        };
        let space = IterationSpace { sizes, inputs: made.inputs, output: output.clone() };
        recorder.reduce(space, reduction)?;
        Ok(output)
    }
}
