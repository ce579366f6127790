//! Lowers pooling: a Reduce over the elements of each window.
//!
//! AVERAGE_POOLING of FLOAT32 [1, 1, 4, 4] with windows of 2 by 2 and strides of 2:
//!
//! ```text
//! AVERAGE_POOLING
//!   input 0 = InputTensor FLOAT32 [1, 1, 4, 4]
//!   output 0 = OutputTensor FLOAT32 [1, 1, 2, 2]
//!   %0 = constant 0x0000000001000000..., 28 bytes
//!   output 0 by [2, 1, 0] over [2, 2, 4] = reduce windows sum_high sum_rest of_both of same, then divide_by (input 0 by [8, 2, 0] displaced by i1, %0 by [0, 0, 1])
//!     544 bytes, 16 operations, 4 invocations
//! ```
//!
//! The last dimension of the space numbers the elements of a window. The constant table has the offset of each from the
//! first element of its window, and displaces the input. Where windows reach beyond the input, `inside_offset` checks the
//! coordinates, which a second table has.

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions as f;
use dml_spirv::reduce::{
    GREATEST_F32, GREATEST_I32, GREATEST_I64, GREATEST_U32, GREATEST_U64, LEAST_U32, Reducer,
    SUM_F32,
};

use super::along::Along;
use super::space::{Element, Making, Windows};
use crate::Target;
use crate::ir::space::{Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::{conversion, narrowed, widened};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::scale::write_scales;

/// The number of dimensions without windows: batches and channels.
const OUTER: usize = 2;

/// The program of a pooling operator, while it is being built.
pub(super) struct Pooling<'a> {
    pub(super) operator: &'a Validated,
    pub(super) recorder: Recorder<'a>,
    pub(super) windows: Windows,
    pub(super) data_type: DataType,
    /// Every input; `None` for an absent one.
    pub(super) inputs: Vec<Option<Operand>>,
    outputs: Vec<Option<Operand>>,
}

impl<'a> Pooling<'a> {
    /// A program with windows along some dimensions.
    pub(super) fn new(
        operator: &'a Validated,
        target: &'a Target<'a>,
        along: Vec<Along>,
    ) -> Result<Self, Error> {
        let recorder = Recorder::new(operator, target);
        let inputs = recorder.inputs()?;
        let outputs = recorder.outputs()?;
        let layout = operator.required_tensor("InputTensor")?;
        let missing = || Error::internal(operator.schema().name, "a tensor is missing");
        let input = inputs.first().cloned().flatten().ok_or_else(missing)?;
        let sizes = leading(operator.required_tensor("OutputTensor")?.sizes(), 1);
        let windows = Windows::new(input, sizes, along);
        let data_type = layout.data_type();
        Ok(Self { operator, recorder, windows, data_type, inputs, outputs })
    }

    fn output(&self, index: usize) -> Option<Operand> {
        self.outputs.get(index).cloned().flatten()
    }

    pub(super) fn first_output(&self) -> Result<Operand, Error> {
        let missing = || Error::internal(self.operator.schema().name, "has no output");
        self.output(0).ok_or_else(missing)
    }

    /// Temporary memory for one number for each window.
    pub(super) fn temporary(&mut self, width: ElementWidth) -> Operand {
        self.recorder.packed_temporary(width, &self.windows.sizes)
    }
}

/// The dimensions after batches and channels, with the windows in them.
pub(super) fn along(operator: &Validated) -> Result<Vec<Along>, Error> {
    let [input, output] = ["InputTensor", "OutputTensor"].map(|it| operator.required_tensor(it));
    along_of(operator, input?, output?)
}

/// The windowed dimensions: those of `input`, for which `output` has one element for each window.
pub(super) fn along_of(
    operator: &Validated,
    input: &TensorLayout,
    output: &TensorLayout,
) -> Result<Vec<Along>, Error> {
    let [windows, steps, start] =
        ["WindowSize", "Strides", "StartPadding"].map(|it| operator.uint_array(it));
    let (windows, steps, start) = (windows?, steps?, start?);
    let dilations = operator.uint_array("Dilations").ok();
    let rank = input.sizes().len();
    let of = |at: usize| Along {
        at: DIMENSIONS - rank + at,
        size: input.sizes()[at],
        stride: input.strides()[at],
        windows: output.sizes()[at],
        step: steps[at - OUTER],
        window: windows[at - OUTER],
        dilation: dilations.map_or(1, |dilation| dilation[at - OUTER]),
        first: -i64::from(start[at - OUTER]),
        inner: 1,
    };
    Ok((OUTER..rank).map(of).collect())
}

