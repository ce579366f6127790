//! How element-wise operators are executed: one program over the space of their tensors.

use dml_core::plan::{BindingRequirement, Plan, Slot};
use dml_core::schema::{FieldKind, TensorPath};
use dml_core::{Error, Strategy, Validated};

use super::program::computation;
use crate::Target;
use crate::lowering::form::{Form, Lowered};
use crate::lowering::iteration::{IterationSpace, Operand, leading};

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
    let (schema, output) = (operator.schema(), operator.required_tensor("OutputTensor")?);
    let inputs = || operator.present_tensors(FieldKind::Input);
    let Lowered { init, exec, in_place, persistent_size, constants } =
        form(operator)?.lower(schema.name, inputs().map(|(_, tensor)| tensor), target)?;
    let requirement = |(path, tensor): (TensorPath, _)| BindingRequirement::of(path.name(), tensor);
    Ok(Plan {
        operator: schema.name,
        strategy: Strategy::Kernel,
        inputs: inputs().map(|input| Some(requirement(input))).collect(),
        outputs: vec![Some(BindingRequirement::of("OutputTensor", output))],
        init,
        exec,
        in_place: if schema.in_place { in_place } else { vec![] },
        temporary_size: 0,
        persistent_size,
        constants,
    })
}
