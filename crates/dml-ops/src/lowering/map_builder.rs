//! Maps and their computations under construction.

use dml_core::Error;
use dml_spirv::element_wise::{DIMENSIONS, Program, Value};
use dml_spirv::functions::{self as f, Function};
use dml_spirv::reduce::Reducer;

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Computation, Map, Recorder, Reduction};

/// The inputs of a map and its computation, before its space and its output are known.
#[derive(Default)]
pub(crate) struct MapBuilder {
    pub(crate) computation: Computation,
    pub(crate) inputs: Vec<Operand>,
}

impl MapBuilder {
    /// Reads the elements of an operand.
    pub(crate) fn input(&mut self, operand: Operand) -> Value {
        self.inputs.push(operand);
        Value::Input(self.inputs.len() - 1)
    }

    /// [`Computation::apply`].
    pub(crate) fn apply(
        &mut self,
        function: &'static Function,
        elements: &[Value],
        parameters: &[u32],
    ) -> Value {
        self.computation.apply(function, elements, parameters)
    }

    /// Applies one function after the other to an element.
    pub(crate) fn apply_all(
        &mut self,
        functions: impl IntoIterator<Item = &'static Function>,
        element: Value,
    ) -> Value {
        self.computation.program.apply_all(functions, element)
    }

    /// A value times a number that is the same for all elements.
    pub(crate) fn times(&mut self, value: Value, factor: f32) -> Value {
        // A sum with -0 is the other number, whichever zero that is.
        self.computation.scaled(value, factor, -0.0)
    }

    /// The map that writes the last value, or the one input, for each coordinate of `sizes`.
    pub(crate) fn finish(self, sizes: [u32; DIMENSIONS], output: Operand) -> Map {
        let space = IterationSpace { sizes, inputs: self.inputs, output };
        Map { space, computation: self.computation }
    }

    /// The space and the reduction of rows of `element`, of whose result `last` makes what is written.
    pub(crate) fn reduced(
        mut self,
        element: Value,
        reducer: &'static Reducer,
        (sizes, output): ([u32; DIMENSIONS], Operand),
        last: impl FnOnce(&mut Self, Value),
    ) -> (IterationSpace, Reduction) {
        if element != self.computation.program.last() {
            self.apply(&f::SAME, &[element], &[]);
        }
        let program = std::mem::take(&mut self.computation.program);
        last(&mut self, Value::Input(0));
        let Computation { program: last, parameters, .. } = self.computation;
        let reduction = Reduction { program, last, parameters, ..Reduction::of(reducer) };
        (IterationSpace { sizes, inputs: self.inputs, output }, reduction)
    }

    /// Records the map that [`Self::finish`] gives.
    pub(crate) fn record(
        self,
        recorder: &mut Recorder<'_>,
        sizes: [u32; DIMENSIONS],
        output: Operand,
    ) -> Result<(), Error> {
        let Map { space, computation } = self.finish(sizes, output);
        recorder.map(space, computation)
    }
}

impl Computation {
    /// A program without parameters.
    pub(crate) fn of(program: Program) -> Self {
        Self { program, ..Self::default() }
    }

    /// Applies a function to elements and to parameters, which are added.
    pub(crate) fn apply(
        &mut self,
        function: &'static Function,
        elements: &[Value],
        parameters: &[u32],
    ) -> Value {
        let parameters: Vec<Value> = parameters.iter().map(|word| self.parameter(*word)).collect();
        self.program.apply(function, [elements, &parameters].concat())
    }

    /// A word that is the same for all elements.
    pub(crate) fn parameter(&mut self, word: u32) -> Value {
        self.parameters.push(word);
        Value::Parameter(u32::try_from(self.parameters.len() - 1).unwrap_or(u32::MAX))
    }

    /// A value times `scale`, rounded, plus `bias`, rounded.
    pub(crate) fn scaled(&mut self, value: Value, scale: f32, bias: f32) -> Value {
        self.apply(&f::SCALE_BIAS_F32, &[value], &[scale, bias].map(f32::to_bits))
    }

    /// Zero, computed from any value of 32 bits.
    pub(crate) fn zero(&mut self, value: Value) -> Value {
        self.program.apply(&f::BIT_XOR_WORD, vec![value, value])
    }
}
