//! What rows are reduced to.

use dml_spirv::element_wise::Program;
use dml_spirv::reduce::{Elements, Reducer};

/// What becomes of the rows.
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    /// For the elements of each input.
    pub(crate) program: Program,
    /// What the program gives; the parts of a row may be states.
    pub(crate) elements: Elements,
    /// For all of a row.
    pub(crate) reducer: &'static Reducer,
    /// The epilogue: input 0 is the reduced value, the others are the last inputs of the space, as many as there are `ends`.
    pub(crate) last: Program,
    /// Inputs that have one element for each row, which only `last` reads.
    pub(crate) ends: usize,
    /// The parameters of both programs.
    pub(crate) parameters: Vec<u32>,
}

impl Reduction {
    /// Of the elements of the first input.
    pub(crate) fn of(reducer: &'static Reducer) -> Self {
        let (program, last) = (Program::default(), Program::default());
        Self { program, elements: Elements::Values, reducer, last, ends: 0, parameters: vec![] }
    }

    /// Inputs of a space: those of elements, and those that only `last` reads.
    pub(crate) fn divided<'a, T>(&self, inputs: &'a [T]) -> (&'a [T], &'a [T]) {
        inputs.split_at(inputs.len() - self.ends)
    }

    /// What makes an element of each part of a row, to be joined by [`Self::rest`].
    pub(crate) fn of_parts(&self) -> Self {
        Self { reducer: self.reducer.of_parts(), last: Program::default(), ends: 0, ..self.clone() }
    }

    /// What makes the whole of parts.
    pub(crate) fn rest(&self) -> Self {
        let elements = match self.reducer.has_any_order() {
            true => Elements::Values,
            false => Elements::States,
        };
        Self { program: Program::default(), elements, ..self.clone() }
    }
}
