//! ELEMENT_WISE_QUANTIZED_LINEAR_ADD: eight inputs, which are more than one kernel has. The first summand
//! is made FLOAT32 in the temporary resource before.

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{Program, Value};
use dml_spirv::functions as f;

use crate::Target;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::ir::{self, Buffer, Computation, Recorder};
use crate::lowering::conversion::{conversion, widened};

/// The inputs of each part.
const FIRST: [&str; 3] = ["ATensor", "AScaleTensor", "AZeroPointTensor"];
const REST: [&str; 5] =
    ["BTensor", "BScaleTensor", "BZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"];
const OUTPUT: &str = "OutputTensor";

/// The program of such an operator.
pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let (schema, output) = (operator.schema(), operator.required_tensor(OUTPUT)?);
    let sizes = leading(output.sizes(), 1);
    let mut first = Part::default();
    let operands = FIRST.map(|name| first.input(operator, name)).into_iter();
    let operands = operands.collect::<Result<Vec<_>, Error>>()?;
    first.dequantized(&operands);
    let mut rest = Part::default();
    let operands = REST.map(|name| rest.input(operator, name)).into_iter();
    let operands = operands.collect::<Result<Vec<_>, Error>>()?;
    rest.quantized_sum(&operands, output.data_type());
    let mut recorder = Recorder::new(operator, target);
    let between = recorder.packed_temporary(ElementWidth::B32, &sizes);
    let written = Operand::of(schema.name, Buffer::Output(0), output)?;
    for (part, read, written) in [(first, None, between.clone()), (rest, Some(between), written)] {
        let mut inputs = Vec::new();
        for (index, tensor) in &part.inputs {
            inputs.push(Operand::of(schema.name, Buffer::Input(*index), tensor)?);
        }
        inputs.extend(read);
        let computation = Computation { program: part.program, ..Computation::default() };
        recorder.map(IterationSpace { sizes, inputs, output: written }, computation)?;
    }
    Ok(recorder.finish())
}

/// What is computed at once.
#[derive(Default)]
struct Part<'a> {
    program: Program,
    /// With the numbers of their bindings.
    inputs: Vec<(u32, &'a TensorLayout)>,
}

/// An input while a program is made; `None` where it is left out.
type Input = Option<(Value, DataType)>;

impl<'a> Part<'a> {
    fn input(&mut self, operator: &'a Validated, name: &str) -> Result<Input, Error> {
        let inputs = || operator.schema().fields.iter().filter(|it| it.kind == FieldKind::Input);
        let index = (0..).zip(inputs()).find(|(_, field)| field.name == name);
        let (Some(tensor), Some((index, _))) = (operator.tensor(name)?, index) else {
            return Ok(None);
        };
        self.inputs.push((index, tensor));
        Ok(Some((Value::Input(self.inputs.len() - 1), tensor.data_type())))
    }

    /// `(x - zero point) * scale`.
    fn dequantized(&mut self, operands: &[Input]) -> Value {
        let element = operands[0].map_or(DataType::Uint8, |(_, data_type)| data_type);
        let is_signed = element.integer_range().is_some_and(|(least, _)| least < 0);
        let function = if is_signed { &f::DEQUANTIZE_I32 } else { &f::DEQUANTIZE_U32 };
        let arguments = [0, 1, 2].map(|at| self.operand(operands, at, widened));
        self.program.apply(function, arguments.to_vec())
    }

    /// The sum with what the other part gave, which is read last, as integers of `output`.
    fn quantized_sum(&mut self, operands: &[Input], output: DataType) {
        let other = Value::Input(self.inputs.len());
        let own = self.dequantized(&operands[..3]);
        let sum = self.program.apply(&f::ADD_F32, vec![other, own]);
        let to_single = |data_type| conversion(data_type, DataType::Float32);
        let [scale, zero_point] = [3, 4].map(|at| self.operand(operands, at, to_single));
        // Quotients know all numbers; a sum that is 0 for a subnormal one is divided by a scale like it.
        let scale = self.program.apply(&f::AS_OPERAND_F32, vec![scale]);
        let quantized = self.program.apply(&f::QUANTIZE_F32, vec![sum, scale, zero_point]);
        self.program.apply_all(conversion(DataType::Float32, output), quantized);
    }

    /// An operand as what is computed with; zeros where it is left out.
    fn operand(
        &mut self,
        operands: &[Input],
        at: usize,
        chain: impl Fn(DataType) -> Vec<&'static f::Function>,
    ) -> Value {
        match operands[at] {
            Some((value, data_type)) => self.program.apply_all(chain(data_type), value),
            None => self.program.apply(&f::BIT_XOR_WORD, vec![Value::Input(0), Value::Input(0)]),
        }
    }
}
