//! How element-wise operators are executed: one program over the space of their tensors.

use dml_core::plan::{BindingRequirement, InPlace, Plan, Slot};
use dml_core::schema::FieldKind;
use dml_core::{Error, Strategy, Validated};

use super::program::computation;
use crate::Target;
use crate::lowering::constants::Constants;
use crate::lowering::element_wise::{self, Form};
use crate::lowering::iteration::{IterationSpace, Operand, leading};
use crate::lowering::owned::Kept;

/// What an operator with the output `OutputTensor` and inputs of the same sizes computes, and where.
pub(super) fn form(operator: &Validated) -> Result<Form, Error> {
    let name = operator.schema().name;
    let output = operator.required_tensor("OutputTensor")?;
    let mut inputs = Vec::new();
    for ((path, tensor), index) in operator.tensors(FieldKind::Input).zip(0..) {
        let tensor = tensor.ok_or_else(|| Error::internal(name, format!("{path} is left out")))?;
        inputs.push(Operand::of(name, Slot::Input(index), tensor)?);
    }
    let sizes = leading(output.sizes(), 1);
    let output = Operand::of(name, Slot::Output(0), output)?;
    let space = IterationSpace { sizes, inputs, output };
    Ok(Form { space, computation: computation(operator)? })
}

/// The plan of such an operator.
pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let name = operator.schema().name;
    let Form { mut space, computation } = form(operator)?;
    let (mut constants, mut kept) = (Constants::default(), Kept::default());
    let tensors = operator.tensors(FieldKind::Input).filter_map(|(path, it)| Some((path, it?)));
    let mut requirements = Vec::new();
    for (((path, tensor), index), operand) in tensors.zip(0..).zip(&mut space.inputs) {
        *operand = kept.operand(name, index, tensor, target, &mut constants)?;
        requirements.push(Some(BindingRequirement::of(path.name(), tensor)));
    }
    let in_place = if operator.schema().in_place { in_place(&space) } else { vec![] };
    let exec =
        element_wise::steps(name, "OutputTensor", space, &computation, target, &mut constants)?;
    let output = operator.required_tensor("OutputTensor")?;
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
fn in_place(space: &IterationSpace) -> Vec<InPlace> {
    let is_input = |input: &Operand, index| input.slot == Slot::Input(index);
    let lies_alike = |input: &Operand| input.lies_as(&space.output, &space.sizes);
    let inputs = (0..).zip(&space.inputs);
    let alike = inputs.filter(|(index, input)| is_input(input, *index) && lies_alike(input));
    alike.map(|(index, _)| InPlace::by_same_steps(index, 0)).collect()
}
