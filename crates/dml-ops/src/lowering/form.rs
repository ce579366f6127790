//! What is computed element by element, and how that is executed.

use dml_core::{Error, TensorLayout, Validated};

use crate::Target;
use crate::ir::space::IterationSpace;
use crate::ir::{self, Buffer, Computation, Map, Node, Program, Stage};

/// What is computed, and where the elements are: in the inputs and in the one output.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// The elements that belong together.
    pub(crate) space: IterationSpace,
    /// What becomes of them.
    pub(crate) computation: Computation,
}

/// What the last step of an operator reads that is computed before it.
pub(crate) const BEFORE: Buffer = Buffer::Local(0);

/// What an operator computes before its last step, which is a form: there [`BEFORE`] stands for it.
pub(crate) struct Before {
    pub(crate) tensor: TensorLayout,
    /// How: the plan's only output is that tensor.
    pub(crate) lower: fn(&Validated, &Target<'_>) -> Result<ir::Program, Error>,
}

/// The last step of an operator, and what comes before it.
pub(crate) type Ending = (Form, Before);

impl Form {
    /// Records it for inputs that are `tensors`, each with the number of its binding. Says which of them the output
    /// may be: those that lie as it does, so that each element is read where it is written.
    ///
    /// # Errors
    /// As [`Program::record`].
    pub(crate) fn record(
        &self,
        program: &mut Program,
        tensors: impl IntoIterator<Item = u32>,
    ) -> Result<Vec<u32>, Error> {
        let mut space = self.space.clone();
        let mut in_place = Vec::new();
        for (operand, index) in space.inputs.iter_mut().zip(tensors) {
            let buffer = Buffer::Input(index);
            operand.buffer = Some(buffer);
            operand.base = 0;
            if program.stage(buffer) == Stage::Execution
                && operand.lies_as(&space.output, &space.sizes)
            {
                in_place.push(index);
            }
        }
        let computation = self.computation.clone();
        program.record(Node::Map(Map { space, computation }))?;
        Ok(in_place)
    }
}