/// The averages of windows.
pub(super) fn average(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut pooling = Pooling::new(operator, target, along(operator)?)?;
    let data_type = pooling.data_type;
    let output = pooling.first_output()?;
    // Elements outside are 0, which changes no sum.
    let element = |map: &mut MapBuilder, it: Element| map.apply_all(widened(data_type), it.value);
    let is_constant = operator.bool("IncludePadding")? || pooling.windows.are_inside();
    let count = pooling.windows.count() as f32;
    let last = |map: &mut MapBuilder, whole: Value| {
        if is_constant {
            let quotient = map.apply(&f::DIVIDE_BY_F32, &[whole], &[count.to_bits()]);
            map.apply_all(narrowed(data_type), quotient);
        }
    };
    let making = Making { element: &element, reducer: &SUM_F32, last: &last };
    let sums = if is_constant { output.clone() } else { pooling.temporary(ElementWidth::B32) };
    pooling.windows.reduce(&mut pooling.recorder, &making, &[], &sums)?;
    if !is_constant {
        let mut map = MapBuilder::default();
        let sum = map.input(sums);
        let quotient = pooling.windows.over_counts(&mut pooling.recorder, &mut map, sum)?;
        map.apply_all(narrowed(data_type), quotient);
        map.record(&mut pooling.recorder, pooling.windows.sizes, output)?;
    }
    Ok(pooling.recorder.finish())
}

/// The greatest degree for which powers of numbers below 4 can be added up.
const GREATEST_SCALED_DEGREE: u32 = 48;

/// The norms of windows. Elements that are raised to powers are scaled for each window, so that the powers
/// are in range.
pub(super) fn norm(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut pooling = Pooling::new(operator, target, along(operator)?)?;
    let (data_type, degree) = (pooling.data_type, operator.uint("P")?);
    let is_scaled =
        data_type == DataType::Float32 && (2..=GREATEST_SCALED_DEGREE).contains(&degree);
    let scales = if is_scaled { Some(pooling.scales()?) } else { None };
    let bits = (degree as f32).to_bits();
    let element = |map: &mut MapBuilder, it: Element| {
        let mut value = map.apply_all(widened(data_type), it.value);
        if let Some(scale) = it.others.first() {
            value = map.apply(&f::MULTIPLY_F32, &[value, *scale], &[]);
        }
        let magnitude = map.apply(&f::ABSOLUTE_F32, &[value], &[]);
        match degree {
            1 => magnitude,
            2 => map.apply(&f::MULTIPLY_F32, &[magnitude, magnitude], &[]),
            _ => map.apply(&f::CONSTANT_POW_F32, &[magnitude], &[bits]),
        }
    };
    let last = |map: &mut MapBuilder, whole: Value| {
        let norm = match degree {
            1 => whole,
            2 => map.apply(&f::SQUARE_ROOT_F32, &[whole], &[]),
            _ => map.apply(&f::ROOT_F32, &[whole], &[bits]),
        };
        map.apply_all(narrowed(data_type), norm);
    };
    let making = Making { element: &element, reducer: &SUM_F32, last: &last };
    let output = pooling.first_output()?;
    let norms = if is_scaled { pooling.temporary(ElementWidth::B32) } else { output.clone() };
    let others: Vec<Operand> = scales.iter().cloned().collect();
    pooling.windows.reduce(&mut pooling.recorder, &making, &others, &norms)?;
    if let Some(scales) = scales {
        let mut map = MapBuilder::default();
        let (norm, scale) = (map.input(norms), map.input(scales));
        map.apply(&f::DIVIDE_F32, &[norm, scale], &[]);
        map.record(&mut pooling.recorder, pooling.windows.sizes, output)?;
    }
    Ok(pooling.recorder.finish())
}

impl Pooling<'_> {
    /// The power of two for each window that keeps powers of its elements in range.
    fn scales(&mut self) -> Result<Operand, Error> {
        let element =
            |map: &mut MapBuilder, it: Element| map.apply(&f::ABSOLUTE_F32, &[it.value], &[]);
        let making = Making { element: &element, reducer: &GREATEST_F32, last: &|_, _| () };
        let [greatest, scales] = [0; 2].map(|_| self.temporary(ElementWidth::B32));
        self.windows.reduce(&mut self.recorder, &making, &[], &greatest)?;
        write_scales(&mut self.recorder, self.windows.sizes, greatest, scales.clone())?;
        Ok(scales)
    }
}

