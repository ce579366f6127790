//! Bit shifts.

use dml_core::DataType;
use dml_core::operators::{ELEMENT_WISE_BIT_SHIFT_LEFT, ELEMENT_WISE_BIT_SHIFT_RIGHT};

use crate::element::ElementType;
use crate::error::Result;
use crate::graph::ops::arithmetic::{BIT_XOR, LESS, WHERE};
use crate::graph::ops::element_wise::apply;
use crate::graph::ops::function::{Function, Types};
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;

/// The first input shifted by the number of bits in the second one. Zeros are shifted in, except that right
/// shifts of signed integers shift in the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitShift {
    Left,
    Right,
}

impl Op for BitShift {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let (input, places) = (operands.value(0, "X")?, operands.value(1, "Y")?);
        let element = input.element()?;
        let Some(unsigned) = unsigned(element) else {
            return self.moved(operands, input, places).map(|it| vec![it]);
        };
        operands.type_is(places.element()?, &[element], "Y")?;
        // A negative shift, seen as unsigned, is larger than the number of bits.
        let seen = |value: &Value| Value { element: Some(unsigned), ..value.clone() };
        let (bits, places) = (seen(input), seen(places));
        let moved = match self {
            Self::Left => self.moved(operands, &bits, &places)?,
            Self::Right => {
                // A negative number is shifted as its complement, so that zeros shifted in become ones.
                let is_below = apply(operands, LESS, &[input.clone(), Value::scalar(element, 0)])?;
                let [all, none] = [u64::MAX >> (64 - width(unsigned)), 0]
                    .map(|bits| Value::scalar(unsigned, bits));
                let mask = apply(operands, WHERE, &[is_below, all, none])?;
                let bits = apply(operands, BIT_XOR, &[bits, mask.clone()])?;
                apply(operands, BIT_XOR, &[self.moved(operands, &bits, &places)?, mask])?
            }
        };
        Ok(vec![Value { element: Some(element), ..moved }])
    }
}

impl BitShift {
    /// Shifts unsigned numbers.
    pub(super) fn moved(
        self,
        operands: &NodeInputs<'_>,
        input: &Value,
        places: &Value,
    ) -> Result<Value> {
        let schema = match self {
            Self::Left => &ELEMENT_WISE_BIT_SHIFT_LEFT,
            Self::Right => &ELEMENT_WISE_BIT_SHIFT_RIGHT,
        };
        let function = Function::new(Types::Numbers, schema);
        apply(operands, function, &[input.clone(), places.clone()])
    }
}

/// The unsigned type of the same width; `None` if the type is not signed.
fn unsigned(element: ElementType) -> Option<ElementType> {
    let ElementType::Dml(signed) = element else { return None };
    let unsigned = match signed {
        DataType::Int8 => DataType::Uint8,
        DataType::Int16 => DataType::Uint16,
        DataType::Int32 => DataType::Uint32,
        DataType::Int64 => DataType::Uint64,
        _ => return None,
    };
    Some(ElementType::Dml(unsigned))
}

/// Bits of an element.
fn width(element: ElementType) -> u32 {
    element.storage().map_or(64, DataType::bits)
}
