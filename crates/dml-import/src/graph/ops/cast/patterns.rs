//! bfloat16 and small floats on the device, which has them as integers: they are converted to FLOAT32 and back.

use dml_core::DataType;
use dml_core::operators::ELEMENT_WISE_BIT_OR;

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::NodeInputs;
use crate::graph::ops::arithmetic::{ADD, BIT_AND, IS_NAN, MINIMUM, WHERE};
use crate::graph::ops::bits::BitShift;
use crate::graph::ops::cast::cast;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::index::gathered;
use crate::graph::ops::table::table;
use crate::graph::value::Value;
use crate::small_float::{Rounding, SmallFloat};
use crate::tensor::Tensor;

const WORD: ElementType = ElementType::Dml(DataType::Uint32);
const HALF: ElementType = ElementType::Dml(DataType::Uint16);
const BYTE: ElementType = ElementType::Dml(DataType::Uint8);
const BIT_OR: Function = Function::new(Types::Numbers, &ELEMENT_WISE_BIT_OR);

/// The bits of bfloat16's NaN.
const NAN: u64 = 0x7fc0;

/// FLOAT32 with the values of `input`, whose elements are patterns.
pub(super) fn unpacked(operands: &NodeInputs<'_>, input: &Value) -> Result<Value> {
    let Some(format) = input.element()?.small_float() else {
        // bfloat16 is the upper half of FLOAT32.
        let bits = cast(operands, &seen(input, HALF), WORD)?;
        let shifted = BitShift::Left.moved(operands, &bits, &Value::scalar(WORD, 16))?;
        return Ok(seen(&shifted, ElementType::FLOAT32));
    };
    let patterns = 0..=u8::MAX >> (8 - format.bits());
    let shape = vec![u64::from(*patterns.end()) + 1];
    let values = table(ElementType::FLOAT32, shape, patterns.map(|pattern| format.value(pattern)))?;
    let patterns = cast(operands, &seen(input, BYTE), WORD)?;
    gathered(operands, &values, &patterns, 0)
}

/// The patterns of FLOAT32 numbers as `to`.
pub(super) fn packed(
    operands: &NodeInputs<'_>,
    single: &Value,
    to: ElementType,
    rounding: Rounding,
) -> Result<Value> {
    let patterns = match to.small_float() {
        Some(format) => small(operands, &seen(single, WORD), (format, rounding))?,
        None => bfloat16(operands, single)?,
    };
    Ok(seen(&patterns, to))
}

/// The patterns of small floats. The upper half of a number's bits, of which the lowest one also says whether any bit
/// below it is set, decides how it is rounded: small floats have at most 3 fraction bits, the upper half has 7.
fn small(
    operands: &NodeInputs<'_>,
    bits: &Value,
    (format, rounding): (SmallFloat, Rounding),
) -> Result<Value> {
    let (upper, lower) = halves(operands, bits)?;
    let has_rest = apply(operands, MINIMUM, &[lower, word(1)])?;
    let index = apply(operands, BIT_OR, &[upper, has_rest])?;
    let pattern = |upper: u32| {
        let value = f32::from_bits(upper << 16);
        u64::from(format.pattern(value.into(), rounding))
    };
    let patterns = Tensor::of_bits(BYTE, [1 << 16], (0..1 << 16).map(pattern))?;
    gathered(operands, &Value::host(patterns), &index, 0)
}

/// The upper halves of numbers, rounded to nearest and to even.
fn bfloat16(operands: &NodeInputs<'_>, single: &Value) -> Result<Value> {
    let bits = seen(single, WORD);
    let (upper, _) = halves(operands, &bits)?;
    let is_odd = apply(operands, BIT_AND, &[upper, word(1)])?;
    let half_a_step = apply(operands, ADD, &[is_odd, word(0x7fff)])?;
    let (rounded, _) = halves(operands, &apply(operands, ADD, &[bits, half_a_step])?)?;
    let is_nan = apply(operands, IS_NAN, std::slice::from_ref(single))?;
    let rounded = apply(operands, WHERE, &[is_nan, word(NAN), rounded])?;
    cast(operands, &rounded, HALF)
}

/// The upper and the lower 16 bits of words.
fn halves(operands: &NodeInputs<'_>, bits: &Value) -> Result<(Value, Value)> {
    let upper = BitShift::Right.moved(operands, bits, &word(16))?;
    let lower = apply(operands, BIT_AND, &[bits.clone(), word(0xffff)])?;
    Ok((upper, lower))
}

fn word(bits: u64) -> Value {
    Value::scalar(WORD, bits)
}

/// The elements as another type of the same width.
fn seen(value: &Value, element: ElementType) -> Value {
    Value { element: Some(element), ..value.clone() }
}
