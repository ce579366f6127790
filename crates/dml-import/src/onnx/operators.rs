//! ONNX's operators by version: their attributes and inputs, and what they do.

use std::ops::RangeInclusive;
use std::sync::Arc;

use dml_core::DataType;

use crate::constant::Constant;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::{
    Arithmetic, Broadcast, Cast, Concat, ConstantOfShape, EyeLike, Gather, Identity, Literal, Op,
    Reshape, ShapeOf, Slice, Squeeze, Trilu, Unary, Unsqueeze, Zero,
};
use crate::tensor::Tensor;

use super::attributes::{Attributes, Kind};
use super::tensor;

/// One version of an operator.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The version of ai.onnx that has it first.
    pub(super) since: i64,
    pub(super) attributes: &'static [(&'static str, Kind)],
    pub(super) inputs: RangeInclusive<usize>,
    pub(super) build: fn(&Attributes<'_>) -> Result<Box<dyn Op>>,
}

const ANY: usize = usize::MAX;

/// What EyeLike takes and gives from version 22 on; from version 9 on all but the last.
static EYE_TYPES: [ElementType; 13] = [
    ElementType::Bool,
    ElementType::Dml(DataType::Float16),
    ElementType::Dml(DataType::Float32),
    ElementType::Dml(DataType::Float64),
    ElementType::Dml(DataType::Int8),
    ElementType::Dml(DataType::Int16),
    ElementType::Dml(DataType::Int32),
    ElementType::Dml(DataType::Int64),
    ElementType::Dml(DataType::Uint8),
    ElementType::Dml(DataType::Uint16),
    ElementType::Dml(DataType::Uint32),
    ElementType::Dml(DataType::Uint64),
    ElementType::Bfloat16,
];

const fn row(
    name: &'static str,
    since: i64,
    attributes: &'static [(&'static str, Kind)],
    inputs: RangeInclusive<usize>,
    build: fn(&Attributes<'_>) -> Result<Box<dyn Op>>,
) -> Row {
    Row { name, since, attributes, inputs, build }
}

/// Every version of every operator, in any order.
pub(super) const ROWS: &[Row] = &[
    row("EyeLike", 9, &[("dtype", Kind::Int), ("k", Kind::Int)], 1..=1, |it| {
        eye_like(it, &EYE_TYPES[..12])
    }),
    row("EyeLike", 22, &[("dtype", Kind::Int), ("k", Kind::Int)], 1..=1, |it| {
        eye_like(it, &EYE_TYPES)
    }),
    row("Trilu", 14, &[("upper", Kind::Int)], 1..=2, |it| {
        Ok(Box::new(Trilu { upper: it.int("upper").unwrap_or(1) != 0 }))
    }),
    row("Constant", 1, &[("value", Kind::Tensor)], 0..=0, constant),
    row("Constant", 12, &CONSTANT_12, 0..=0, constant),
    row("ConstantOfShape", 9, &[("value", Kind::Tensor)], 1..=1, constant_of_shape),
    row("Shape", 1, &[], 1..=1, shape),
    row("Shape", 15, &[("start", Kind::Int), ("end", Kind::Int)], 1..=1, shape),
    row("Gather", 1, &[("axis", Kind::Int)], 2..=2, |it| {
        Ok(Box::new(Gather { axis: Some(it.int("axis").unwrap_or(0)) }))
    }),
    row("Concat", 4, &[("axis", Kind::Int)], 1..=ANY, |it| {
        Ok(Box::new(Concat { axis: it.int("axis").ok_or_else(|| it.missing("axis"))? }))
    }),
    row("Unsqueeze", 1, &[("axes", Kind::Ints)], 1..=1, |it| {
        let axes = it.ints("axes").ok_or_else(|| it.missing("axes"))?;
        Ok(Box::new(Unsqueeze { axes: Some(axes) }))
    }),
    row("Unsqueeze", 13, &[], 2..=2, |_| Ok(Box::new(Unsqueeze { axes: None }))),
    row("Squeeze", 1, &[("axes", Kind::Ints)], 1..=1, |it| {
        Ok(Box::new(Squeeze { axes: it.ints("axes") }))
    }),
    row("Squeeze", 13, &[], 1..=2, |_| Ok(Box::new(Squeeze { axes: None }))),
    row("Slice", 1, &SLICE_1, 1..=1, |it| {
        let starts = it.ints("starts").ok_or_else(|| it.missing("starts"))?;
        let ends = it.ints("ends").ok_or_else(|| it.missing("ends"))?;
        Ok(Box::new(Slice::Fixed { starts, ends, axes: it.ints("axes") }))
    }),
    row("Slice", 10, &[], 3..=5, |_| Ok(Box::new(Slice::Inputs { axes: 3, steps: 4 }))),
    row("Reshape", 5, &[], 2..=2, |_| Ok(Box::new(Reshape { zero: Zero::Copied }))),
    row("Reshape", 14, &[("allowzero", Kind::Int)], 2..=2, |it| {
        let allowed = it.int("allowzero").unwrap_or(0) != 0;
        Ok(Box::new(Reshape { zero: if allowed { Zero::Kept } else { Zero::Copied } }))
    }),
    row("Cast", 6, &[("to", Kind::Int)], 1..=1, cast),
    row("Cast", 19, &[("to", Kind::Int), ("saturate", Kind::Int)], 1..=1, cast),
    row("Cast", 24, &CAST_24, 1..=1, cast),
    row("Identity", 1, &[], 1..=1, |_| Ok(Box::new(Identity))),
    row("Expand", 8, &[], 2..=2, |_| Ok(Box::new(Broadcast { bidirectional: true }))),
    row("Add", 7, &[], 2..=2, |_| Ok(Box::new(Arithmetic::Add))),
    row("Sub", 7, &[], 2..=2, |_| Ok(Box::new(Arithmetic::Subtract))),
    row("Mul", 7, &[], 2..=2, |_| Ok(Box::new(Arithmetic::Multiply))),
    row("Div", 7, &[], 2..=2, |_| Ok(Box::new(Arithmetic::Divide))),
    row("Mod", 10, &[("fmod", Kind::Int)], 2..=2, |it| {
        let truncates = it.int("fmod").unwrap_or(0) != 0;
        Ok(Box::new(if truncates { Arithmetic::Remainder } else { Arithmetic::FloorRemainder }))
    }),
    row("Min", 8, &[], 1..=ANY, |_| Ok(Box::new(Arithmetic::Minimum))),
    row("Max", 8, &[], 1..=ANY, |_| Ok(Box::new(Arithmetic::Maximum))),
    row("Neg", 6, &[], 1..=1, |_| Ok(Box::new(Unary::Negate))),
    row("Abs", 6, &[], 1..=1, |_| Ok(Box::new(Unary::Absolute))),
];

