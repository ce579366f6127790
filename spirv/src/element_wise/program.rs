//! The program of a kernel: functions applied to elements, one after the other.

use std::convert::Infallible;

use super::steps::{Arguments, FunctionCall, Steps, Value};
use crate::ElementWidth;
use crate::functions::Function;

/// Inputs that a program may have.
pub const MAX_INPUTS: usize = 7;
/// The number of the output among the operands, after those of the inputs.
pub(crate) const OUTPUT: usize = MAX_INPUTS;

/// How the innermost dimension of a space goes through an operand. Kernels are linked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessPattern {
    /// Stride 1, in rows of whole quads, each of which starts at a multiple of a quad.
    Whole,
    /// Any strides and sizes.
    Ragged,
    /// Stride 0, so that every position of a row has the same element; inputs only.
    Single,
    /// One element for each block of a row, whose length is two to this power, at least a quad; inputs only.
    Repeated(u32),
    /// An index generator: each element is its own index, and there is no binding. Inputs of 32 bits only.
    Index,
    /// Any strides and sizes, and each element is displaced by a 32-bit value that the program computes from other
    /// inputs, modulo 2^32. With [`crate::functions::NOWHERE`] an input reads 0 and an output is not written.
    Displaced(Value),
    /// As `Whole`, and each row is displaced by a value, a multiple of a quad or nowhere; inputs only.
    Moved(Value),
}

impl AccessPattern {
    /// The value that displaces elements; `None` for operands that are not displaced.
    pub(crate) fn displacement(self) -> Option<Value> {
        match self {
            Self::Displaced(by) | Self::Moved(by) => Some(by),
            Self::Whole | Self::Ragged | Self::Single | Self::Repeated(_) | Self::Index => None,
        }
    }
}

/// A tensor, as a kernel loads or stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelOperand {
    /// The width of its elements.
    pub width: ElementWidth,
    /// How they are accessed.
    pub access: AccessPattern,
}

/// The computation on each element: steps in order, the last of which gives the output. Without steps, the
/// output has the bits of the first input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElementFormula {
    /// The steps.
    pub steps: Steps,
}

impl ElementFormula {
    /// The steps that apply one function after the other to the first input.
    pub fn chain(functions: impl IntoIterator<Item = &'static Function>) -> Self {
        let mut program = Self::default();
        program.apply_all(functions, Value::Input(0));
        program
    }

    /// One step: a function of the first inputs.
    pub fn of(function: &'static Function) -> Self {
        Self { steps: Steps::from_iter([FunctionCall::of(function)]) }
    }

    /// The steps up to the one with the number `step`, which gives the output.
    #[must_use]
    pub fn up_to(&self, step: usize) -> Self {
        Self { steps: self.steps[..=step].iter().cloned().collect() }
    }

    /// Adds steps that apply one function after the other, and returns the result of the last one.
    pub fn apply_all(
        &mut self,
        functions: impl IntoIterator<Item = &'static Function>,
        first: Value,
    ) -> Value {
        functions.into_iter().fold(first, |value, function| self.apply(function, [value]))
    }

    /// Adds a step, and returns its result. Arguments for the function's parameters must be
    /// [`Value::Parameter`], and no other argument may be one.
    pub fn apply(
        &mut self,
        function: &'static Function,
        arguments: impl IntoIterator<Item = Value>,
    ) -> Value {
        let arguments: Arguments = arguments.into_iter().collect();
        let is_parameter = |it: &Value| matches!(it, Value::Parameter(_));
        let first = arguments.iter().position(is_parameter).unwrap_or(arguments.len());
        debug_assert_eq!(first, function.arity, "{function:?} of {arguments:?}");
        self.steps.own().push(FunctionCall { function, arguments });
        self.last()
    }

    /// The result of the last step.
    pub fn last(&self) -> Value {
        self.steps.len().checked_sub(1).map_or(Value::Input(0), Value::Result)
    }

    /// The results of all steps on the host. `read` gives the inputs and parameters, and gets the results of the
    /// steps before.
    ///
    /// # Errors
    /// The errors of `read`.
    pub fn results<E>(
        &self,
        mut read: impl FnMut(Value, &[u64]) -> Result<u64, E>,
    ) -> Result<Vec<u64>, E> {
        let mut results = Vec::with_capacity(self.steps.len());
        let mut arguments = vec![];
        for step in &self.steps {
            arguments.clear();
            for argument in &step.arguments {
                arguments.push(read(*argument, &results)?);
            }
            results.push((step.function.twin)(&arguments));
        }
        Ok(results)
    }

    /// The values on the host, for these inputs and parameters.
    pub fn evaluated<'a>(&self, inputs: &'a [u64], parameters: &'a [u32]) -> Evaluated<'a> {
        let mut evaluated = Evaluated { inputs, parameters, results: vec![] };
        let Ok(results) = self.results(|value, results| {
            Ok::<_, Infallible>(match value {
                Value::Result(step) => results[step],
                other => evaluated.get(other),
            })
        });
        evaluated.results = results;
        evaluated
    }

    /// The names of its functions, such as `f32.add f32.relu`.
    pub(crate) fn name(&self) -> String {
        let steps: Vec<String> =
            self.steps.iter().map(|step| format!("{:?}", step.function)).collect();
        if steps.is_empty() { "copy".to_owned() } else { steps.join(" ") }
    }
}

/// The values of a program on the host.
#[derive(Clone, Debug)]
pub struct Evaluated<'a> {
    inputs: &'a [u64],
    parameters: &'a [u32],
    results: Vec<u64>,
}

impl Evaluated<'_> {
    /// A value of the program.
    pub fn get(&self, value: Value) -> u64 {
        match value {
            Value::Input(input) => self.inputs[input],
            Value::Result(step) => self.results[step],
            Value::Parameter(number) => self.parameters[number as usize].into(),
        }
    }

    /// The result of the program.
    pub fn result(&self) -> u64 {
        let last = self.results.len().checked_sub(1);
        self.get(last.map_or(Value::Input(0), Value::Result))
    }
}
