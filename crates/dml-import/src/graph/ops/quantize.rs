//! Linear quantization and dequantization, with scales and zero points.

mod small;

use dml_core::operators::{
    DequantizeDesc, ELEMENT_WISE_DEQUANTIZE_LINEAR, ELEMENT_WISE_QUANTIZE_LINEAR,
    ELEMENT_WISE_ROUND, QuantizeDesc,
};
use dml_core::{DataType, QuantizationType};

use crate::convert::from_integer;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::dml;
use crate::graph::ops::arithmetic::{ADD, DIVIDE, MAXIMUM, MINIMUM};
use crate::graph::ops::cast::cast;
use crate::graph::ops::concat::join;
use crate::graph::ops::element_wise::{apply, built};
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::split::parts;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::{Content, Kind, Value};
use crate::small_float::{Rounding, SmallFloat};
use crate::tensor::text;

/// Whether to quantize or to dequantize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Quantize to integers or small floats.
    Forth,
    /// Dequantize to real numbers.
    Back,
}

/// Inputs are the data, the scales, and optional zero points: one for all elements, one for each index along an
/// axis, or one for each block along it.
#[derive(Debug)]
pub(crate) struct Quantize {
    pub(crate) direction: Direction,
    pub(crate) axis: i64,
    /// The block size along the axis, where the last block may be shorter; 0 without blocks.
    pub(crate) block: i64,
    /// The output's type, if stated.
    pub(crate) output: Option<ElementType>,
    /// The type in which elements are divided by scales, if stated.
    pub(crate) precision: Option<ElementType>,
    /// The rounding to small floats.
    pub(crate) rounding: Rounding,
}

const UINT8: ElementType = ElementType::Dml(DataType::Uint8);
const SINGLE: ElementType = ElementType::FLOAT32;
/// The types of scales in which results are computed.
const REAL: [ElementType; 2] = [SINGLE, ElementType::FLOAT16];
/// The types that integers are dequantized to.
const DEQUANTIZED: [ElementType; 3] = [SINGLE, ElementType::FLOAT16, ElementType::Bfloat16];
/// Types of quantized elements: those that quantization produces, followed by those that are only dequantized.
const QUANTIZED: [ElementType; 15] = [
    UINT8,
    ElementType::Dml(DataType::Int8),
    ElementType::Uint4,
    ElementType::Int4,
    ElementType::Uint2,
    ElementType::Int2,
    ElementType::Dml(DataType::Uint16),
    ElementType::Dml(DataType::Int16),
    ElementType::Small(SmallFloat::E4m3fn),
    ElementType::Small(SmallFloat::E4m3fnuz),
    ElementType::Small(SmallFloat::E5m2),
    ElementType::Small(SmallFloat::E5m2fnuz),
    ElementType::Small(SmallFloat::E2m1),
    ElementType::Dml(DataType::Uint32),
    ElementType::Dml(DataType::Int32),
];
/// How many of them quantization produces.
const GIVEN: usize = 13;
/// Rounds to nearest, ties to even, which is DirectML's first mode.
const ROUND: Function = Function::new(Types::Numbers, &ELEMENT_WISE_ROUND);