const CONSTANT_12: [(&str, Kind); 6] = [
    ("value", Kind::Tensor),
    ("value_float", Kind::Float),
    ("value_floats", Kind::Floats),
    ("value_int", Kind::Int),
    ("value_ints", Kind::Ints),
    ("value_string", Kind::Text),
];
const SLICE_1: [(&str, Kind); 3] =
    [("starts", Kind::Ints), ("ends", Kind::Ints), ("axes", Kind::Ints)];
const CAST_24: [(&str, Kind); 3] =
    [("to", Kind::Int), ("saturate", Kind::Int), ("round_mode", Kind::Text)];

fn eye_like(it: &Attributes<'_>, types: &'static [ElementType]) -> Result<Box<dyn Op>> {
    let dtype = it.int("dtype").map(|number| element(it, "dtype", number)).transpose()?;
    Ok(Box::new(EyeLike { dtype, k: it.int("k").unwrap_or(0), types }))
}

fn element(it: &Attributes<'_>, name: &str, number: i64) -> Result<ElementType> {
    tensor::element(number).ok_or_else(|| {
        let accepted = "the numbers of TensorProto.DataType, such as 1 for float";
        it.node.invalid(format!("attribute {name}"), number, "is no type", accepted)
    })
}

fn cast(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let to = it.int("to").ok_or_else(|| it.missing("to"))?;
    Ok(Box::new(Cast { to: element(it, "to", to)? }))
}

fn shape(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let (start, end) = (it.int("start").unwrap_or(0), it.int("end"));
    Ok(Box::new(ShapeOf { element: ElementType::INT64, start, end }))
}

fn constant(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let length = |count: usize| vec![count as u64];
    let constant: Constant = if let Some(constant) = it.tensor("value")? {
        constant
    } else if let Some(value) = it.int("value_int") {
        Tensor::from_integers(vec![], &[value]).into()
    } else if let Some(values) = it.ints("value_ints") {
        Tensor::from_integers(length(values.len()), &values).into()
    } else if let Some(value) = it.float("value_float") {
        Tensor::new(ElementType::FLOAT32, [], value.to_le_bytes().to_vec())?.into()
    } else if let Some(values) = it.floats("value_floats") {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor::new(ElementType::FLOAT32, length(values.len()), bytes)?.into()
    } else if it.text("value_string").is_some() {
        return Err(it.node.not_supported("string has no counterpart among DirectML's types"));
    } else {
        return Err(it.missing("value"));
    };
    Ok(Box::new(Literal(Arc::new(constant))))
}

fn constant_of_shape(it: &Attributes<'_>) -> Result<Box<dyn Op>> {
    let Some(constant) = it.tensor("value")? else {
        return Ok(Box::new(ConstantOfShape { element: ElementType::FLOAT32, bits: 0 }));
    };
    let tensor = constant.load()?;
    let mut elements = tensor.bits();
    match (elements.next(), elements.next()) {
        (Some(bits), None) => {
            Ok(Box::new(ConstantOfShape { element: tensor.element_type(), bits }))
        }
        _ => {
            let (given, problem) = (crate::tensor::text(tensor.shape()), "is the wrong shape");
            Err(it.node.invalid("attribute value", given, problem, "one element"))
        }
    }
}
