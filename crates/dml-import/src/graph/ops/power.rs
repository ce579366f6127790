//! Powers.

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::POWER;
use crate::graph::ops::cast::cast;
use crate::graph::ops::element_wise::ElementWise;
use crate::graph::ops::{Op, Operands};
use crate::graph::value::Value;

/// The elements of the first input to the powers in the second one, which has a type of its own.
///
/// DirectML has no exponents of 64 bits. Where the bases are floats they become FLOAT32: where that rounds an
/// exponent, powers are 0, 1 or infinite but of bases next to 1.
#[derive(Debug)]
pub(crate) struct Power;

impl Op for Power {
    fn evaluate(&self, operands: &Operands<'_>) -> Result<Vec<Value>> {
        let (base, exponent) = (operands.value(0, "X")?, operands.value(1, "Y")?);
        let is_wide = exponent.element()?.size() == Some(8);
        if !is_wide || base.element()?.is_integer() {
            return ElementWise::new(POWER).evaluate(operands);
        }
        let exponent = cast(operands, exponent, ElementType::FLOAT32)?;
        let narrow = Operands { values: vec![Some(base), Some(&exponent)], ..*operands };
        ElementWise::new(POWER).evaluate(&narrow)
    }
}
