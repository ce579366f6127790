//! Lowers gradients of resampling: each element is the weighted sum of the gradients of all elements computed
//! from it.
//!
//! RESAMPLE_GRAD of FLOAT32 [1, 1, 1, 8] to [1, 1, 1, 4] with linear interpolation:
//!
//! ```text
//! RESAMPLE_GRAD
//!   input 0 = InputGradientTensor FLOAT32 [1, 1, 1, 8]
//!   output 0 = OutputGradientTensor FLOAT32 [1, 1, 1, 4]
//!   %0 = constant 0x00000000ffffffff..., 92 bytes
//!   %1 = constant 0x0000803f00000000..., 92 bytes
//!   output 0 by [0, 0, 0, 0, 4, 4, 4, 1] over [5, 1, 1, 1, 1, 1, 1, 4] = reduce sum_high sum_rest of_both of multiply, then scale_bias (input 0 by [0, 0, 0, 0, 8, 8, 8, 0] displaced by i1, %0, %1)
//!     816 bytes, 40 operations, 4 invocations
//! ```
//!
//! In each dimension the elements that were computed from one element are neighbours: all rows are as long as
//! the longest such range. The tables give the place and the weight of each of them, which the lowering
//! computes as resampling does, in FLOAT32 by the functions' twins; elements of a row that were computed from
//! other elements are nowhere. One dimension is summed after the other, in FLOAT32.

