//! The program that a cell computes for each element, and its inputs.

use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::Value;
use dml_spirv::functions::{self as f, Function};

use crate::ir::space::Operand;
use crate::lowering::conversion::conversion;
use crate::lowering::map_builder::MapBuilder;

/// A program in single precision, the last value of which is the result.
pub(super) struct CellProgram<'a> {
    map: MapBuilder,
    functions: &'a [Validated],
    threshold: Option<f32>,
}

impl<'a> CellProgram<'a> {
    /// An empty program of a cell with these activation functions, whose arguments are clipped to `threshold`.
    pub(super) fn new(functions: &'a [Validated], threshold: Option<f32>) -> Self {
        Self { map: MapBuilder::default(), functions, threshold }
    }

    /// The element of an operand; an operand that is read twice becomes one input.
    pub(super) fn read(&mut self, operand: Operand) -> Value {
        match self.map.inputs.iter().position(|input| *input == operand) {
            Some(index) => Value::Input(index),
            None => self.map.input(operand),
        }
    }

    pub(super) fn read_as(&mut self, operand: Operand, data_type: DataType) -> Value {
        let value = self.read(operand);
        self.map.apply_all(conversion(data_type, DataType::Float32), value)
    }

    pub(super) fn apply(
        &mut self,
        function: &'static Function,
        values: impl IntoIterator<Item = Value>,
    ) -> Value {
        self.map.computation.program.apply(function, values)
    }

    /// `1 - value`.
    pub(super) fn rest(&mut self, value: Value) -> Value {
        self.map.computation.scaled(value, -1.0, 1.0)
    }

    /// The cell's activation function with this index, of the clipped value.
    pub(super) fn function(&mut self, index: usize, mut value: Value) -> Result<Value, Error> {
        if let Some(threshold) = self.threshold {
            let bounds = [-threshold, threshold].map(f32::to_bits);
            value = self.map.apply(&f::CLIP_F32, &[value], &bounds);
        }
        let function = &self.functions[index];
        self.map.computation.apply_operator(function, [DataType::Float32; 2], vec![value])
    }

    /// `value + weight * state` if there are both, else `value`.
    pub(super) fn seeing(
        &mut self,
        value: Value,
        weight: Option<Value>,
        state: Option<Value>,
    ) -> Value {
        let (Some(weight), Some(state)) = (weight, state) else { return value };
        let product = self.apply(&f::MULTIPLY_F32, [weight, state]);
        self.apply(&f::ADD_F32, [value, product])
    }

    /// The last value if the mask is not 0, else the state before, or zeros.
    pub(super) fn keep_past_end(&mut self, mask: Operand, before: Option<&Operand>) {
        let value = self.map.computation.program.last();
        let has_step = self.read(mask);
        let before = match before {
            Some(before) => self.read(before.clone()),
            None => self.map.computation.zero(value),
        };
        self.apply(&f::CHOOSE_WORD, [has_step, value, before]);
    }

    /// Converts the result to another type.
    pub(super) fn convert(&mut self, chain: Vec<&'static Function>) {
        let last = self.map.computation.program.last();
        self.map.apply_all(chain, last);
    }

    /// `first` where the number of a coordinate is 0, else `other`.
    pub(super) fn first_or(&mut self, number: Operand, [first, other]: [Value; 2]) -> Value {
        let number = self.read(number);
        self.apply(&f::CHOOSE_WORD, [number, other, first])
    }

    /// The map whose elements are the result.
    pub(super) fn into_map(self) -> MapBuilder {
        self.map
    }
}
