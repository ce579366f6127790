//! Lowers quantization and dequantization: a Map that reads the scale and the zero point of each element's block.
//!
//! DEQUANTIZE of INT8 [2, 4] with a scale and a zero point for each row:
//!
//! ```text
//! DEQUANTIZE
//!   input 0 = InputTensor INT8 [2, 4]
//!   input 1 = QuantizationTensors[0] FLOAT32 [2, 1]
//!   input 2 = QuantizationTensors[1] INT8 [2, 1]
//!   output 0 = OutputTensor FLOAT32 [2, 4]
//!   output 0 over [2, 4] = map sign_extend_8 sign_extend_8 dequantize_small (input 0, input 1 by [1, 0], input 2 by [1, 0])
//!     50 bytes, 24 operations, 8 invocations
//! ```

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, TensorLayout, Validated};
use dml_spirv::element_wise::{ElementFormula, Value};
use dml_spirv::functions as f;

use super::spaces::{ElementLayout, Halves, spaces};
use crate::Target;
use crate::ir::{self, Buffer, Computation, Recorder};
use crate::lowering::conversion::{conversion, widened};
use crate::target::{MAX_STEPS, beyond_steps};

const OUTPUT: &str = "OutputTensor";

pub(super) fn value_scale(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let bias = operator.float_array("Bias")?;
    let scale = [operator.float("Scale")?.to_bits()];
    let bias: Vec<u32> = bias.iter().map(|bia| bia.to_bits()).collect();
    let mut map = BlockwiseMap::new(operator, target)?;
    let element = map.input(0)?;
    let element = map.single(element);
    let [scale, bias] = [map.by_channel(&scale), map.by_channel(&bias)];
    let product = map.program.apply(&f::MULTIPLY_F32, [element, scale]);
    let sum = map.program.apply(&f::ADD_F32, [product, bias]);
    map.program_of(sum)
}

pub(super) fn quantize(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut map = BlockwiseMap::new(operator, target)?;
    let [element, scale, zero_point] = map.quantization()?;
    let arguments = [element, scale, zero_point].map(|it| map.single(it));
    let quantized = map.program.apply(&f::QUANTIZE_F32, arguments);
    map.program_of(quantized)
}

pub(super) fn dequantize(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let mut map = BlockwiseMap::new(operator, target)?;
    let [element, scale, zero_point] = map.quantization()?;
    let [element, zero_point] = [element, zero_point].map(|it| map.integer(it));
    let scale = map.single(scale);
    let real = map.program.apply(&f::DEQUANTIZE_SMALL, [element, scale, zero_point]);
    map.program_of(real)
}

/// A value and its data type.
type Typed = (Value, DataType);

/// A Map under construction that is recorded over several spaces, because blocks and an output of 4-bit
/// elements divide the tensors.
struct BlockwiseMap<'a> {
    operator: &'a Validated,
    output: &'a TensorLayout,
    recorder: Recorder<'a>,
    inputs: Vec<ElementLayout>,
    program: ElementFormula,
}

impl<'a> BlockwiseMap<'a> {
    fn new(operator: &'a Validated, target: &'a Target<'_>) -> Result<Self, Error> {
        Ok(Self {
            operator,
            output: operator.required_tensor(OUTPUT)?,
            recorder: Recorder::new(operator, target),
            inputs: vec![],
            program: ElementFormula::default(),
        })
    }

    /// Adds the input tensor with the number `index`.
    fn input(&mut self, index: u32) -> Result<Typed, Error> {
        let mut tensors = (0..).zip(self.operator.present_tensors(FieldKind::Input));
        let tensor = tensors.find(|(number, _)| *number == index).map(|(_, (_, tensor))| tensor);
        let tensor = tensor
            .ok_or_else(|| Error::internal(self.operator.schema().name, "has too few inputs"))?;
        self.inputs.push(ElementLayout::of(Buffer::Input(index), tensor));
        Ok((Value::Input(self.inputs.len() - 1), tensor.data_type()))
    }

    /// Adds a constant input of FLOAT32 words, one for each coordinate along the second dimension.
    fn by_channel(&mut self, words: &[u32]) -> Value {
        let count = u32::try_from(words.len()).expect("as many as a field counts");
        let buffer = self.recorder.constants(words);
        self.inputs.push(ElementLayout::along(buffer, 1, count, self.output.sizes().len()));
        Value::Input(self.inputs.len() - 1)
    }

    /// Adds the input, its scale, and its zero point, which is 0 where the tensor is left out.
    fn quantization(&mut self) -> Result<[Typed; 3], Error> {
        let [element, scale] = [self.input(0)?, self.input(1)?];
        let zero_point = match self.operator.present_tensors(FieldKind::Input).count() {
            3.. => self.input(2)?,
            _ => {
                let zero = self.program.apply(&f::BIT_XOR_WORD, [element.0, element.0]);
                (zero, DataType::Uint32)
            }
        };
        Ok([element, scale, zero_point])
    }

    fn single(&mut self, (value, data_type): Typed) -> Value {
        self.program.apply_all(conversion(data_type, DataType::Float32), value)
    }

    fn integer(&mut self, (value, data_type): Typed) -> Value {
        self.program.apply_all(widened(data_type), value)
    }

    /// The program that writes `result`, a FLOAT32 value, in the output's type.
    fn program_of(mut self, result: Value) -> Result<ir::Program, Error> {
        let data_type = self.output.data_type();
        let result = self.program.apply_all(conversion(DataType::Float32, data_type), result);
        let output = ElementLayout::of(Buffer::Output(0), self.output);
        let has_halves = output.is_half();
        if has_halves {
            let (before, unit) = (Value::Input(self.inputs.len()), Value::Parameter(0));
            self.program.apply(&f::WITH_HALF_BYTE, [before, result, unit]);
        }
        self.inputs.push(output);
        let (name, places) = (self.operator.schema().name, &self.inputs);
        let spaces = spaces(name, places)?
            .ok_or_else(|| beyond_steps(name, OUTPUT, u64::from(MAX_STEPS) + 1))?;
        for Halves { space, are_second } in spaces {
            let unit = if are_second { 1 << 4 } else { 1 };
            let parameters = if has_halves { vec![unit] } else { vec![] };
            let computation =
                Computation { program: self.program.clone(), parameters, packed: None };
            self.recorder.map(space, computation)?;
        }
        Ok(self.recorder.finish())
    }
}