impl Op for Quantize {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (input, scale) = (operands.value(0, "x")?, operands.value(1, "scale")?);
        let zero_point = operands.optional(2);
        let of_zero_point = zero_point.map(Value::element).transpose()?;
        let (integer, taken) = match self.direction {
            Direction::Forth => {
                (self.output.or(of_zero_point).unwrap_or(UINT8), &QUANTIZED[..GIVEN])
            }
            Direction::Back => (input.element()?, &QUANTIZED[..]),
        };
        if !taken.contains(&integer) {
            let reason = format!("DirectML does not support {integer} here");
            return Err(operands.node.not_supported(reason));
        }
        if let Some(given) = of_zero_point {
            operands.type_is(given, &[integer], "zero_point")?;
        }
        let output = match self.direction {
            Direction::Forth => integer,
            Direction::Back => self.output.map_or_else(|| scale.element(), Ok)?,
        };
        let kind = Kind { element: output, shape: input.shape()?.into() };
        let none = Value::fill(Kind { element: integer, shape: scale.shape()?.into() }, 0);
        let zero_point = zero_point.unwrap_or(&none);
        let values = if self.block == 0 {
            let aligned = |value, name| self.aligned(operands, value, name, &kind.shape);
            [input.clone(), aligned(scale, "scale")?, aligned(zero_point, "zero_point")?]
        } else {
            self.check_blocks(operands, scale.shape()?, &kind.shape, "scale")?;
            self.check_blocks(operands, zero_point.shape()?, &kind.shape, "zero_point")?;
            [input, scale, zero_point].map(Value::clone)
        };
        if kind.is_empty() {
            return Ok(vec![Value::empty(kind)?]);
        }
        values.iter().try_for_each(Value::check)?;
        let values = self.in_precision(operands, values, output)?;
        let real = match self.direction {
            Direction::Forth => output,
            Direction::Back => values[1].element()?,
        };
        let computed = Kind { element: real, ..kind };
        let result = match self.block {
            0 => self.computed(operands, &values, computed)?,
            _ => self.of_blocks(operands, &values, computed)?,
        };
        cast(operands, &result, output).map(|it| vec![it])
    }
}

/// The value as the type that carries it: a byte for an integer of fewer than 8 bits.
fn carried(value: &Value) -> Value {
    Value { element: value.element.map(carrier), ..value.clone() }
}

fn carrier(element: ElementType) -> ElementType {
    match element.narrow_integer().and_then(|_| element.storage()) {
        Some(data_type) => ElementType::Dml(data_type),
        None => element,
    }
}

impl Quantize {
    /// Converts all real numbers to the computation's type: to quantize, the stated precision or the scale's
    /// type; to dequantize, the scale's type unless the output has another one.
    fn in_precision(
        &self,
        operands: &NodeInputs<'_>,
        [input, scale, zero_point]: [Value; 3],
        output: ElementType,
    ) -> Result<[Value; 3]> {
        let of_scale = scale.element()?;
        if self.direction == Direction::Back {
            operands.type_is(output, &DEQUANTIZED, "attribute output_dtype")?;
            let is_kept = of_scale == output && REAL.contains(&of_scale);
            let computed = if is_kept { of_scale } else { SINGLE };
            return Ok([input, cast(operands, &scale, computed)?, zero_point]);
        }
        let asked = self.precision.unwrap_or(match of_scale {
            ElementType::INT32 => SINGLE,
            other => other,
        });
        operands.type_is(asked, &REAL, "the precision of the division")?;
        let [input, scale] = [input, scale].map(|value| cast(operands, &value, asked));
        Ok([input?, scale?, zero_point])
    }

    /// The result for blocks, of which the last one may be shorter.
    fn of_blocks(
        &self,
        operands: &NodeInputs<'_>,
        values: &[Value; 3],
        kind: Kind,
    ) -> Result<Value> {
        let axis = operands.axis(self.axis, kind.shape.len(), "attribute axis")?;
        let (size, block) = (kind.shape[axis], self.block.unsigned_abs());
        let of = |block: u64| Self { block: i64::try_from(block).unwrap_or(i64::MAX), ..*self };
        let rest = size % block;
        if rest == 0 || size < block {
            return of(size.min(block)).computed(operands, values, kind);
        }
        let (whole, blocks) = (size - rest, size / block);
        let divided = |value: &Value, lengths| divided(operands, value, axis, lengths);
        let [scale, zero_point] = [1, 2].map(|at| divided(&values[at], [blocks, 1]));
        let parts = divided(&values[0], [whole, rest])?.into_iter();
        let parts = parts.zip(scale?).zip(zero_point?).zip([block, rest]);
        let mut results = Vec::with_capacity(2);
        for (((input, scale), zero_point), block) in parts {
            let part = Kind { element: kind.element, shape: input.shape()?.into() };
            results.push(of(block).computed(operands, &[input, scale, zero_point], part)?);
        }
        let results: Vec<&Value> = results.iter().collect();
        join(operands, &results, self.axis, "x")
    }

