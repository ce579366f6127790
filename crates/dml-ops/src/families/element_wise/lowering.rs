//! How element-wise operators are executed: one program over the space of their tensors.

use dml_core::plan::{BindingRequirement, Plan, Slot};
use dml_core::schema::{FieldKind, TensorPath};
use dml_core::{Error, Strategy, TensorLayout, Validated};

use super::program::{computation, output};
use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::lowering::form::{Form, Lowered};

/// What an operator with one output and inputs of the same sizes computes, and where.
pub(super) fn form(operator: &Validated) -> Result<Form, Error> {
    let name = operator.schema().name;
    let (_, output) = output(operator)?;
    let mut inputs = Vec::new();
    for (index, tensor) in present(operator) {
        inputs.push(Operand::of(name, Slot::Input(index), tensor)?);
    }
    let sizes = leading(output.sizes(), 1);
    let output = Operand::of(name, Slot::Output(0), output)?;
    let space = IterationSpace { sizes, inputs, output };
    Ok(Form { space, computation: computation(operator)? })
}

/// The inputs that are not left out, each with the number of its binding.
fn present(operator: &Validated) -> impl Iterator<Item = (u32, &TensorLayout)> {
    let inputs = (0..).zip(operator.tensors(FieldKind::Input));
    inputs.filter_map(|(index, (_, tensor))| Some((index, tensor?)))
}

/// The plan of such an operator.
pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let (schema, (path, output)) = (operator.schema(), output(operator)?);
    let Lowered { init, exec, in_place, persistent_size, constants } =
        form(operator)?.lower(schema.name, path.field.name, present(operator), target)?;
    let requirement = |(path, tensor): (TensorPath, Option<&TensorLayout>)| {
        tensor.map(|tensor| BindingRequirement::of(path.name(), tensor))
    };
    Ok(Plan {
        operator: schema.name,
        strategy: Strategy::Kernel,
        inputs: operator.tensors(FieldKind::Input).map(requirement).collect(),
        outputs: vec![Some(BindingRequirement::of(path.name(), output))],
        init,
        exec,
        in_place: if schema.in_place { in_place } else { vec![] },
        temporary_size: 0,
        persistent_size,
        constants,
    })
}