use dml_core::{Error, InterpolationMode, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::lowering::{Along, ONE, Rounding, along_of, rounding};
use crate::Target;
use crate::ir::space::{Displacement, Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::{narrowed, widened};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

/// The dimension of a space that holds the rows; resampled tensors have fewer dimensions than a space.
const ROW: usize = 0;

/// Up to this size of a dimension, the length of rows is computed exactly rather than estimated.
const MOST_COUNTED: u32 = 1 << 16;

pub(super) fn gradient(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let is_linear = operator.uint("InterpolationMode")? == InterpolationMode::Linear.dml_value();
    let rounding = if is_linear { None } else { Some(rounding(operator)) };
    let mut recorder = Recorder::new(operator, target);
    let [mut from] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let tensors =
        ["OutputGradientTensor", "InputGradientTensor"].map(|it| operator.required_tensor(it));
    let [elements, resampled] = tensors;
    let (elements, resampled) = (elements?, resampled?);
    let data_type = elements.data_type();
    let along = along_of(operator, elements.sizes(), resampled.sizes())?;
    let mut sizes = leading(resampled.sizes(), 1);
    let (mut widening, narrowing) = (widened(data_type), narrowed(data_type));
    let Some((last, before)) = along.split_last() else {
        let mut map = MapBuilder::default();
        let value = map.input(from);
        let value = map.apply_all(widening, value);
        let value = map.computation.scaled(value, 1.0, 0.0);
        map.apply_all(narrowing, value);
        map.record(&mut recorder, sizes, output)?;
        return Ok(recorder.finish());
    };
    for dimension in before {
        sizes[dimension.at] = dimension.size;
        let to = recorder.packed_temporary(ElementWidth::B32, &sizes);
        let sum = Gathered { along: dimension, rounding };
        sum.write(&mut recorder, (&from, &widening), sizes, (&to, &[]))?;
        (from, widening) = (to, vec![]);
    }
    sizes[last.at] = last.size;
    let sum = Gathered { along: last, rounding };
    sum.write(&mut recorder, (&from, &widening), sizes, (&output, &narrowing))?;
    Ok(recorder.finish())
}

/// A sum along one dimension of the resampled gradients.
struct Gathered<'a> {
    along: &'a Along,
    /// The rounding of coordinates to the nearest element; `None` with linear interpolation.
    rounding: Option<Rounding>,
}

impl Gathered<'_> {
    /// Adds the steps that write an element for each coordinate of `sizes`.
    fn write(
        &self,
        recorder: &mut Recorder<'_>,
        (from, widening): (&Operand, &[&'static f::Function]),
        sizes: [u32; DIMENSIONS],
        (to, narrowing): (&Operand, &[&'static f::Function]),
    ) -> Result<(), Error> {
        let along = self.along;
        let mut map = MapBuilder::default();
        let element = map.input(from.clone());
        let (row, mut own) = (self.row(), [1; DIMENSIONS]);
        (own[ROW], own[along.at]) = (row, along.size);
        let [by, weight] = map.tabulated(recorder, own, |map| self.share(map, row, &from.strides));
        let reach = u64::from(along.output - 1) * from.strides[along.at].unsigned_abs();
        map.inputs[0].strides[along.at] = 0;
        map.inputs[0].displacement = Some(Displacement::new(by, reach));
        let element = map.apply_all(widening.iter().copied(), element);
        let share = match self.rounding {
            Some(_) => map.apply(&f::SAME, &[element], &[]),
            None => map.apply(&f::MULTIPLY_F32, &[element, weight], &[]),
        };
        let mut space = sizes;
        space[ROW] = row;
        let (space, reduction) = map.reduced(share, &SUM_F32, (space, to.clone()), |map, sum| {
            // Adding 0 makes -0 positive.
            let sum = map.computation.scaled(sum, 1.0, 0.0);
            map.apply_all(narrowing.iter().copied(), sum);
        });
        recorder.reduce(space, reduction)
    }

    /// Adds the offset of a row's element, nowhere where its weight is 0, and its weight.
    fn share(&self, map: &mut MapBuilder, row: u32, strides: &[i64; DIMENSIONS]) -> [Value; 2] {
        let along = self.along;
        let [own, number] = [along.at, ROW].map(|at| {
            let mut strides = [0; DIMENSIONS];
            strides[at] = 1;
            map.input(Operand::numbers(0, strides))
        });
        let first = self.first(map, row, own);
        let at = map.apply(&f::ADD_I32, &[first, number], &[]);
        let coordinate = map.apply(&f::U32_TO_F32, &[at], &[]);
        let coordinate = along.coordinate_of(map, coordinate);
        let whole = |map: &mut MapBuilder, coordinate: Value| {
            let within = along.within(map, coordinate);
            let whole = map.apply(&f::F32_TO_U32, &[within], &[]);
            let is_own = map.apply(&f::EQUALS_I32, &[whole, own], &[]);
            map.apply(&f::U32_TO_F32, &[is_own], &[])
        };
        let weight = match self.rounding {
            Some(rounding) => {
                let rounded = rounding.apply(map, coordinate);
                whole(map, rounded)
            }
            None => {
                let within = along.within(map, coordinate);
                let below = map.apply(&f::FLOOR_F32, &[within], &[]);
                let weight = map.apply(&f::SUBTRACT_F32, &[within, below], &[]);
                let above = map.apply(&f::SCALE_BIAS_F32, &[below], &[ONE, ONE]);
                let [is_below, is_above] = [below, above].map(|it| whole(map, it));
                let rest = map.computation.scaled(weight, -1.0, 1.0);
                let of_below = map.apply(&f::MULTIPLY_F32, &[is_below, rest], &[]);
                let of_above = map.apply(&f::MULTIPLY_F32, &[is_above, weight], &[]);
                map.apply(&f::ADD_F32, &[of_below, of_above], &[])
            }
        };
        let stride = u32::try_from(strides[along.at]).unwrap_or(0);
        let offset = map.apply(&f::NEAREST_U32, &[at], &[along.output, stride]);
        // All bits are set where the weight is 0.
        let is_nowhere = map.apply(&f::LOGICAL_NOT_WORD, &[weight], &[]);
        let mask = map.apply(&f::OPPOSITE_I32, &[is_nowhere], &[]);
        [map.apply(&f::BIT_OR_WORD, &[offset, mask], &[]), weight]
    }

    /// Adds the number of a row's first element: no element before it was computed from the element with the
    /// number `own`.
    fn first(&self, map: &mut MapBuilder, row: u32, own: Value) -> Value {
        let [before, scale, after] = self.inverse();
        let number = map.apply(&f::U32_TO_F32, &[own], &[]);
        let coordinate = map.computation.scaled(number, 1.0, before);
        let first = map.computation.scaled(coordinate, scale, after);
        let first = map.apply(&f::FLOOR_F32, &[first], &[]);
        let last = (self.along.output - row) as f32;
        let first = map.apply(&f::CLIP_F32, &[first], &[0, last.to_bits()]);
        let first = map.apply(&f::F32_TO_U32, &[first], &[]);
        let first = map.apply(&f::CLIP_U32, &[first], &[0, self.along.output - row]);
        // Elements whose coordinate is below 0 are computed from the first one.
        let is_first = map.apply(&f::LOGICAL_NOT_WORD, &[own], &[]);
        let mask = map.apply(&f::OPPOSITE_I32, &[is_first], &[]);
        let mask = map.apply(&f::BIT_NOT_WORD, &[mask], &[]);
        map.apply(&f::BIT_AND_WORD, &[first, mask], &[])
    }

    /// The summand, factor and second summand that map the number of an element to the first element that may
    /// have been computed from it. They allow for an error of 0.001 elements, and of another 2^-20 of the
    /// greatest number in the calculation.
    fn inverse(&self) -> [f32; 3] {
        let along = self.along;
        let greatest = [
            along.output as f32,
            along.size as f32 * along.scale,
            along.input_offset.abs() * along.scale,
            along.output_offset.abs(),
        ];
        let slack = 0.001 + greatest.into_iter().fold(0.0, f32::max) / (1 << 20) as f32;
        [along.input_offset - 1.0, along.scale, along.output_offset - slack]
    }

    /// [`Self::first`] on the host, without the clipping to the end of the dimension.
    fn first_of(&self, number: u32) -> u32 {
        let [before, scale, after] = self.inverse();
        let first = ((number as f32 + before) * scale + after).floor();
        if number == 0 { 0 } else { saturated(first) }
    }

    /// The element that the one with this number is computed from, the lower one of two.
    fn below(&self, number: u32) -> u32 {
        let along = self.along;
        let coordinate = (number as f32 - along.output_offset) / along.scale - along.input_offset;
        let whole = match self.rounding {
            Some(rounding) => rounding.of(coordinate),
            None => coordinate.floor(),
        };
        saturated(whole.clamp(0.0, (along.size - 1) as f32))
    }

    /// The first element that was not computed from any element up to this number.
    fn end(&self, number: u32) -> u32 {
        let (mut least, mut most) = (0, self.along.output);
        while least < most {
            let middle = least + (most - least) / 2;
            if self.below(middle) > number { most = middle } else { least = middle + 1 }
        }
        least
    }

    /// The length of rows: the most elements that may have been computed from one element.
    fn row(&self) -> u32 {
        let along = self.along;
        let of = |number: u32| self.end(number).saturating_sub(self.first_of(number));
        let most = if along.size <= MOST_COUNTED {
            (0..along.size).map(of).max().unwrap_or(1)
        } else {
            // Two elements are 2 times the scale apart, and the first one of a row is found with the same
            // slack as here.
            let [.., after] = self.inverse();
            let between = 2.0 * along.scale + 2.0 * (along.output_offset - after) + 2.0;
            of(0).max(of(along.size - 1)).max(saturated(between.ceil()))
        };
        most.clamp(1, along.output)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn along(size: u32, output: u32, scale: f32, offsets: [f32; 2]) -> Along {
        Along {
            at: 7,
            size,
            output,
            scale,
            input_offset: offsets[0],
            output_offset: offsets[1],
            is_smoothed: false,
        }
    }

    const ROUNDINGS: [Option<Rounding>; 4] =
        [None, Some(Rounding::Nearest), Some(Rounding::Down), Some(Rounding::Up)];

    #[test]
    fn rows_begin_before_all_that_was_made_of_an_element() {
        for (size, output, scale, offsets) in [
            (5, 15, 3.0, [0.5, -0.5]),
            (9, 3, 0.33, [0.5, -0.5]),
            (40, 100, 2.4, [-0.25, 0.75]),
            (7, 50, 1.5, [30.0, 2.0]),
            (1000, 3001, 3.0007, [0.0, 0.0]),
        ] {
            let along = along(size, output, scale, offsets);
            for rounding in ROUNDINGS {
                let gathered = Gathered { along: &along, rounding };
                let row = gathered.row();
                for number in 0..size {
                    let first = gathered.first_of(number).min(output - row);
                    let is_made_of = |at: &u32| {
                        let below = gathered.below(*at);
                        let coordinate = (*at as f32 - offsets[1]) / scale - offsets[0];
                        let has_weight = coordinate > 0.0 && coordinate.fract() > 0.0;
                        let is_above = rounding.is_none() && has_weight && below + 1 == number;
                        below == number || is_above
                    };
                    let all: Vec<u32> = (0..output).filter(is_made_of).collect();
                    let [Some(least), Some(greatest)] = [all.first(), all.last()] else { continue };
                    assert!(first <= *least && *greatest < first + row, "{number} of {size}");
                }
            }
        }
    }

    #[test]
    fn rows_of_long_dimensions_are_as_long_as_the_longest_that_is_counted() {
        for (scale, output) in [(1.0, 70_000), (2.5, 170_000), (0.3, 20_000), (3.0, 100_000)] {
            let along = along(MOST_COUNTED + 100, output, scale, [0.5, -0.5]);
            for rounding in ROUNDINGS {
                let gathered = Gathered { along: &along, rounding };
                let length = |at: u32| gathered.end(at).saturating_sub(gathered.first_of(at));
                let longest = (0..along.size).map(length).max().unwrap();
                assert!((longest..longest + 8).contains(&gathered.row()), "{scale}: {longest}");
            }
        }
    }
}