    /// The result for elements with their scales and zero points.
    fn computed(
        &self,
        operands: &NodeInputs<'_>,
        values: &[Value; 3],
        kind: Kind,
    ) -> Result<Value> {
        let Kind { element: output, ref shape } = kind;
        let integer = match self.direction {
            Direction::Forth => output,
            Direction::Back => values[0].element()?,
        };
        if integer.small_float().is_some() && self.block == 0 {
            return match self.direction {
                Direction::Forth => small::quantized(operands, values, output, self.rounding),
                Direction::Back => small::dequantized(operands, values, output),
            };
        }
        let values = values.each_ref().map(carried);
        let kind = Kind { element: carrier(output), shape: shape.clone() };
        // DirectML has blocks of 8-bit integers only, and divides FLOAT16 in FLOAT32.
        let is_forth = self.direction == Direction::Forth;
        let is_direct = integer.size() == Some(1)
            && integer.small_float().is_none()
            && !(is_forth && values[1].element()? == ElementType::FLOAT16);
        let result = match (self.block, is_direct) {
            (0, false) if is_forth => by_steps(operands, &values, kind.element)?,
            (0, _) => self.by_elements(operands, &values, kind),
            (_, true) => self.by_blocks(operands, &values, kind)?,
            (_, false) => self.of_divided_dimension(operands, &values, kind)?,
        };
        // DirectML saturates to 8 bits; results of fewer bits are clamped further.
        let (Direction::Forth, Some(narrow)) = (self.direction, output.narrow_integer()) else {
            return Ok(result);
        };
        let (least, most) = narrow.range();
        let result = [(MAXIMUM, least), (MINIMUM, most)].into_iter().try_fold(
            result,
            |value, (function, end)| {
                let element = carrier(output);
                let end = Value::scalar(element, from_integer(end, element));
                apply(operands, function, &[value, end])
            },
        )?;
        Ok(Value { element: Some(output), ..result })
    }

    fn by_elements(&self, operands: &NodeInputs<'_>, values: &[Value; 3], kind: Kind) -> Value {
        let schema = match self.direction {
            Direction::Forth => &ELEMENT_WISE_QUANTIZE_LINEAR,
            Direction::Back => &ELEMENT_WISE_DEQUANTIZE_LINEAR,
        };
        let (device, owner) = (operands.device, operands.owner);
        dml::element_wise(device, owner, &values.each_ref(), kind, |inputs, output| {
            built(schema, inputs, output, &[])
                .map_err(|error| operands.node.not_supported(error.to_string()))
        })
    }

    fn by_blocks(
        &self,
        operands: &NodeInputs<'_>,
        values: &[Value; 3],
        output: Kind,
    ) -> Result<Value> {
        let kinds = [values[0].kind()?, values[1].kind()?, values[2].kind()?];
        let mut storages = Vec::with_capacity(values.len());
        for value in values {
            let packed = operands.materialized(value)?;
            packed.check()?;
            storages.push(packed.view().map(|view| view.storage.clone()));
        }
        let (direction, kind) = (self.direction, output.clone());
        Ok(operands.write(storages, output, || {
            let tensor = |it: &Kind| dml::packed_tensor(operands.node, it.element, &it.shape);
            let [input_tensor, scale, zero_point] =
                [tensor(&kinds[0])?, tensor(&kinds[1])?, tensor(&kinds[2])?];
            let (quantization_tensors, output_tensor) = (vec![scale, zero_point], tensor(&kind)?);
            let quantization_type = QuantizationType::ScaleZeroPoint;
            Ok(match direction {
                Direction::Forth => QuantizeDesc {
                    input_tensor,
                    quantization_type,
                    quantization_tensors,
                    output_tensor,
                }
                .into(),
                Direction::Back => DequantizeDesc {
                    input_tensor,
                    quantization_type,
                    quantization_tensors,
                    output_tensor,
                }
                .into(),
            })
        }))
    }

