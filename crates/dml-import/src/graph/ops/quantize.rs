//! Between real numbers and integers, by scales and zero points.

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
use crate::graph::ops::element_wise::{apply, built};
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::{Op, Operands};
use crate::graph::value::{Kind, Value};
use crate::tensor::{Tensor, text};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To integers.
    Forth,
    /// To real numbers.
    Back,
}

/// The first input with the scales of the second and the zero points of the third one, which may be left
/// out: one for all elements, one for each place along an axis, or one for each block along it.
#[derive(Debug)]
pub(crate) struct Quantize {
    pub(crate) direction: Direction,
    pub(crate) axis: i64,
    /// Elements of a block; 0 where there are none.
    pub(crate) block: i64,
    /// The type of the output, where that is said.
    pub(crate) output: Option<ElementType>,
}

const UINT8: ElementType = ElementType::Dml(DataType::Uint8);
const SINGLE: ElementType = ElementType::Dml(DataType::Float32);
/// The integers that are given, and after them those that are only taken.
const INTEGERS: [ElementType; 8] = [
    UINT8,
    ElementType::Dml(DataType::Int8),
    ElementType::Uint4,
    ElementType::Int4,
    ElementType::Dml(DataType::Uint16),
    ElementType::Dml(DataType::Int16),
    ElementType::Dml(DataType::Uint32),
    ElementType::Dml(DataType::Int32),
];
/// How many of them are given.
const GIVEN: usize = 6;
/// Halves become even, DirectML's first mode.
const ROUND: Function = Function::new(Types::Numbers, &ELEMENT_WISE_ROUND);

impl Op for Quantize {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let (input, scale) = (operands.value(0, "x")?, operands.value(1, "scale")?);
        let zero_point = operands.optional(2);
        let of_zero_point = zero_point.map(Value::element).transpose()?;
        let (integer, output, taken) = match self.direction {
            Direction::Forth => {
                let output = self.output.or(of_zero_point).unwrap_or(UINT8);
                (output, output, &INTEGERS[..GIVEN])
            }
            Direction::Back => {
                let output = scale.element()?;
                if self.output.is_some_and(|it| it != output) {
                    let reason = format!("DirectML gives {output} where the scale is that");
                    return Err(operands.node.not_supported(reason));
                }
                (input.element()?, output, &INTEGERS[..])
            }
        };
        if !taken.contains(&integer) {
            let reason = format!("DirectML quantizes no {integer} there");
            return Err(operands.node.not_supported(reason));
        }
        if let Some(given) = of_zero_point {
            operands.type_is(given, &[integer], "zero_point")?;
        }
        let kind = Kind { element: output, shape: input.shape()?.to_vec() };
        let none = Value::fill(Kind { element: integer, shape: scale.shape()?.to_vec() }, 0);
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
            return Ok(vec![Value::host(Tensor::new(output, kind.shape, vec![])?)]);
        }
        values.iter().try_for_each(Value::check)?;
        self.computed(operands, &values, kind).map(|it| vec![it])
    }
}

/// The value as what carries it: a byte, of half a byte.
fn carried(value: &Value) -> Value {
    Value { element: value.element.map(carrier), ..value.clone() }
}

fn carrier(element: ElementType) -> ElementType {
    match element.half_byte().and_then(|_| element.storage()) {
        Some(data_type) => ElementType::Dml(data_type),
        None => element,
    }
}

impl Quantize {
    /// What becomes of the elements, with scales and zero points.
    fn computed(&self, operands: &Operands<'_>, values: &[Value; 3], kind: Kind) -> Result<Value> {
        let Kind { element: output, ref shape } = kind;
        let integer = match self.direction {
            Direction::Forth => output,
            Direction::Back => values[0].element()?,
        };
        let values = values.each_ref().map(carried);
        let kind = Kind { element: carrier(output), shape: shape.clone() };
        let result = match (self.block, integer.size() == Some(1)) {
            (0, false) if self.direction == Direction::Forth => {
                return by_steps(operands, &values, output);
            }
            (0, _) => self.by_elements(operands, &values, kind),
            (_, true) => self.by_blocks(operands, &values, kind)?,
            (_, false) => return self.of_wide_blocks(operands, &values, kind),
        };
        // What DirectML limits to 8 bits is limited to 4.
        let (Direction::Forth, Some(half)) = (self.direction, output.half_byte()) else {
            return Ok(result);
        };
        let (least, most) = half.integer_range().unwrap_or_default();
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

    fn by_elements(&self, operands: &Operands<'_>, values: &[Value; 3], kind: Kind) -> Value {
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
        operands: &Operands<'_>,
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

    /// As elements of a dimension of blocks, and of one within them, along which scales repeat: DirectML has no
    /// blocks of more than 8 bits.
    fn of_wide_blocks(
        &self,
        operands: &Operands<'_>,
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
        let whole = Kind { element: kind.element, shape: apart(&kind.shape) };
        let result = of_elements.computed(operands, &[input?, scale?, zero_point?], whole)?;
        operands.reshaped(&result, &kind.shape)
    }

    /// One value, or one for each place along the axis of `shape`.
    fn aligned(
        &self,
        operands: &Operands<'_>,
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

    /// One value for each block along the axis of `shape`.
    fn check_blocks(
        &self,
        operands: &Operands<'_>,
        given: &[u64],
        shape: &[u64],
        name: &str,
    ) -> Result<()> {
        let axis = operands.axis(self.axis, shape.len(), "attribute axis")?;
        let Some(block) = u64::try_from(self.block).ok() else {
            let problem = "is no number of elements";
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
        if !shape[axis].is_multiple_of(block) {
            let reason = format!(
                "DirectML's blocks are all of one size, and {block} does not divide {}",
                shape[axis]
            );
            return Err(operands.node.not_supported(reason));
        }
        Ok(())
    }
}

/// The same as quantized by DirectML, in steps that it has for more types.
fn by_steps(operands: &Operands<'_>, values: &[Value; 3], output: ElementType) -> Result<Value> {
    let single = |value: &Value| cast(operands, value, SINGLE);
    let of = |function, values: &[Value]| apply(operands, function, values);
    let [input, scale, zero_point] =
        [single(&values[0])?, single(&values[1])?, single(&values[2])?];
    let whole = of(ROUND, &[of(DIVIDE, &[input, scale])?])?;
    cast(operands, &of(ADD, &[whole, zero_point])?, output)
}
