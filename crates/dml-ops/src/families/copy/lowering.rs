//! How parts of tensors are copied: a kernel for each, which reads and writes any strides.

use dml_core::plan::{BindingRequirement, Plan, Slot};
use dml_core::schema::FieldKind;
use dml_core::{Error, Strategy, Validated};

use crate::Target;
use crate::lowering::constants::Constants;
use crate::lowering::element_wise::{self, Computation};
use crate::lowering::iteration::{IterationSpace, Operand, leading};
use crate::lowering::owned::Kept;

/// A part of an input that is a part of an output. It steps through both with their own strides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part<'a> {
    /// The number of the input, and its first element.
    pub(super) input: usize,
    pub(super) input_base: i64,
    /// The number of the output, and its first element.
    pub(super) output: usize,
    pub(super) output_base: i64,
    /// The elements in each dimension.
    pub(super) sizes: &'a [u32],
}

/// The plan that copies `parts`, which cover every output once.
pub(super) fn copies(
    operator: &Validated,
    target: &Target<'_>,
    parts: &[Part<'_>],
) -> Result<Plan, Error> {
    let name = operator.schema().name;
    let (mut constants, mut kept) = (Constants::default(), Kept::default());
    let mut inputs = Vec::new();
    for ((_, tensor), index) in operator.present_tensors(FieldKind::Input).zip(0..) {
        inputs.push(kept.operand(name, index, tensor, target, &mut constants)?);
    }
    let mut outputs = Vec::new();
    for ((_, tensor), index) in operator.present_tensors(FieldKind::Output).zip(0..) {
        outputs.push(Operand::of(name, Slot::Output(index), tensor)?);
    }
    let mut exec = Vec::new();
    let field = operator.schema().fields.iter().find(|it| it.kind == FieldKind::Output);
    let field = field.map_or("", |field| field.name);
    for part in parts {
        let moved = |operand: &Operand, by| Operand { base: operand.base + by, ..operand.clone() };
        let space = IterationSpace {
            sizes: leading(part.sizes, 1),
            inputs: vec![moved(&inputs[part.input], part.input_base)],
            output: moved(&outputs[part.output], part.output_base),
        };
        let copy = Computation::copy();
        exec.extend(element_wise::steps(name, field, space, &copy, target, &mut constants)?);
    }
    let requirements = |kind| {
        let tensors = operator.present_tensors(kind);
        tensors.map(|(path, it)| Some(BindingRequirement::of(path.name(), it))).collect()
    };
    Ok(Plan {
        operator: name,
        strategy: Strategy::Kernel,
        inputs: requirements(FieldKind::Input),
        outputs: requirements(FieldKind::Output),
        init: kept.init,
        exec,
        in_place: vec![],
        temporary_size: 0,
        persistent_size: kept.size,
        constants: constants.bytes,
    })
}
