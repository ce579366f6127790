//! Outputs that runs write over the inputs they come from.

use dml::CompiledOperator;
use dml_core::plan::InPlace;

use crate::program::{Binding, Dispatch, Program, Read, Source, Step};

use super::resources::Resources;

/// Two buffers of a program.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// The number of the program's input.
    pub(super) input: usize,
    /// The buffer with the input's values.
    pub(super) read: usize,
    /// The buffer of the output.
    pub(super) written: usize,
}

impl Resources {
    /// Whether runs give the same results where the two buffers are one: a single operator touches both, and allows
    /// it, and nothing else needs the input after a run.
    pub(super) fn may_share(&self, program: &Program, pair: Pair) -> bool {
        let needs_input = |step: &Step| match step {
            Step::Read(Read { source: Source::Input(input), .. }) => *input == pair.input,
            Step::Initialize(step) => binds(&step.inputs, pair.read),
            Step::Read(_) | Step::Dispatch(_) => false,
        };
        // If the device's answers are not those that the program was made for, another one repeats the run.
        if !program.questions.is_empty() || program.steps.iter().any(needs_input) {
            return false;
        }
        let touches = |it: &&Dispatch| {
            let all = [&it.inputs, &it.outputs];
            all.into_iter().any(|it| binds(it, pair.read) || binds(it, pair.written))
        };
        let mut touching = program.steps.iter().filter_map(dispatch_of).filter(touches);
        let (Some(dispatch), None) = (touching.next(), touching.next()) else { return false };
        let operator = self.operator(dispatch.operator);
        operator.is_some_and(|operator| allows(operator, dispatch, pair))
    }
}

/// Whether the operator may be executed with the bytes of its output in those of its input.
fn allows(operator: &CompiledOperator, dispatch: &Dispatch, pair: Pair) -> bool {
    let input = names(&dispatch.inputs, pair.read);
    let output = names(&dispatch.outputs, pair.written);
    let pair = |it: &InPlace| {
        let (input, output) = it.pair();
        (usize::try_from(input).ok(), usize::try_from(output).ok())
    };
    let is_allowed = |it: &InPlace| it.is_by_same_steps() && pair(it) == (input, output);
    input.is_some() && output.is_some() && operator.vulkan().in_place().iter().any(is_allowed)
}

/// Whether a binding names a buffer.
fn binds(bindings: &[Option<Binding>], buffer: usize) -> bool {
    bindings.iter().flatten().any(|binding| binding.buffer == buffer)
}

/// The only binding that names a buffer.
fn names(bindings: &[Option<Binding>], buffer: usize) -> Option<usize> {
    let is_it = |it: &Option<Binding>| it.as_ref().is_some_and(|it| it.buffer == buffer);
    let mut found = (0..bindings.len()).filter(|at| is_it(&bindings[*at]));
    found.next().filter(|_| found.next().is_none())
}

fn dispatch_of(step: &Step) -> Option<&Dispatch> {
    match step {
        Step::Dispatch(dispatch) => Some(dispatch),
        Step::Initialize(_) | Step::Read(_) => None,
    }
}
