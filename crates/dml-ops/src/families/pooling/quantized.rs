//! Lowers QUANTIZED_LINEAR_AVERAGE_POOLING: integers are summed exactly, and their average is scaled.

use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::SUM_F32;

use super::lowering::{Pooling, along};
use super::space::{Element, Making};
use crate::Target;
use crate::ir::space::Operand;
use crate::ir::{self};
use crate::lowering::conversion::conversion;
use crate::lowering::map_builder::MapBuilder;

/// The inputs after the first, by their numbers.
#[derive(Clone, Copy)]
enum Input {
    Scale = 1,
    ZeroPoint,
    OutputScale,
    OutputZeroPoint,
}

/// `round(average((x - zero point) * scale) / scale) + zero point`
pub(super) fn average(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut pooling = Pooling::new(operator, target, along(operator)?)?;
    let data_type = pooling.data_type;
    let to_float = || conversion(data_type, DataType::Float32);
    let zero_point = pooling.by_channel(Input::ZeroPoint)?;
    let element = |map: &mut MapBuilder, it: Element| {
        let mut value = map.apply_all(to_float(), it.value);
        for zero_point in &it.others {
            let zero_point = map.apply_all(to_float(), *zero_point);
            value = map.apply(&f::SUBTRACT_F32, &[value, zero_point], &[]);
        }
        match it.offset {
            Some(offset) => map.apply(&f::UNLESS_NOWHERE, &[value, offset], &[0]),
            None => value,
        }
    };
    let making = Making { element: &element, reducer: &SUM_F32, last: &|_, _| () };
    let sums = pooling.temporary(ElementWidth::B32);
    let zero_point: Vec<Operand> = zero_point.into_iter().collect();
    pooling.windows.reduce(&mut pooling.recorder, &making, &zero_point, &sums)?;
    let mut map = MapBuilder::default();
    let sum = map.input(sums);
    let average = if operator.bool("IncludePadding")? || pooling.windows.are_inside() {
        let count = pooling.windows.count() as f32;
        map.apply(&f::DIVIDE_BY_F32, &[sum], &[count.to_bits()])
    } else {
        pooling.windows.over_counts(&mut pooling.recorder, &mut map, sum)?
    };
    pooling.quantize(map, average)
}

impl Pooling<'_> {
    /// The operand of an input that has one element for the whole output or for each channel.
    fn by_channel(&self, input: Input) -> Result<Option<Operand>, Error> {
        const CHANNELS: usize = 1;
        let Some(operand) = self.inputs[input as usize].clone() else { return Ok(None) };
        let tensors = self.operator.tensors(dml_core::schema::FieldKind::Input);
        let layout = tensors.map(|(_, tensor)| tensor).nth(input as usize).flatten();
        let sizes = layout.map_or(&[][..], dml_core::TensorLayout::sizes);
        let mut strides = [0; DIMENSIONS];
        if sizes.iter().any(|size| *size > 1) {
            let at = DIMENSIONS - sizes.len() + CHANNELS;
            strides[at] = operand.strides[at];
        }
        Ok(Some(Operand { strides, ..operand }))
    }

    /// Adds the last Map, which quantizes `average` and writes the output, and returns the program.
    fn quantize(mut self, mut map: MapBuilder, average: Value) -> Result<ir::Program, Error> {
        let data_type = self.data_type;
        let missing = || Error::internal(self.operator.schema().name, "has no scales");
        let [scale, output_scale] =
            [Input::Scale, Input::OutputScale].map(|it| self.by_channel(it));
        let scale = map.input(scale?.ok_or_else(missing)?);
        let output_scale = map.input(output_scale?.ok_or_else(missing)?);
        let real = map.apply(&f::MULTIPLY_F32, &[average, scale], &[]);
        let zero_point = match self.by_channel(Input::OutputZeroPoint)? {
            Some(zero_point) => {
                let zero_point = map.input(zero_point);
                map.apply_all(conversion(data_type, DataType::Float32), zero_point)
            }
            None => map.input(Operand::numbers(0, [0; DIMENSIONS])),
        };
        let quantized = map.apply(&f::QUANTIZE_F32, &[real, output_scale, zero_point], &[]);
        map.apply_all(conversion(DataType::Float32, data_type), quantized);
        let output = self.first_output()?;
        map.record(&mut self.recorder, self.windows.sizes, output)?;
        Ok(self.recorder.finish())
    }
}