/// The reducer for the greatest element of a type, and bits that are below all elements.
fn greatest(data_type: DataType) -> (&'static Reducer, [u32; 2]) {
    const LEAST: u32 = 1 << 31;
    match data_type {
        DataType::Float16 | DataType::Float32 => (&GREATEST_F32, [f32::NEG_INFINITY.to_bits(), 0]),
        DataType::Int64 => (&GREATEST_I64, [0, LEAST]),
        DataType::Uint64 => (&GREATEST_U64, [0; 2]),
        DataType::Int8 | DataType::Int16 | DataType::Int32 => {
            let least = -1_i32 << (data_type.bits() - 1);
            (&GREATEST_I32, [least.cast_unsigned(), 0])
        }
        _ => (&GREATEST_U32, [0; 2]),
    }
}

/// The greatest elements of windows, and their indices if the operator has that output.
pub(super) fn maximum(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut pooling = Pooling::new(operator, target, along(operator)?)?;
    let data_type = pooling.data_type;
    let (reducer, least) = greatest(data_type);
    let element = |map: &mut MapBuilder, it: Element| {
        let value = map.apply_all(widened(data_type), it.value);
        match it.offset {
            Some(offset) if data_type.bits() == 64 => {
                let offset = map.apply(&f::U32_TO_U64, &[offset], &[]);
                map.apply(&f::UNLESS_NOWHERE_64, &[value, offset], &least)
            }
            Some(offset) => map.apply(&f::UNLESS_NOWHERE, &[value, offset], &least[..1]),
            None => value,
        }
    };
    let last = |map: &mut MapBuilder, whole: Value| {
        map.apply_all(narrowed(data_type), whole);
    };
    let making = Making { element: &element, reducer, last: &last };
    let output = pooling.first_output()?;
    pooling.windows.reduce(&mut pooling.recorder, &making, &[], &output)?;
    if let Some(indices) = pooling.output(1) {
        pooling.indices(output, indices)?;
    }
    Ok(pooling.recorder.finish())
}

impl Pooling<'_> {
    /// Adds the steps that find the positions of the greatest elements, which have been written before.
    fn indices(&mut self, greatest: Operand, indices: Operand) -> Result<(), Error> {
        let data_type = self.data_type;
        let element = |map: &mut MapBuilder, it: Element| {
            let number = number_where_equal(map, [data_type; 2], &it);
            match it.offset {
                Some(offset) => map.apply(&f::UNLESS_NOWHERE, &[number, offset], &[f::NOWHERE]),
                None => number,
            }
        };
        let making = Making { element: &element, reducer: &LEAST_U32, last: &|_, _| () };
        let first = self.temporary(ElementWidth::B32);
        self.windows.reduce(&mut self.recorder, &making, &[greatest], &first)?;
        let sizes = self.operator.required_tensor("InputTensor")?.sizes();
        let packed = Operand::numbers(0, [0; DIMENSIONS]).packed(sizes);
        let of_indices = self.operator.tensors(FieldKind::Output).nth(1).and_then(|(_, it)| it);
        let to = of_indices.map_or(DataType::Uint32, TensorLayout::data_type);
        let conversion = conversion(DataType::Uint32, to);
        self.windows.write_numbers(&mut self.recorder, &first, &packed, conversion, &indices)
    }
}

/// Adds the number of an element in its window if it is the greatest, else all bits. Elements have the first
/// type, and the greatest ones the second.
pub(super) fn number_where_equal(
    map: &mut MapBuilder,
    [data_type, of_greatest]: [DataType; 2],
    it: &Element,
) -> Value {
    let number = map.input(it.number.clone());
    let value = map.apply_all(widened(data_type), it.value);
    let greatest = map.apply_all(widened(of_greatest), it.others[0]);
    let is_equal = match data_type {
        DataType::Float16 | DataType::Float32 => {
            let elements = [value, greatest, number];
            return map.apply(&f::NUMBER_WHERE_EQUAL_F32, &elements, &[]);
        }
        DataType::Int64 | DataType::Uint64 => {
            let is_equal = map.apply(&f::EQUALS_I64, &[value, greatest], &[]);
            map.apply(&f::LOW_WORDS, &[is_equal], &[])
        }
        _ => map.apply(&f::EQUALS_I32, &[value, greatest], &[]),
    };
    // All bits are set unless both are equal.
    let mask = map.apply(&f::OPPOSITE_I32, &[is_equal], &[]);
    let mask = map.apply(&f::BIT_NOT_WORD, &[mask], &[]);
    map.apply(&f::BIT_OR_WORD, &[number, mask], &[])
}
