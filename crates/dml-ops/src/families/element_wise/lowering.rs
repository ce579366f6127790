//! How element-wise operators are executed: one program over the space of their tensors.

use dml_core::plan::{BindingRequirement, InPlace, Plan, Slot};
use dml_core::schema::FieldKind;
use dml_core::{Error, Strategy, Validated};

use super::program::computation;
use crate::Target;
use crate::lowering::constants::Constants;
use crate::lowering::element_wise;
use crate::lowering::iteration::{IterationSpace, Operand, leading};
use crate::lowering::owned::Kept;

/// The plan of an operator with the output `OutputTensor` and inputs of the same sizes.
pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let name = operator.schema().name;
    let output = operator.required_tensor("OutputTensor")?;
    let (mut constants, mut kept) = (Constants::default(), Kept::default());
    let mut inputs = Vec::new();
    let mut requirements = Vec::new();
    for ((path, tensor), index) in operator.tensors(FieldKind::Input).zip(0..) {
        let tensor = tensor.ok_or_else(|| Error::internal(name, format!("{path} is left out")))?;
        inputs.push(kept.operand(name, index, tensor, target, &mut constants)?);
        requirements.push(Some(BindingRequirement::of(path.name(), tensor)));
    }
    let space = IterationSpace {
        sizes: leading(output.sizes(), 1),
        inputs,
        output: Operand::of(name, Slot::Output(0), output)?,
    };
    let in_place = in_place(operator, &space);
    let computation = computation(operator)?;
    let exec =
        element_wise::steps(name, "OutputTensor", space, &computation, target, &mut constants)?;
    Ok(Plan {
        operator: name,
        strategy: Strategy::Kernel,
        inputs: requirements,
        outputs: vec![Some(BindingRequirement::of("OutputTensor", output))],
        init: kept.init,
        exec,
        in_place,
        temporary_size: 0,
        persistent_size: kept.size,
        constants: constants.bytes,
    })
}

/// The inputs that may be the output: those that lie as it does, so that each element is read where it
/// is written.
fn in_place(operator: &Validated, space: &IterationSpace) -> Vec<InPlace> {
    if !operator.schema().in_place {
        return vec![];
    }
    let output = &space.output;
    let lies_alike = |input: &Operand, index| {
        let dimensions = space.sizes.iter().zip(input.strides.iter().zip(&output.strides));
        let mut used = dimensions.filter(|(size, _)| **size > 1);
        input.slot == Slot::Input(index)
            && input.width == output.width
            && used.all(|(_, (from, to))| from == to)
    };
    let alike = (0..).zip(&space.inputs).filter(|(index, input)| lies_alike(input, *index));
    alike.map(|(index, _)| InPlace::by_same_steps(index, 0)).collect()
}
