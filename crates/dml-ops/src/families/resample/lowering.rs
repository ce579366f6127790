//! Lowers resampling: tables have the offset in the input for each coordinate of the output, which displaces the input.
//!
//! RESAMPLE of FLOAT32 [1, 1, 1, 4] to [1, 1, 1, 8] with linear interpolation:
//!
//! ```text
//! RESAMPLE
//!   input 0 = InputTensor FLOAT32 [1, 1, 1, 4]
//!   output 0 = OutputTensor FLOAT32 [1, 1, 1, 8]
//!   %0 = constant 0x0000000000000000..., 44 bytes
//!   %1 = constant 0x0100000001000000..., 44 bytes
//!   %2 = constant 0x000000000000803e..., 44 bytes
//!   output 0 over [8] = map interpolated (input 0 by [0] displaced by i2, input 0 by [0] displaced by i3, %0, %1, %2)
//!     640 bytes, 8 operations, 8 invocations
//! ```
//!
//! The constants are the offsets of both neighbours and the weight of the second one, which the lowering computes in
//! FLOAT32 by the functions' twins. For a dimension of more than 4096 elements the Map computes them.
//!
//! Nearest-neighbour resampling is one Map whatever dimensions are resampled; UPSAMPLE_2D without interpolation is
//! Moves. Linear interpolation and antialiasing go through one dimension after the other, in single precision.

