//! Rows whose results one kernel cannot compute: a Map computes the ends, or each result has a kernel.

use dml_core::Error;
use dml_core::plan::Slot;
use dml_spirv::element_wise::DIMENSIONS;

use crate::ir::space::IterationSpace;
use crate::ir::{Computation, Reduction};
use crate::schedule::{Schedule, cost};

const LAST: usize = DIMENSIONS - 1;

impl Schedule<'_> {
    /// Reduces rows, and then computes their ends by a Map: where the kernel for rows cannot have ends.
    pub(super) fn rows_before_ends(
        &mut self,
        space: &IterationSpace<Slot>,
        reduction: &Reduction,
    ) -> Result<(), Error> {
        let mut sizes = space.sizes;
        sizes[LAST] = 1;
        let (elements, ends) = reduction.divided(&space.inputs);
        let count = cost::elements(&sizes);
        let reduced = self.temporary(reduction.reducer.output_width(), count).packed(&sizes);
        let (inputs, output) = (elements.to_vec(), reduced.clone());
        let alone = Reduction { last: Default::default(), ends: 0, ..reduction.clone() };
        self.rows(IterationSpace { sizes: space.sizes, inputs, output }, &alone)?;
        let (program, parameters) = (reduction.last.clone(), reduction.parameters.clone());
        let (inputs, output) = ([&[reduced], ends].concat(), space.output.clone());
        let computation = Computation { program, packed: None, parameters };
        self.map(IterationSpace { sizes, inputs, output }, &computation)
    }

    /// Reduces rows to each of two results: that of the epilogue, and that of its step with the number `step`. What is
    /// reduced twice is one dispatch's: long rows are states of parts by then.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] if the operator would have too many steps.
    pub(super) fn rows_with_second(
        &mut self,
        space: &IterationSpace<Slot>,
        reduction: &Reduction,
        step: usize,
    ) -> Result<(), Error> {
        let (elements, seconds) = reduction.divided(&space.inputs);
        let first = Reduction { ends: 0, second: None, ..reduction.clone() };
        let second = Reduction { last: reduction.last.up_to(step), ..first.clone() };
        let outputs = [&space.output].into_iter().chain(seconds);
        for (reduction, output) in [first, second].iter().zip(outputs) {
            let (inputs, output) = (elements.to_vec(), output.clone());
            self.rows(IterationSpace { sizes: space.sizes, inputs, output }, reduction)?;
        }
        Ok(())
    }
}
