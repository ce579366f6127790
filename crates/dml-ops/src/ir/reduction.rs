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
    /// For what comes out.
    pub(crate) last: Program,
    /// The parameters of both programs.
    pub(crate) parameters: Vec<u32>,
}

impl Reduction {
    /// Of the elements of the first input.
    pub(crate) fn of(reducer: &'static Reducer) -> Self {
        let (program, last) = (Program::default(), Program::default());
        Self { program, elements: Elements::Values, reducer, last, parameters: vec![] }
    }

    /// What makes an element of each part of a row, to be joined by [`Self::rest`].
    pub(crate) fn of_parts(&self) -> Self {
        Self { reducer: self.reducer.of_parts(), last: Program::default(), ..self.clone() }
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
