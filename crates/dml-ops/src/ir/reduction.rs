//! Reductions: a program on the elements of rows, a reducer, and an epilogue.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::ElementFormula;
use dml_spirv::reduce::{Elements, Reducer};

/// The computation that reduces rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reduction {
    /// The program on the elements of each input.
    pub(crate) program: ElementFormula,
    /// The results of the program: values, or states of parts of rows.
    pub(crate) elements: Elements,
    /// The operation that joins a row's elements.
    pub(crate) reducer: &'static Reducer,
    /// The epilogue: input 0 is the reduced value, the others are the last `ends` inputs of the space.
    pub(crate) last: ElementFormula,
    /// The number of inputs with one element for each row, which only `last` reads.
    pub(crate) ends: usize,
    /// The number of the step of `last` whose result is written to the space's last input, which is the only one of
    /// `ends`: a second result of each row, which `last` does not read back.
    pub(crate) second: Option<usize>,
    /// The parameters of both programs.
    pub(crate) parameters: Vec<u32>,
}

impl Reduction {
    /// The reduction of the first input's elements.
    pub(crate) fn of(reducer: &'static Reducer) -> Self {
        let (program, last) = (ElementFormula::default(), ElementFormula::default());
        let elements = Elements::Values;
        Self { program, elements, reducer, last, ends: 0, second: None, parameters: vec![] }
    }

    /// The width of the results, before these are narrowed to be stored.
    pub(crate) fn width(&self) -> ElementWidth {
        let reduced = self.reducer.output_width();
        self.last.steps.last().map_or(reduced, |step| step.function.widths()[1])
    }

    /// The inputs of a space, divided into those of elements and those that only `last` reads.
    pub(crate) fn divided<'a, T>(&self, inputs: &'a [T]) -> (&'a [T], &'a [T]) {
        inputs.split_at(inputs.len() - self.ends)
    }

    /// The reduction of each part of a row, whose results [`Self::rest`] joins.
    pub(crate) fn of_parts(&self) -> Self {
        Self {
            reducer: self.reducer.of_parts(),
            last: ElementFormula::default(),
            ends: 0,
            second: None,
            ..self.clone()
        }
    }

    /// The reduction that joins the results of parts.
    pub(crate) fn rest(&self) -> Self {
        let (program, elements) = (ElementFormula::default(), self.reducer.parts());
        Self { program, elements, ..self.clone() }
    }
}
