//! ONE_HOT and REVERSE_SUBSEQUENCES: operators on the sequences along a dimension, with a number for each sequence.

use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::DIMENSIONS;
use dml_spirv::functions as f;

use super::lowering::Outside;
use crate::Target;
use crate::ir::space::{Displacement, Operand, leading};
use crate::ir::{self, Recorder};
use crate::lowering::map_builder::MapBuilder;
use crate::lowering::operands::required;

/// The dimension `Axis` of the operator, as a dimension of an iteration space.
fn axis(operator: &Validated, tensor: &TensorLayout) -> Result<usize, Error> {
    Ok(DIMENSIONS - tensor.sizes().len() + operator.uint("Axis")? as usize)
}

/// The operand with a stride of 0 along a dimension.
fn once_along(axis: usize, operand: &Operand) -> Operand {
    let mut strides = operand.strides;
    strides[axis] = 0;
    Operand { strides, ..operand.clone() }
}

/// An operand whose elements are the coordinates along a dimension.
fn coordinates(axis: usize) -> Operand {
    let mut strides = [0; DIMENSIONS];
    strides[axis] = 1;
    Operand::numbers(0, strides)
}

/// Lowers ONE_HOT: the second value where the coordinate equals the index, else the first value.
pub(super) fn one_hot(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [indices, values] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let (layout, of_values) =
        (operator.required_tensor("OutputTensor")?, operator.required_tensor("ValuesTensor")?);
    let axis = axis(operator, layout)?;
    let sizes = leading(layout.sizes(), 1);
    let mut map = MapBuilder::default();
    let index = map.input(once_along(axis, &indices));
    let coordinate = map.input(coordinates(axis));
    let value = |more: u32| Operand {
        base: values.base + i64::from(more),
        strides: [0; DIMENSIONS],
        ..values.clone()
    };
    let [off, on] = [0, stride_of_values(of_values)].map(|more| map.input(value(more)));
    let of_indices = operator.required_tensor("IndicesTensor")?.data_type();
    let function = Outside::Nowhere.function(of_indices);
    let index = map.apply(function, &[index], &[sizes[axis], 1]);
    let mut is_hot = map.apply(&f::EQUALS_I32, &[index, coordinate], &[]);
    let mut choose = &f::CHOOSE_WORD;
    if output.width == ElementWidth::B64 {
        is_hot = map.apply(&f::U32_TO_U64, &[is_hot], &[]);
        choose = &f::CHOOSE_WIDE;
    }
    map.apply(choose, &[is_hot, on, off], &[]);
    map.record(&mut recorder, sizes, output)?;
    Ok(recorder.finish())
}

/// The stride in elements from the first value to the second, along the innermost dimension of more than one
/// element.
fn stride_of_values(values: &TensorLayout) -> u32 {
    let dimensions = values.sizes().iter().zip(values.strides()).rev();
    dimensions.into_iter().find(|(size, _)| **size > 1).map_or(0, |(_, stride)| *stride)
}

/// Lowers REVERSE_SUBSEQUENCES: reverses the first elements of each sequence.
pub(super) fn reverse(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut recorder = Recorder::new(operator, target);
    let [data, lengths] = required(operator, recorder.inputs()?)?;
    let [output] = required(operator, recorder.outputs()?)?;
    let (layout, of_data) =
        (operator.required_tensor("OutputTensor")?, operator.required_tensor("InputTensor")?);
    let axis = axis(operator, layout)?;
    let sizes = leading(layout.sizes(), 1);
    let mut map = MapBuilder::default();
    let mut length = map.input(once_along(axis, &lengths));
    let coordinate = map.input(coordinates(axis));
    if operator.required_tensor("SequenceLengthsTensor")?.data_type() == DataType::Uint64 {
        length = map.apply(&f::SATURATED_U64, &[length], &[]);
    }
    let stride = leading(of_data.strides(), 0)[axis];
    let by = map.apply(&f::REVERSED, &[coordinate, length], &[sizes[axis], stride]);
    let most = u64::from(sizes[axis] - 1) * u64::from(stride);
    let displacement = Some(Displacement::new(by, most));
    let data = map.input(Operand { displacement, ..once_along(axis, &data) });
    map.apply(&f::SAME, &[data], &[]);
    map.record(&mut recorder, sizes, output)?;
    Ok(recorder.finish())
}
