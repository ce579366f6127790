//! What rows are reduced to.

use dml_spirv::element_wise::Program;
use dml_spirv::reduce::{GREATEST_F32, Reducer, SUM_F32, SUM_LOST_F32};

/// What parts of rows are, of which the greatest is asked for.
pub(crate) static GREATEST: &[&Reducer] = &[&GREATEST_F32];

/// What parts of sums are: what is rounded, and what that has lost.
pub(crate) static PARTS_OF_SUMS: &[&Reducer] = &[&SUM_F32, &SUM_LOST_F32];

/// What becomes of the rows.
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    /// For the elements of each input.
    pub(crate) program: Program,
    /// For what that gives in parts of rows: one after the other, what each gives is an element of the row of
    /// parts.
    pub(crate) in_parts: &'static [&'static Reducer],
    /// For all of a row.
    pub(crate) reducer: &'static Reducer,
    /// For what comes out.
    pub(crate) last: Program,
    /// The parameters of both programs.
    pub(crate) parameters: Vec<u32>,
}

impl Reduction {
    /// Of the elements of the first input.
    pub(crate) fn of(in_parts: &'static [&'static Reducer], reducer: &'static Reducer) -> Self {
        let (program, last) = (Program::default(), Program::default());
        Self { program, in_parts, reducer, last, parameters: vec![] }
    }

    /// What parts are made by, each with its number.
    pub(crate) fn of_parts(&self) -> impl Iterator<Item = (i64, Self)> + use<> {
        let whole = Self { last: Program::default(), ..self.clone() };
        (0..).zip(self.in_parts).map(move |(at, reducer)| (at, Self { reducer, ..whole.clone() }))
    }

    /// How many elements a part becomes.
    pub(crate) fn width(&self) -> u32 {
        u32::try_from(self.in_parts.len()).expect("a few")
    }

    /// What makes the whole of parts.
    pub(crate) fn rest(&self) -> Self {
        Self { program: Program::default(), ..self.clone() }
    }
}
