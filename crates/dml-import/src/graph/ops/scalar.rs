//! Elements that the host computes with.

use crate::convert::{float, from_float, from_integer, integer};
use crate::element::ElementType;

/// An element while the host computes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// An integer, or a truth value.
    Integer(i128),
    /// A float. Operations on two FLOAT32 values in 64 bits round to 32 bits as if they were exact.
    Float(f64),
}

/// Computes a function of single elements on the host.
pub(crate) type Fold = fn(&[Scalar]) -> Scalar;

impl Scalar {
    pub(crate) fn new(bits: u64, element: ElementType) -> Self {
        match element.is_integer() {
            true => Self::Integer(integer(bits, element)),
            false => Self::Float(float(bits, element)),
        }
    }

    /// The value as a float; an integer is rounded to the nearest one.
    #[expect(clippy::cast_precision_loss, reason = "rounded to nearest")]
    pub(crate) fn float(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The bits of the value as `element`: integers wrap around.
    pub(crate) fn bits(self, element: ElementType) -> u64 {
        match self {
            Self::Integer(value) => from_integer(value, element),
            Self::Float(value) => from_float(value, element),
        }
    }
}

/// The lesser number; NaN if either is NaN.
pub(super) fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

/// The greater number; NaN if either is NaN.
pub(super) fn greater(a: f64, b: f64) -> f64 {
    -least(-a, -b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_wrap_around_in_their_type() {
        let int8 = ElementType::Dml(dml_core::DataType::Int8);
        assert_eq!(Scalar::Integer(200).bits(int8), 0xc8);
        assert_eq!(Scalar::Integer(1 << 40).bits(int8), 0);
        assert_eq!(Scalar::Float(0.1).bits(ElementType::FLOAT32), u64::from(0.1f32.to_bits()));
    }
}
