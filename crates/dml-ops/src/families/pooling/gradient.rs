//! Lowers gradients of pooling: each element is the sum of the gradients of the windows that it is in.
//!
//! AVERAGE_POOLING_GRAD of FLOAT32 [1, 1, 2, 2] with windows of 2 by 2, to [1, 1, 3, 3]:
//!
//! ```text
//! AVERAGE_POOLING_GRAD
//!   input 0 = InputGradientTensor FLOAT32 [1, 1, 2, 2]
//!   output 0 = OutputGradientTensor FLOAT32 [1, 1, 3, 3]
//!   %0 = constant 0x00000000ffffffff..., 60 bytes
//!   %1 = constant 0x0000000000000000..., 60 bytes
//!   output 0 by [3, 1, 0] over [3, 3, 4] = reduce sum_high sum_rest of_both of joined same, then divide_by scale_bias (input 0 by [0, 0, 0] displaced by r0, %0 by [0, 4, 1], %1 by [4, 0, 1])
//!     1284 bytes, 108 operations, 9 invocations
//! ```
//!
//! The last dimension of the space numbers the windows that may contain an element, and tables give the place
//! of each window. MAX_POOLING_GRAD finds the greatest element of each window first, and an element is given
//! the gradients of the windows whose greatest element has its number.

use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::functions as f;
use dml_spirv::reduce::{GREATEST_F32, LEAST_U32};

use super::along::Along;
use super::lowering::{along_of, number_where_equal};
use super::space::{Element, Making, Windows};
use super::spread::{Spread, Spreading};
use crate::Target;
use crate::ir::space::{Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::conversion::widened;
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

const INPUT: &str = "InputTensor";
const GRADIENTS: &str = "InputGradientTensor";
const OUTPUT: &str = "OutputGradientTensor";

/// AVERAGE_POOLING_GRAD: each window hands its gradient back in equal shares.
pub(super) fn of_average(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [mut gradients] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let [windows, elements] = [GRADIENTS, OUTPUT].map(|it| operator.required_tensor(it));
    let (windows, elements) = (windows?, elements?);
    let along = along_of(operator, elements, windows)?;
    let data_type = elements.data_type();
    let sizes = leading(windows.sizes(), 1);
    let of = Windows::new(output.clone(), sizes, along.clone());
    let is_constant = operator.bool("IncludePadding")? || of.are_inside();
    let mut loaded = data_type;
    if !is_constant {
        let mut map = MapBuilder::default();
        let gradient = map.input(gradients);
        let gradient = map.apply_all(widened(data_type), gradient);
        of.over_counts(&mut recorder, &mut map, gradient)?;
        gradients = recorder.packed_temporary(ElementWidth::B32, &sizes);
        map.record(&mut recorder, sizes, gradients.clone())?;
        loaded = DataType::Float32;
    }
    let divisor = is_constant.then_some(of.count() as f32);
    let spread = |it: &Along| Spread::of(it, &gradients);
    let spreading = Spreading {
        along: along.iter().map(spread).collect(),
        gradients: gradients.clone(),
        loaded,
        chosen: None,
        divisor,
        data_type,
    };
    spreading.write(&mut recorder, leading(elements.sizes(), 1), &output)?;
    Ok(recorder.finish())
}

/// MAX_POOLING_GRAD: each window hands its gradient back to its greatest element, the first of several.
pub(super) fn of_maximum(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [input, mut gradients] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let [windows, elements] = [GRADIENTS, INPUT].map(|it| operator.required_tensor(it));
    let (windows, elements) = (windows?, elements?);
    let along = along_of(operator, elements, windows)?;
    let data_type = elements.data_type();
    let sizes = leading(windows.sizes(), 1);
    let of = Windows::new(input, sizes, along.clone());
    let chosen = chosen(&mut recorder, &of, data_type, elements.sizes())?;
    let mut loaded = data_type;
    if !windows.is_packed() {
        // Gradients and element numbers are read at equal offsets, so both have to be packed.
        let mut map = MapBuilder::default();
        let gradient = map.input(gradients);
        map.apply_all(widened(data_type), gradient);
        gradients = recorder.packed_temporary(ElementWidth::B32, &sizes);
        map.record(&mut recorder, sizes, gradients.clone())?;
        loaded = DataType::Float32;
    }
    let packed = Operand::numbers(0, [0; DIMENSIONS]).packed(&sizes);
    let spreading = Spreading {
        along: along.iter().map(|it| Spread::of(it, &packed)).collect(),
        gradients: Operand { strides: packed.strides, ..gradients },
        loaded,
        chosen: Some(chosen),
        divisor: None,
        data_type,
    };
    spreading.write(&mut recorder, leading(elements.sizes(), 1), &output)?;
    Ok(recorder.finish())
}

/// Writes the number of each window's greatest element, in row-major order over all dimensions of a tensor of
/// `sizes`; all bits are set where a window has no element.
fn chosen(
    recorder: &mut Recorder<'_>,
    windows: &Windows,
    data_type: DataType,
    sizes: &[u32],
) -> Result<Operand, Error> {
    let [greatest, first, chosen] =
        [0; 3].map(|_| recorder.packed_temporary(ElementWidth::B32, &windows.sizes));
    let element = |map: &mut MapBuilder, it: Element| {
        let value = map.apply_all(widened(data_type), it.value);
        match it.offset {
            Some(offset) => {
                let least = f32::NEG_INFINITY.to_bits();
                map.apply(&f::UNLESS_NOWHERE, &[value, offset], &[least])
            }
            None => value,
        }
    };
    let making = Making { element: &element, reducer: &GREATEST_F32, last: &|_, _| () };
    windows.reduce(recorder, &making, &[], &greatest)?;
    let element = |map: &mut MapBuilder, it: Element| {
        let number = number_where_equal(map, [data_type, DataType::Float32], &it);
        match it.offset {
            Some(offset) => map.apply(&f::UNLESS_NOWHERE, &[number, offset], &[f::NOWHERE]),
            None => number,
        }
    };
    let making = Making { element: &element, reducer: &LEAST_U32, last: &|_, _| () };
    windows.reduce(recorder, &making, &[greatest], &first)?;
    let packed = Operand::numbers(0, [0; DIMENSIONS]).packed(sizes);
    windows.write_numbers(recorder, &first, &packed, vec![], &chosen)?;
    Ok(chosen)
}
