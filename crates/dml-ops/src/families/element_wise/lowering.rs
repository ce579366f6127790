//! Lowers element-wise operators: one Map over the iteration space of their tensors.
//!
//! ELEMENT_WISE_ADD1 of FLOAT32 [2, 3] and a row of 3 elements that is broadcast, with a fused ACTIVATION_RELU:
//!
//! ```text
//! ELEMENT_WISE_ADD1
//!   input 0 = ATensor FLOAT32 [2, 3]
//!   input 1 = BTensor FLOAT32 [2, 3]
//!   output 0 = OutputTensor FLOAT32 [2, 3]
//!   output 0 over [2, 3] = map add relu (input 0, input 1 by [0, 1])
//!     60 bytes, 12 operations, 6 invocations
//! ```

use dml_core::schema::FieldKind;
use dml_core::{Error, Validated};

use super::program::{computation, output};
use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{self, Buffer, Map, Recorder};

/// The Map of an operator with one output and inputs of the same sizes.
fn map(operator: &Validated) -> Result<Map, Error> {
    let name = operator.schema().name;
    let (_, output) = output(operator)?;
    let mut inputs = Vec::new();
    for (index, (_, tensor)) in (0..).zip(operator.tensors(FieldKind::Input)) {
        let operand =
            tensor.map(|tensor| Operand::of(name, Buffer::Input(index), tensor)).transpose()?;
        inputs.extend(operand);
    }
    let sizes = leading(output.sizes(), 1);
    let output = Operand::of(name, Buffer::Output(0), output)?;
    let space = IterationSpace { sizes, inputs, output };
    Ok(Map { space, computation: computation(operator)? })
}

/// The program of an operator that is one Map.
pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let Map { space, computation } = map(operator)?;
    let mut recorder = Recorder::new(operator, target);
    if operator.schema().in_place {
        recorder.allow_in_place(&space);
    }
    recorder.map(space, computation)?;
    Ok(recorder.finish())
}