use dml_core::{AxisDirection, DataType, Error, InterpolationMode, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions::{self as f, Function};

use crate::Target;
use crate::families::data_movement::upsampled;
use crate::ir::space::{Displacement, Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::{conversion, narrowed, widened};
use crate::lowering::map_builder::MapBuilder;

/// A dimension that is resampled.
pub(super) struct Along {
    /// Its dimension among the eight of a space.
    pub(super) at: usize,
    /// The number of elements in the input and in the output.
    pub(super) size: u32,
    pub(super) output: u32,
    pub(super) scale: f32,
    /// The offsets that are added to coordinates of the input: before they are scaled, and after that.
    pub(super) input_offset: f32,
    pub(super) output_offset: f32,
    /// Whether antialiasing averages all elements that are nearer than the next element of the output.
    pub(super) is_smoothed: bool,
}

/// How a coordinate is rounded to an element's.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rounding {
    /// To the nearest one; halves are rounded up.
    Nearest,
    Down,
    Up,
}

pub(super) const ONE: u32 = 0x3f80_0000;
const HALF: f32 = 0.5;
/// The field of UPSAMPLE_2D that stands in place of a scale for each dimension.
const WHOLE_SCALES: &str = "ScaleSize";

pub(super) fn resample(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let is_linear = operator.uint("InterpolationMode")? == InterpolationMode::Linear.dml_value();
    if !is_linear && operator.schema().has_field(WHOLE_SCALES) {
        return upsampled(operator, target);
    }
    let mut recorder = Recorder::new(operator, target);
    let missing = || Error::internal(operator.schema().name, "a tensor is missing");
    let input = recorder.inputs()?.into_iter().next().flatten().ok_or_else(missing)?;
    let output = recorder.outputs()?.into_iter().next().flatten().ok_or_else(missing)?;
    let along = along(operator)?;
    if is_linear {
        linear(operator, &mut recorder, &along, input, output)?;
    } else {
        let sizes = leading(operator.required_tensor("OutputTensor")?.sizes(), 1);
        nearest(&mut recorder, &along, rounding(operator), input, output, sizes)?;
    }
    Ok(recorder.finish())
}

/// The rounding of the operator; operators without a direction take the nearest element.
pub(super) fn rounding(operator: &Validated) -> Rounding {
    match operator.uint("RoundingDirection") {
        Ok(direction) if direction == AxisDirection::Increasing.dml_value() => Rounding::Up,
        Ok(_) => Rounding::Down,
        Err(_) => Rounding::Nearest,
    }
}

/// The dimensions that are resampled.
fn along(operator: &Validated) -> Result<Vec<Along>, Error> {
    let [input, output] = ["InputTensor", "OutputTensor"].map(|it| operator.required_tensor(it));
    along_of(operator, input?.sizes(), output?.sizes())
}

/// The dimensions in which the sizes of `input` and `output` show resampling.
pub(super) fn along_of(
    operator: &Validated,
    input: &[u32],
    output: &[u32],
) -> Result<Vec<Along>, Error> {
    let scales = scales(operator, input.len())?;
    let rank = input.len();
    let is_antialiased = operator.bool("Antialiased").unwrap_or(false);
    let offset = |name, at: usize, default: f32| {
        operator.float_array(name).map_or(default, |offsets| offsets[at])
    };
    let of = |at: usize| Along {
        at: DIMENSIONS - rank + at,
        size: input[at],
        output: output[at],
        scale: scales[at],
        // The default offsets are those of pixel centers.
        input_offset: offset("InputPixelOffsets", at, HALF),
        output_offset: offset("OutputPixelOffsets", at, -HALF),
        is_smoothed: is_antialiased && scales[at] < 1.0,
    };
    Ok((0..rank).map(of).filter(|it| !it.is_same()).collect())
}

/// The scale of each dimension: elements of the output for each element of the input.
fn scales(operator: &Validated, rank: usize) -> Result<Vec<f32>, Error> {
    let Ok([width, height]) = operator.size_2d(WHOLE_SCALES) else {
        return Ok(operator.float_array("Scales")?.to_vec());
    };
    let mut scales = vec![1.0; rank];
    scales.iter_mut().rev().zip([width, height]).for_each(|(scale, whole)| *scale = whole as f32);
    Ok(scales)
}

impl Along {
    /// Whether every coordinate is that of the input, and a whole number.
    fn is_same(&self) -> bool {
        let is_moved = self.output_offset != -self.input_offset;
        (self.scale.to_bits() == ONE && !is_moved && self.size == self.output)
            || (self.size == 1 && self.output == 1)
    }

    /// The sizes of a space of this dimension alone.
    pub(super) fn own_sizes(&self) -> [u32; DIMENSIONS] {
        let mut sizes = [1; DIMENSIONS];
        sizes[self.at] = self.output;
        sizes
    }

    /// Adds the input coordinate of the output's element.
    pub(super) fn coordinate(&self, map: &mut MapBuilder) -> Value {
        let mut strides = [0; DIMENSIONS];
        strides[self.at] = 1;
        let number = map.input(Operand::numbers(0, strides));
        let number = map.apply(&f::U32_TO_F32, &[number], &[]);
        self.coordinate_of(map, number)
    }

    /// Adds the input coordinate of the output's element with a number.
    pub(super) fn coordinate_of(&self, map: &mut MapBuilder, number: Value) -> Value {
        let moved = [ONE, (-self.output_offset).to_bits()];
        let moved = map.apply(&f::SCALE_BIAS_F32, &[number], &moved);
        let scaled = map.apply(&f::DIVIDE_BY_F32, &[moved], &[self.scale.to_bits()]);
        let moved = [ONE, (-self.input_offset).to_bits()];
        map.apply(&f::SCALE_BIAS_F32, &[scaled], &moved)
    }

    /// Adds the element number that is nearest to a rounded coordinate.
    pub(super) fn within(&self, map: &mut MapBuilder, coordinate: Value) -> Value {
        let last = (self.size - 1) as f32;
        map.apply(&f::CLIP_F32, &[coordinate], &[0, last.to_bits()])
    }

    /// Adds the offset of that element in an input with these strides.
    pub(super) fn offset(
        &self,
        map: &mut MapBuilder,
        coordinate: Value,
        strides: &[i64; DIMENSIONS],
    ) -> Value {
        let within = self.within(map, coordinate);
        let number = map.apply_all(conversion(DataType::Float32, DataType::Uint32), within);
        let stride = u32::try_from(strides[self.at]).unwrap_or(0);
        map.apply(&f::NEAREST_U32, &[number], &[self.size, stride])
    }

    /// The extent of the input in this dimension, in elements.
    pub(super) fn reach(&self, strides: &[i64; DIMENSIONS]) -> u64 {
        u64::from(self.size - 1) * strides[self.at].unsigned_abs()
    }
}

impl Rounding {
    /// The rounded coordinate.
    pub(super) fn of(self, coordinate: f32) -> f32 {
        match self {
            Self::Nearest => (coordinate + HALF).floor(),
            Self::Down => coordinate.floor(),
            Self::Up => coordinate.ceil(),
        }
    }

    /// Adds the rounded coordinate.
    pub(super) fn apply(self, map: &mut MapBuilder, coordinate: Value) -> Value {
        match self {
            Self::Nearest => {
                let halves = [ONE, HALF.to_bits()];
                let above = map.apply(&f::SCALE_BIAS_F32, &[coordinate], &halves);
                map.apply(&f::FLOOR_F32, &[above], &[])
            }
            Self::Down => map.apply(&f::FLOOR_F32, &[coordinate], &[]),
            Self::Up => map.apply(&f::CEIL_F32, &[coordinate], &[]),
        }
    }
}

/// Nearest-neighbour resampling.
fn nearest(
    recorder: &mut Recorder<'_>,
    along: &[Along],
    rounding: Rounding,
    input: Operand,
    output: Operand,
    sizes: [u32; DIMENSIONS],
) -> Result<(), Error> {
    let mut map = MapBuilder::default();
    let mut joined = None;
    let most = along.iter().map(|it| it.reach(&input.strides)).sum();
    let strides = input.strides;
    let element = map.input(input);
    for along in along {
        let [offset] = map.tabulated(recorder, along.own_sizes(), |map| {
            let coordinate = along.coordinate(map);
            let whole = rounding.apply(map, coordinate);
            [along.offset(map, whole, &strides)]
        });
        map.inputs[0].strides[along.at] = 0;
        joined = Some(match joined {
            Some(joined) => map.apply(&f::ADD_I32, &[joined, offset], &[]),
            None => offset,
        });
    }
    map.inputs[0].displacement = joined.map(|by| Displacement::new(by, most));
    if joined.is_some() {
        map.apply(&f::SAME, &[element], &[]);
    }
    map.record(recorder, sizes, output)
}

/// Interpolates along one dimension after the other.
fn linear(
    operator: &Validated,
    recorder: &mut Recorder<'_>,
    along: &[Along],
    input: Operand,
    output: Operand,
) -> Result<(), Error> {
    let layout = operator.required_tensor("InputTensor")?;
    let mut sizes = leading(layout.sizes(), 1);
    let (mut from, mut data_type) = (input, layout.data_type());
    let Some((last, before)) = along.split_last() else {
        return nearest(recorder, &[], Rounding::Down, from, output, sizes);
    };
    for dimension in before {
        sizes[dimension.at] = dimension.output;
        let to = recorder.packed_temporary(ElementWidth::B32, &sizes);
        let (map, _) = dimension.mean(recorder, &from, data_type, sizes)?;
        map.record(recorder, sizes, to.clone())?;
        (from, data_type) = (to, DataType::Float32);
    }
    sizes[last.at] = last.output;
    let (mut map, mean) = last.mean(recorder, &from, data_type, sizes)?;
    if layout.data_type().integer_range().is_some() {
        // Rounds to the nearest integer, ties to even.
        let whole = map.apply(&f::ROUND_F32, &[mean], &[0]);
        map.apply_all(conversion(DataType::Float32, layout.data_type()), whole);
    } else {
        map.apply_all(narrowed(layout.data_type()), mean);
    }
    map.record(recorder, sizes, output)
}

impl Along {
    /// The mean for each element of a space of `sizes`, whose last steps are still to be added.
    fn mean(
        &self,
        recorder: &mut Recorder<'_>,
        from: &Operand,
        data_type: DataType,
        sizes: [u32; DIMENSIONS],
    ) -> Result<(MapBuilder, Value), Error> {
        if self.is_smoothed {
            return self.smoothed(recorder, from, data_type, sizes);
        }
        let mut map = MapBuilder::default();
        let mean = self.interpolate(recorder, &mut map, from, data_type);
        Ok((map, mean))
    }

    /// Adds the interpolation between both neighbours of a coordinate.
    fn interpolate(
        &self,
        recorder: &mut Recorder<'_>,
        map: &mut MapBuilder,
        from: &Operand,
        data_type: DataType,
    ) -> Value {
        let neighbours = [0, 1].map(|_| map.input(from.clone()));
        let [below, above, weight] = map.tabulated(recorder, self.own_sizes(), |map| {
            let coordinate = self.coordinate(map);
            let within = self.within(map, coordinate);
            let below = map.apply(&f::FLOOR_F32, &[within], &[]);
            let weight = map.apply(&f::SUBTRACT_F32, &[within, below], &[]);
            let above = map.apply(&f::SCALE_BIAS_F32, &[below], &[ONE, ONE]);
            let [below, above] = [below, above].map(|it| self.offset(map, it, &from.strides));
            [below, above, weight]
        });
        for (input, by) in [below, above].into_iter().enumerate() {
            map.inputs[input].strides[self.at] = 0;
            map.inputs[input].displacement = Some(Displacement::new(by, self.reach(&from.strides)));
        }
        let [first, second] =
            neighbours.map(|neighbour| map.apply_all(to_float(data_type), neighbour));
        map.apply(&f::INTERPOLATED_F32, &[first, second, weight], &[])
    }
}

/// The conversion of an element to single precision.
pub(super) fn to_float(data_type: DataType) -> Vec<&'static Function> {
    match data_type.integer_range() {
        Some(_) => conversion(data_type, DataType::Float32),
        None => widened(data_type),
    }
}
