//! Programs whose inputs are operands, values of a row, or kept values.

use super::calls::{Calls, Registers};
use super::program::ElementFormula;
use super::steps::Value;
use crate::link::{Argument, Callee};

/// A program, and where the kernel finds each of its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Formula {
    /// The inputs of the program.
    pub sources: Vec<Source>,
    /// The computation.
    pub program: ElementFormula,
}

/// An input of a formula's program. Row values and kept values have 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The element of an input; in the computation of a row value, the element at the start of the row.
    Operand(usize),
    /// A row value, numbered in the order of the phases that compute row values.
    Row(usize),
    /// The element's value that an earlier phase kept.
    Kept,
}

impl Formula {
    /// A program of the first `operands` inputs of a kernel.
    pub(crate) fn of_operands(program: &ElementFormula, operands: usize) -> Self {
        let sources = (0..operands).map(Source::Operand).collect();
        Self { sources, program: program.clone() }
    }

    /// The input that is the only source of a phase which joins states.
    pub(crate) fn states(&self) -> usize {
        match self.sources.as_slice() {
            [Source::Operand(input)] => *input,
            other => unreachable!("states are an input, not {other:?}"),
        }
    }

    /// The value of the program, in a function of the kernel.
    pub(crate) fn result(&self, calls: &mut Calls<'_>) -> Registers {
        let sources = self.sources.iter().map(|source| match *source {
            Source::Operand(index) => calls.value(Value::Input(index)),
            Source::Row(number) => {
                let number = Argument::Literal(u32::try_from(number).expect("few row values"));
                vec![calls.call(Callee::Exported("row_value"), vec![number])]
            }
            Source::Kept => vec![calls.call(Callee::Exported("kept"), vec![])],
        });
        let sources = sources.collect();
        calls.run_on(&self.program, sources)
    }

    /// The program with its sources: `i` inputs, `r` values of the row, or the kept value.
    pub(crate) fn name(&self) -> String {
        let source = |it: &Source| match it {
            Source::Operand(index) => format!("i{index}"),
            Source::Row(number) => format!("r{number}"),
            Source::Kept => "kept".to_owned(),
        };
        let sources: Vec<String> = self.sources.iter().map(source).collect();
        format!("{} ({})", self.program.name(), sources.join(" "))
    }
}
