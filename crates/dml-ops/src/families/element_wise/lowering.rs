//! How element-wise operators are executed: one program over the space of their tensors.

use dml_core::schema::FieldKind;
use dml_core::{Error, Validated};

use super::program::{computation, output};
use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{self, Buffer};
use crate::lowering::form::Form;

/// What an operator with one output and inputs of the same sizes computes, and where.
pub(super) fn form(operator: &Validated) -> Result<Form, Error> {
    let name = operator.schema().name;
    let (_, output) = output(operator)?;
    let mut inputs = Vec::new();
    for (index, (_, tensor)) in (0..).zip(operator.tensors(FieldKind::Input)) {
        let operand = tensor.map(|it| Operand::of(name, Buffer::Input(index), it)).transpose()?;
        inputs.extend(operand);
    }
    let sizes = leading(output.sizes(), 1);
    let output = Operand::of(name, Buffer::Output(0), output)?;
    let space = IterationSpace { sizes, inputs, output };
    Ok(Form { space, computation: computation(operator)? })
}

/// What such an operator computes.
pub(super) fn lower(operator: &Validated, _: &Target<'_>) -> Result<ir::Program, Error> {
    let present = operator.tensors(FieldKind::Input);
    let present = (0..).zip(present).filter(|(_, (_, tensor))| tensor.is_some());
    let mut program = ir::Program::of(operator);
    let in_place = form(operator)?.record(&mut program, present.map(|(index, _)| index))?;
    if operator.schema().in_place {
        program.in_place = in_place;
    }
    Ok(program)
}
