//! A computation as it is put together from its inputs on.

use dml_core::{Error, Validated};
use dml_spirv::element_wise::{DIMENSIONS, Value};
use dml_spirv::functions::Function;

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Computation, Recorder};

/// A computation and its inputs while they are put together.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) computation: Computation,
    pub(crate) inputs: Vec<Operand>,
}

impl Made {
    pub(crate) fn input(&mut self, operand: Operand) -> Value {
        self.inputs.push(operand);
        Value::Input(self.inputs.len() - 1)
    }

    /// Applies one function after the other to an element.
    pub(crate) fn apply_all(
        &mut self,
        functions: impl IntoIterator<Item = &'static Function>,
        element: Value,
    ) -> Value {
        self.computation.program.apply_all(functions, element)
    }

    /// Applies a function to elements and to parameters, which are added.
    pub(crate) fn apply(
        &mut self,
        function: &'static Function,
        elements: &[Value],
        parameters: &[u32],
    ) -> Value {
        let all = &mut self.computation.parameters;
        let numbers = (all.len()..).zip(parameters);
        let numbers =
            numbers.map(|(at, _)| Value::Parameter(u32::try_from(at).unwrap_or(u32::MAX)));
        let arguments = elements.iter().copied().chain(numbers).collect();
        all.extend(parameters);
        self.computation.program.apply(function, arguments)
    }

    /// Adds the steps that write the last value, or the one input.
    pub(crate) fn compute(
        self,
        recorder: &mut Recorder<'_>,
        sizes: [u32; DIMENSIONS],
        output: Operand,
    ) -> Result<(), Error> {
        let space = IterationSpace { sizes, inputs: self.inputs, output };
        recorder.map(space, self.computation)
    }
}

/// The operands that an operator always has.
pub(crate) fn required<const N: usize>(
    operator: &Validated,
    operands: Vec<Option<Operand>>,
) -> Result<[Operand; N], Error> {
    let operands: Vec<Operand> = operands.into_iter().flatten().collect();
    let wrong = |it: Vec<Operand>| format!("has {} operands in place of {N}", it.len());
    operands.try_into().map_err(|it| Error::internal(operator.schema().name, wrong(it)))
}
