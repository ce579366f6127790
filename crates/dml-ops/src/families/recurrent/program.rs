//! What a cell computes for each element: a program, and what it reads.

use dml_core::{DataType, Error, Validated};
use dml_spirv::element_wise::Value;
use dml_spirv::functions::{self as f, Function};

use crate::families::element_wise::Builder;
use crate::ir::Computation;
use crate::ir::space::Operand;
use crate::lowering::conversion::conversion;

/// A program of single precision, of which the last value is the result.
pub(super) struct CellProgram<'a> {
    builder: Builder,
    inputs: Vec<Operand>,
    functions: &'a [Validated],
    threshold: Option<f32>,
}

impl<'a> CellProgram<'a> {
    /// An empty one, of a cell with these functions, which see what is at most so far from 0.
    pub(super) fn new(functions: &'a [Validated], threshold: Option<f32>) -> Self {
        Self { builder: Builder::default(), inputs: vec![], functions, threshold }
    }

    /// An operand's element; what is read twice is one input.
    pub(super) fn read(&mut self, operand: Operand) -> Value {
        let found = self.inputs.iter().position(|it| *it == operand);
        Value::Input(found.unwrap_or_else(|| {
            self.inputs.push(operand);
            self.inputs.len() - 1
        }))
    }

    pub(super) fn read_as(&mut self, operand: Operand, data_type: DataType) -> Value {
        let value = self.read(operand);
        self.builder.program.apply_all(conversion(data_type, DataType::Float32), value)
    }

    pub(super) fn apply(&mut self, function: &'static Function, values: Vec<Value>) -> Value {
        self.builder.program.apply(function, values)
    }

    /// `1 - value`.
    pub(super) fn rest(&mut self, value: Value) -> Value {
        self.builder.scaled(value, -1.0, 1.0)
    }

    /// The cell's function with this number, of what is limited before.
    pub(super) fn function(&mut self, index: usize, mut value: Value) -> Result<Value, Error> {
        if let Some(threshold) = self.threshold {
            let bounds = [-threshold, threshold].map(|it| self.builder.parameter(it.to_bits()));
            value = self.apply(&f::CLIP_F32, [&[value], &bounds[..]].concat());
        }
        self.builder.apply(&self.functions[index], [DataType::Float32; 2], vec![value])
    }

    /// `value + weight * state`, where there are both.
    pub(super) fn seeing(
        &mut self,
        value: Value,
        weight: Option<(Operand, DataType)>,
        state: Option<Value>,
    ) -> Value {
        let (Some((weight, data_type)), Some(state)) = (weight, state) else { return value };
        let weight = self.read_as(weight, data_type);
        let product = self.apply(&f::MULTIPLY_F32, vec![weight, state]);
        self.apply(&f::ADD_F32, vec![value, product])
    }

    /// The last value where the mask is not 0, else the state before, or zeros.
    pub(super) fn keep_past_end(&mut self, mask: Operand, before: Option<&Operand>) {
        let value = self.builder.program.last();
        let has_step = self.read(mask);
        let before = match before {
            Some(before) => self.read(before.clone()),
            None => self.apply(&f::BIT_XOR_WORD, vec![value, value]),
        };
        self.apply(&f::CHOOSE_WORD, vec![has_step, value, before]);
    }

    /// The result as another type.
    pub(super) fn convert(&mut self, chain: Vec<&'static Function>) {
        let last = self.builder.program.last();
        self.builder.program.apply_all(chain, last);
    }

    pub(super) fn into_computation(self) -> (Vec<Operand>, Computation) {
        let Builder { program, parameters } = self.builder;
        (self.inputs, Computation { program, parameters, packed: None })
    }
}
