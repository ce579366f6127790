//! QuantizeLinear and DequantizeLinear, and their attributes.

use super::build::{self, Built, element};
use super::{OperatorVersion, row};
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::{Direction, Quantize};
use crate::onnx::attributes::{Attributes, Kind};

const AXIS: (&str, Kind) = ("axis", Kind::Int);
const SATURATE: (&str, Kind) = ("saturate", Kind::Int);
const BLOCK: (&str, Kind) = ("block_size", Kind::Int);
const OUTPUT: (&str, Kind) = ("output_dtype", Kind::Int);
const PRECISION: (&str, Kind) = ("precision", Kind::Int);

/// All versions of both operators.
pub(super) static ROWS: &[OperatorVersion] = &[
    row("QuantizeLinear", 10, &[], 2..=3, quantize),
    row("QuantizeLinear", 13, &[AXIS], 2..=3, quantize),
    row("QuantizeLinear", 19, &[AXIS, SATURATE], 2..=3, quantize),
    row("QuantizeLinear", 21, &[AXIS, SATURATE, BLOCK, OUTPUT], 2..=3, quantize),
    row("QuantizeLinear", 23, &[AXIS, SATURATE, BLOCK, OUTPUT, PRECISION], 2..=3, quantize),
    row("DequantizeLinear", 10, &[], 2..=3, dequantize),
    row("DequantizeLinear", 13, &[AXIS], 2..=3, dequantize),
    row("DequantizeLinear", 21, &[AXIS, BLOCK], 2..=3, dequantize),
    row("DequantizeLinear", 23, &[AXIS, BLOCK, OUTPUT], 2..=3, dequantize),
];

fn linear(it: &Attributes<'_>, direction: Direction) -> Built {
    let block = it.int("block_size").unwrap_or(0);
    let axis = it.int("axis").unwrap_or(1);
    let (output, precision) = (kind(it, OUTPUT.0)?, kind(it, PRECISION.0)?);
    let rounding = build::rounding(it)?;
    Ok(Box::new(Quantize { direction, axis, block, output, precision, rounding }))
}

/// The type that an attribute names; `None` if it is 0 or missing.
fn kind(it: &Attributes<'_>, name: &str) -> Result<Option<ElementType>> {
    let number = it.int(name).filter(|number| *number != 0);
    number.map(|number| element(it, name, number)).transpose()
}

pub(super) fn quantize(it: &Attributes<'_>) -> Built {
    linear(it, Direction::Forth)
}

pub(super) fn dequantize(it: &Attributes<'_>) -> Built {
    linear(it, Direction::Back)
}
