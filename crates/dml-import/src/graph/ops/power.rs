//! Powers.
//!
//! DirectML has no 64-bit bases or exponents, and computes powers of integers with float exponents in FLOAT32.

use crate::convert::from_integer;
use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{
    BIT_AND, EQUAL, FLOOR, GREATER, LESS, MULTIPLY, POWER, SUBTRACT, WHERE,
};
use crate::graph::ops::cast::cast;
use crate::graph::ops::composed::ABSOLUTE;
use crate::graph::ops::double::DOUBLE;
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::Function;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;

/// The elements of the first input raised to the powers in the second one, which may have another type.
///
/// Integer powers of integers are exact, modulo the size of their type; with negative exponents they are
/// rounded toward zero, and powers of 0 are 0. Other powers of integers are computed in FLOAT32. For float
/// bases, 64-bit exponents are converted to FLOAT32: if that rounds, powers are 0, 1 or infinite, except for
/// bases close to 1.
#[derive(Debug)]
pub(crate) struct Power;

impl Op for Power {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (base, exponent) = (operands.value(0, "X")?, operands.value(1, "Y")?);
        let power = match base.element()?.is_integer() {
            true => of_integers(operands, base, exponent)?,
            false => of_floats(operands, base, exponent)?,
        };
        Ok(vec![power])
    }
}

/// Whether the elements have 64 bits.
fn is_wide(value: &Value) -> Result<bool> {
    Ok(value.element()?.size() == Some(8))
}

fn of_floats(operands: &NodeInputs<'_>, base: &Value, exponent: &Value) -> Result<Value> {
    let exponent = match is_wide(exponent)? && base.element()? != DOUBLE {
        true => cast(operands, exponent, ElementType::FLOAT32)?,
        false => exponent.clone(),
    };
    apply(operands, POWER, &[base.clone(), exponent])
}

fn of_integers(operands: &NodeInputs<'_>, base: &Value, exponent: &Value) -> Result<Value> {
    let element = exponent.element()?;
    if element.is_integer() {
        return to_integers(operands, base, exponent);
    }
    let exponent = cast(operands, exponent, ElementType::FLOAT32)?;
    let whole = apply(operands, FLOOR, std::slice::from_ref(&exponent))?;
    let is_whole = apply(operands, EQUAL, &[whole.clone(), exponent.clone()])?;
    let exact = to_integers(operands, base, &cast(operands, &whole, ElementType::INT64)?)?;
    let single = cast(operands, base, ElementType::FLOAT32)?;
    let rounded = apply(operands, POWER, &[single, exponent])?;
    let rounded = cast(operands, &rounded, base.element()?)?;
    apply(operands, WHERE, &[is_whole, exact, rounded])
}

fn to_integers(operands: &NodeInputs<'_>, base: &Value, exponent: &Value) -> Result<Value> {
    if !is_wide(base)? && !is_wide(exponent)? {
        return apply(operands, POWER, &[base.clone(), exponent.clone()]);
    }
    let exponent = Steps(operands).shortened(exponent)?;
    if !is_wide(base)? {
        let exponent = cast(operands, &exponent, ElementType::INT32)?;
        return apply(operands, POWER, &[base.clone(), exponent]);
    }
    Steps(operands).by_squares(base, &cast(operands, &exponent, ElementType::INT64)?)
}

/// The greatest exponent for which a power of 2 does not wrap around to 0.
const GREATEST: i128 = 63;

/// Element-wise operations with small integers.
struct Steps<'a>(&'a NodeInputs<'a>);

impl Steps<'_> {
    fn with(&self, function: Function, value: &Value, number: i128) -> Result<Value> {
        let element = value.element()?;
        let number = Value::scalar(element, from_integer(number, element));
        apply(self.0, function, &[value.clone(), number])
    }

    /// Selects `holds` where `condition` is true, and `otherwise` elsewhere.
    fn chosen(&self, condition: Value, holds: Value, otherwise: &Value) -> Result<Value> {
        apply(self.0, WHERE, &[condition, holds, otherwise.clone()])
    }

    /// Exponents from -2 to 63 with the same parity, which give the same powers of -1, 0 and 1.
    ///
    /// For all other bases, powers to negative exponents are 0, and those to larger exponents are not
    /// representable.
    fn shortened(&self, exponent: &Value) -> Result<Value> {
        let odd = self.with(BIT_AND, exponent, 1)?;
        let most = self.with(SUBTRACT, &odd, 1 - GREATEST)?;
        let is_above = self.with(GREATER, exponent, GREATEST)?;
        let exponent = self.chosen(is_above, most, exponent)?;
        let is_below = self.with(LESS, &exponent, 0)?;
        let least = self.with(SUBTRACT, &odd, 2)?;
        self.chosen(is_below, least, &exponent)
    }

    /// Powers to small exponents, by repeated squaring.
    fn by_squares(&self, base: &Value, exponent: &Value) -> Result<Value> {
        let (element, one) = (base.element()?, base.element()?.one());
        let one = Value::scalar(element, one);
        let (mut square, mut power) = (base.clone(), one.clone());
        for bit in (0..).map(|bit| 1_i128 << bit).take_while(|bit| *bit <= GREATEST) {
            let is_set = self.with(EQUAL, &self.with(BIT_AND, exponent, bit)?, bit)?;
            let factor = self.chosen(is_set, square.clone(), &one)?;
            power = apply(self.0, MULTIPLY, &[power, factor])?;
            square = apply(self.0, MULTIPLY, &[square.clone(), square])?;
        }
        // Exponents -1 and -2 give the powers of 1 and -1 for all odd and even negative exponents.
        let size = apply(self.0, ABSOLUTE, std::slice::from_ref(base))?;
        let is_unit = self.with(EQUAL, &size, 1)?;
        let zero = Value::scalar(element, 0);
        let fraction = self.chosen(is_unit, power.clone(), &zero)?;
        let is_below = self.with(LESS, exponent, 0)?;
        self.chosen(is_below, fraction, &power)
    }
}