    /// Splits the axis into blocks and elements of a block, along which scales are broadcast.
    fn of_divided_dimension(
        &self,
        operands: &NodeInputs<'_>,
        values: &[Value; 3],
        kind: Kind,
    ) -> Result<Value> {
        let axis = operands.axis(self.axis, kind.shape.len(), "attribute axis")?;
        let blocks = values[1].shape()?[axis];
        let apart = |shape: &[u64]| {
            let mut apart = shape.to_vec();
            apart[axis] /= blocks;
            apart.insert(axis, blocks);
            apart
        };
        let reshaped = |value: &Value| operands.reshaped(value, &apart(value.shape()?));
        let [input, scale, zero_point] = values.each_ref().map(reshaped);
        let of_elements = Self { block: 0, ..*self };
        let whole = Kind { element: kind.element, shape: apart(&kind.shape).into() };
        let result = of_elements.computed(operands, &[input?, scale?, zero_point?], whole)?;
        operands.reshaped(&result, &kind.shape)
    }

    /// A parameter of one value, or of one for each index along the axis of `shape`.
    fn aligned(
        &self,
        operands: &NodeInputs<'_>,
        value: &Value,
        name: &str,
        shape: &[u64],
    ) -> Result<Value> {
        let given = value.shape()?;
        if given.iter().all(|size| *size == 1) && given.len() <= 1 {
            return operands.reshaped(value, &[]);
        }
        let axis = operands.axis(self.axis, shape.len(), "attribute axis")?;
        if given != &shape[axis..=axis] {
            let (given, accepted) = (text(given), text(&shape[axis..=axis]));
            return Err(operands.node.invalid(name, given, "is the wrong shape", accepted));
        }
        let mut aligned = vec![1; shape.len() - axis];
        aligned[0] = shape[axis];
        operands.reshaped(value, &aligned)
    }

    /// Checks that there is one value for each block along the axis of `shape`.
    fn check_blocks(
        &self,
        operands: &NodeInputs<'_>,
        given: &[u64],
        shape: &[u64],
        name: &str,
    ) -> Result<()> {
        let axis = operands.axis(self.axis, shape.len(), "attribute axis")?;
        let Some(block) = u64::try_from(self.block).ok().filter(|block| *block > 0) else {
            let problem = "is not a number of elements";
            return Err(operands.node.invalid(
                "attribute block_size",
                self.block,
                problem,
                "0 or more",
            ));
        };
        let mut blocks = shape.to_vec();
        blocks[axis] = shape[axis].div_ceil(block);
        if given != blocks {
            let (given, accepted) = (text(given), text(&blocks));
            return Err(operands.node.invalid(name, given, "is the wrong shape", accepted));
        }
        Ok(())
    }
}

/// Quantizes in separate steps, for which DirectML supports more types; the division is done in the elements'
/// type.
fn by_steps(operands: &NodeInputs<'_>, values: &[Value; 3], output: ElementType) -> Result<Value> {
    let single = |value: &Value| cast(operands, value, SINGLE);
    let of = |function, values: &[Value]| apply(operands, function, values);
    let [input, scale, zero_point] = values;
    let whole = of(ROUND, &[of(DIVIDE, &[input.clone(), scale.clone()])?])?;
    cast(operands, &of(ADD, &[single(&whole)?, single(zero_point)?])?, output)
}

/// The two parts of a value along a dimension.
fn divided(
    operands: &NodeInputs<'_>,
    value: &Value,
    axis: usize,
    lengths: [u64; 2],
) -> Result<Vec<Value>> {
    let Content::Fill(bits) = value.content else {
        return parts(operands, value, axis, &lengths);
    };
    let Kind { element, shape } = value.kind()?;
    let part = |length| {
        let mut shape = shape.clone();
        shape[axis] = length;
        Value::fill(Kind { element, shape }, bits)
    };
    Ok(lengths.map(part).into())
}
