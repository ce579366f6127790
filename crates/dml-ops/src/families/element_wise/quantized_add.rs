//! Lowers ELEMENT_WISE_QUANTIZED_LINEAR_ADD, which has eight inputs, more than one kernel can have: a first Map
//! dequantizes the first summand to FLOAT32 in a temporary buffer.

use dml_core::schema::FieldKind;
use dml_core::{DataType, Error, Validated};
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::Value;
use dml_spirv::functions as f;

use crate::Target;
use crate::ir::space::{Operand, leading};
use crate::ir::{self, Buffer, Recorder};
use crate::lowering::conversion::{conversion, widened};
use crate::lowering::map_builder::MapBuilder;

/// The inputs of the first Map and of the second Map.
const FIRST: [&str; 3] = ["ATensor", "AScaleTensor", "AZeroPointTensor"];
const REST: [&str; 5] =
    ["BTensor", "BScaleTensor", "BZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"];
const OUTPUT: &str = "OutputTensor";

/// Lowers ELEMENT_WISE_QUANTIZED_LINEAR_ADD to two Maps.
pub(super) fn lower(operator: &Validated, target: &Target<'_>) -> Result<ir::Program, Error> {
    let (schema, output) = (operator.schema(), operator.required_tensor(OUTPUT)?);
    let sizes = leading(output.sizes(), 1);
    let mut first = Summand::default();
    let operands = FIRST.map(|name| first.input(operator, name)).into_iter();
    let operands = operands.collect::<Result<Vec<_>, Error>>()?;
    first.dequantized(&operands);
    let mut recorder = Recorder::new(operator, target);
    let between = recorder.packed_temporary(ElementWidth::B32, &sizes);
    first.map.record(&mut recorder, sizes, between.clone())?;
    let mut rest = Summand::default();
    let operands = REST.map(|name| rest.input(operator, name)).into_iter();
    let operands = operands.collect::<Result<Vec<_>, Error>>()?;
    rest.quantized_sum(&operands, between, output.data_type());
    let written = Operand::of(schema.name, Buffer::Output(0), output)?;
    rest.map.record(&mut recorder, sizes, written)?;
    Ok(recorder.finish())
}

/// A Map that dequantizes a summand; the second one adds the other summand and quantizes the sum.
#[derive(Default)]
struct Summand {
    map: MapBuilder,
}

/// The element of an input and its type; `None` where the input is left out.
type Input = Option<(Value, DataType)>;

impl Summand {
    fn input(&mut self, operator: &Validated, name: &str) -> Result<Input, Error> {
        let inputs =
            || operator.schema().fields.iter().filter(|field| field.kind == FieldKind::Input);
        let index = (0..).zip(inputs()).find(|(_, field)| field.name == name);
        let (Some(tensor), Some((index, _))) = (operator.tensor(name)?, index) else {
            return Ok(None);
        };
        let operand = Operand::of(operator.schema().name, Buffer::Input(index), tensor)?;
        Ok(Some((self.map.input(operand), tensor.data_type())))
    }

    /// `(x - zero point) * scale`.
    fn dequantized(&mut self, operands: &[Input]) -> Value {
        let arguments = [0, 1, 2].map(|at| self.operand(operands, at, widened));
        self.map.apply(&f::DEQUANTIZE_SMALL, &arguments, &[])
    }

    /// The sum with the `other` summand, quantized to integers of type `output`.
    fn quantized_sum(&mut self, operands: &[Input], other: Operand, output: DataType) {
        let other = self.map.input(other);
        let own = self.dequantized(&operands[..3]);
        let sum = self.map.apply(&f::ADD_F32, &[other, own], &[]);
        let to_single = |data_type| conversion(data_type, DataType::Float32);
        let [scale, zero_point] = [3, 4].map(|at| self.operand(operands, at, to_single));
        // Divisions keep subnormal numbers, but the sum may have lost them: the scale is treated like an
        // operand of the sum.
        let scale = self.map.apply(&f::AS_OPERAND_F32, &[scale], &[]);
        let quantized = self.map.apply(&f::QUANTIZE_F32, &[sum, scale, zero_point], &[]);
        self.map.apply_all(conversion(DataType::Float32, output), quantized);
    }

    /// An operand after the conversions of `chain`; 0 where the input is left out.
    fn operand(
        &mut self,
        operands: &[Input],
        at: usize,
        chain: impl Fn(DataType) -> Vec<&'static f::Function>,
    ) -> Value {
        match operands[at] {
            Some((value, data_type)) => self.map.apply_all(chain(data_type), value),
            None => self.map.computation.zero(Value::Input(0)),
        }
    }
}
