//! Operators that move elements and change none: each output is made of parts of the inputs.

#[cfg(feature = "reference")]
mod cases;
mod lowering;
#[cfg(feature = "reference")]
mod reference;
#[cfg(test)]
mod tests;

use dml_core::operators;
use dml_core::plan::Plan;
use dml_core::{Error, TensorLayout, Validated};

use crate::{Operator, Target};
use lowering::{Part, copies};

/// All of them.
pub(crate) static OPERATORS: &[&Operator] = &[&JOIN, &SPLIT];

/// The inputs, one after the other along `Axis`.
static JOIN: Operator = Operator {
    schema: &operators::JOIN,
    lower: lower_join,
    form: None,
    #[cfg(feature = "reference")]
    reference: &reference::AlongAxis { schema: &operators::JOIN },
};

/// The input, cut along `Axis`.
static SPLIT: Operator = Operator {
    schema: &operators::SPLIT,
    lower: lower_split,
    form: None,
    #[cfg(feature = "reference")]
    reference: &reference::AlongAxis { schema: &operators::SPLIT },
};

fn lower_join(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let axis = operator.uint("Axis")? as usize;
    let (parts, whole) =
        (operator.tensor_array("InputTensors")?, operator.required_tensor("OutputTensor")?);
    let bases = along(parts, whole, axis);
    let parts = bases.enumerate().map(|(input, output_base)| Part {
        input,
        output_base,
        sizes: parts[input].sizes(),
        ..Part::default()
    });
    copies(operator, target, &parts.collect::<Vec<_>>())
}

fn lower_split(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let axis = operator.uint("Axis")? as usize;
    let (parts, whole) =
        (operator.tensor_array("OutputTensors")?, operator.required_tensor("InputTensor")?);
    let bases = along(parts, whole, axis);
    let parts = bases.enumerate().map(|(output, input_base)| Part {
        output,
        input_base,
        sizes: parts[output].sizes(),
        ..Part::default()
    });
    copies(operator, target, &parts.collect::<Vec<_>>())
}

/// Where each of the parts begins in the whole tensor, in elements.
fn along<'a>(
    parts: &'a [TensorLayout],
    whole: &'a TensorLayout,
    axis: usize,
) -> impl Iterator<Item = i64> + 'a {
    let stride = i64::from(whole.strides()[axis]);
    parts.iter().scan(0, move |start, part| {
        let base = *start * stride;
        *start += i64::from(part.sizes()[axis]);
        Some(base)
    })
}
