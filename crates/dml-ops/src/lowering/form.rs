//! What is computed element by element, and how that is executed.

use dml_core::plan::{InPlace, Plan, Slot, Step};
use dml_core::{Error, TensorLayout, Validated};

use crate::Target;
use crate::ir::space::IterationSpace;
use crate::schedule::constants::Constants;
use crate::schedule::map::{self, Computation};
use crate::schedule::owned::Kept;

/// What is computed, and where the elements are: in the inputs and in the one output.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// The elements that belong together.
    pub(crate) space: IterationSpace,
    /// What becomes of them.
    pub(crate) computation: Computation,
}

/// What an operator computes before its last step, which is a form: there [`Slot::Temporary`] stands for it.
pub(crate) struct Before {
    pub(crate) tensor: TensorLayout,
    /// How: the plan's only output is that tensor.
    pub(crate) lower: fn(&Validated, &Target<'_>) -> Result<Plan, Error>,
}

/// The last step of an operator, and what comes before it.
pub(crate) type Ending = (Form, Before);

/// What a form takes to be executed.
pub(crate) struct Lowered {
    pub(crate) init: Vec<Step>,
    pub(crate) exec: Vec<Step>,
    /// The inputs that may be the output: those that lie as it does, so that each element is read where
    /// it is written.
    pub(crate) in_place: Vec<InPlace>,
    pub(crate) persistent_size: u64,
    pub(crate) constants: Vec<u8>,
}

impl Form {
    /// The steps for inputs that are `tensors`, each with the number of its binding; those that are
    /// OWNED_BY_DML are kept. Refusals name `operator` and its `output`.
    ///
    /// # Errors
    /// As [`map::steps`].
    pub(crate) fn lower<'a>(
        &self,
        operator: &'static str,
        output: &'static str,
        tensors: impl IntoIterator<Item = (u32, &'a TensorLayout)>,
        target: &Target<'_>,
    ) -> Result<Lowered, Error> {
        let (mut constants, mut kept) = (Constants::default(), Kept::default());
        let (exec, in_place) =
            self.steps((operator, output), tensors, target, &mut constants, &mut kept)?;
        let (init, persistent_size) = (kept.init, kept.size);
        Ok(Lowered { init, exec, in_place, persistent_size, constants: constants.bytes })
    }

    /// The same as a part of a plan, and which inputs may be the output. `tensors` are those of the first
    /// operands; the others are where they are said to be.
    pub(crate) fn steps<'a>(
        &self,
        (operator, output): (&'static str, &'static str),
        tensors: impl IntoIterator<Item = (u32, &'a TensorLayout)>,
        target: &Target<'_>,
        constants: &mut Constants,
        kept: &mut Kept,
    ) -> Result<(Vec<Step>, Vec<InPlace>), Error> {
        let mut space = self.space.clone();
        let mut in_place = Vec::new();
        for (operand, (index, tensor)) in space.inputs.iter_mut().zip(tensors) {
            let (slot, start) = kept.source(operator, index, tensor, target, constants)?;
            operand.slot = Some(slot);
            operand.base = (start / u64::from(operand.width.bytes())).cast_signed();
            if operand.slot == Some(Slot::Input(index))
                && operand.lies_as(&space.output, &space.sizes)
            {
                in_place.push(InPlace::by_same_steps(index, 0));
            }
        }
        let computation = &self.computation;
        let exec = map::steps(operator, output, space, computation, target, constants)?;
        Ok((exec, in_place))
    }
}
