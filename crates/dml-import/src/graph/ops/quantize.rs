//! Between real numbers and integers, by scales and zero points.

use dml_core::DataType;
use dml_core::operators::{ELEMENT_WISE_DEQUANTIZE_LINEAR, ELEMENT_WISE_QUANTIZE_LINEAR};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::dml;
use crate::graph::ops::element_wise::built;
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
/// out: one for all elements, or one for each place along an axis.
#[derive(Debug)]
pub(crate) struct Quantize {
    pub(crate) direction: Direction,
    pub(crate) axis: i64,
    /// The type of the output, where that is said.
    pub(crate) output: Option<ElementType>,
}

const UINT8: ElementType = ElementType::Dml(DataType::Uint8);
/// The integers that DirectML gives, and after them those that it only takes.
const INTEGERS: [ElementType; 6] = [
    UINT8,
    ElementType::Dml(DataType::Int8),
    ElementType::Dml(DataType::Uint16),
    ElementType::Dml(DataType::Int16),
    ElementType::Dml(DataType::Uint32),
    ElementType::Dml(DataType::Int32),
];

impl Op for Quantize {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let (input, scale) = (operands.value(0, "x")?, operands.value(1, "scale")?);
        let zero_point = operands.optional(2);
        let of_zero_point = zero_point.map(Value::element).transpose()?;
        let (schema, integer, output, taken) = match self.direction {
            Direction::Forth => {
                let output = self.output.or(of_zero_point).unwrap_or(UINT8);
                (&ELEMENT_WISE_QUANTIZE_LINEAR, output, output, &INTEGERS[..2])
            }
            Direction::Back => {
                let output = scale.element()?;
                if self.output.is_some_and(|it| it != output) {
                    let reason = format!("DirectML gives {output} where the scale is that");
                    return Err(operands.node.not_supported(reason));
                }
                (&ELEMENT_WISE_DEQUANTIZE_LINEAR, input.element()?, output, &INTEGERS[..])
            }
        };
        if !taken.contains(&integer) {
            let reason = format!("DirectML's {} has no {integer} there", schema.name);
            return Err(operands.node.not_supported(reason));
        }
        if let Some(given) = of_zero_point {
            operands.type_is(given, &[integer], "zero_point")?;
        }
        let shape = input.shape()?.to_vec();
        let none = Value::fill(Kind { element: integer, shape: scale.shape()?.to_vec() }, 0);
        let scale = self.aligned(operands, scale, "scale", &shape)?;
        let zero_point =
            self.aligned(operands, zero_point.unwrap_or(&none), "zero_point", &shape)?;
        let kind = Kind { element: output, shape };
        if kind.is_empty() {
            return Ok(vec![Value::host(Tensor::new(output, kind.shape, vec![])?)]);
        }
        let values = [input, &scale, &zero_point];
        values.iter().try_for_each(|it| it.check())?;
        let (device, owner) = (operands.device, operands.owner);
        Ok(vec![dml::element_wise(device, owner, &values, kind, |inputs, output| {
            built(schema, inputs, output, &[])
                .map_err(|error| operands.node.not_supported(error.to_string()))
        })])
    }
}

impl Quantize {
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
            if given.len() == shape.len() {
                return Err(operands.node.not_supported("scales of blocks are not run"));
            }
            let (given, accepted) = (text(given), text(&shape[axis..=axis]));
            return Err(operands.node.invalid(name, given, "is the wrong shape", accepted));
        }
        let mut aligned = vec![1; shape.len() - axis];
        aligned[0] = shape[axis];
        operands.reshaped(value, &aligned)
    }
}
