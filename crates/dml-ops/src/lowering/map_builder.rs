//! Builders of Maps and of their computations.

use dml_core::Error;
use dml_spirv::element_wise::{DIMENSIONS, ElementFormula, Value};
use dml_spirv::functions::{self as f, Function};
use dml_spirv::reduce::Reducer;

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Computation, Map, Recorder, Reduction};

/// The inputs and the computation of a Map whose space and output are not known yet.
#[derive(Default)]
pub(crate) struct MapBuilder {
    pub(crate) computation: Computation,
    pub(crate) inputs: Vec<Operand>,
}

impl MapBuilder {
    /// Adds an input with the elements of an operand.
    pub(crate) fn input(&mut self, operand: Operand) -> Value {
        self.inputs.push(operand);
        Value::Input(self.inputs.len() - 1)
    }

    /// Applies a function, as [`Computation::apply`] does.
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

    /// A value times a factor that is equal for all elements.
    pub(crate) fn times(&mut self, value: Value, factor: f32) -> Value {
        // Adding -0 changes no number, including zeros.
        self.computation.scaled(value, factor, -0.0)
    }

    /// The Map that writes the last value, or the only input, for each coordinate of `sizes`.
    pub(crate) fn finish(self, sizes: [u32; DIMENSIONS], output: Operand) -> Map {
        let space = IterationSpace { sizes, inputs: self.inputs, output };
        Map { space, computation: self.computation }
    }

    /// The space and the reduction of rows of `element`; `last` adds the functions of the result that is written.
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
    /// A computation without parameters.
    pub(crate) fn of(program: ElementFormula) -> Self {
        Self { program, ..Self::default() }
    }

    /// Applies a function to elements and to parameters, which are added to the computation's.
    pub(crate) fn apply(
        &mut self,
        function: &'static Function,
        elements: &[Value],
        parameters: &[u32],
    ) -> Value {
        let parameters: Vec<Value> = parameters.iter().map(|word| self.parameter(*word)).collect();
        self.program.apply(function, [elements, &parameters].concat())
    }

    /// A word that is equal for all elements.
    pub(crate) fn parameter(&mut self, word: u32) -> Value {
        self.parameters.push(word);
        Value::Parameter(u32::try_from(self.parameters.len() - 1).unwrap_or(u32::MAX))
    }

    /// A value times `scale`, rounded, plus `bias`, rounded.
    pub(crate) fn scaled(&mut self, value: Value, scale: f32, bias: f32) -> Value {
        self.apply(&f::SCALE_BIAS_F32, &[value], &[scale, bias].map(f32::to_bits))
    }

    /// Zero, computed from a value of 32 bits.
    pub(crate) fn zero(&mut self, value: Value) -> Value {
        self.program.apply(&f::BIT_XOR_WORD, [value, value])
    }
}
