//! Elements for testing functions of rows. Sums of arbitrary numbers have no useful error bound: cancellation
//! leaves no correct digits, and overflow depends on the order.

use dml_core::TensorLayout;

use crate::Random;
use crate::number::encoded;

/// A set of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// Arbitrary elements, which kernels read as integers.
    Any,
    /// Arbitrary elements, for results that are fractions of a sum.
    Shares,
    /// Arbitrary elements, for results that are some of them.
    Moved,
    /// Arbitrary elements, half of the time only a few different ones.
    Few,
    /// Numbers whose sums are exact, or positive ones.
    Sums,
    /// Numbers whose products stay near 1.
    Factors,
    /// Numbers of magnitudes from 2 to 8.
    Powers,
}

impl Elements {
    /// Whether a device may flush subnormal elements to zero.
    pub(crate) fn are_computed_with(self) -> bool {
        matches!(self, Self::Sums | Self::Factors)
    }

    /// Random elements of a tensor; integers are arbitrary.
    pub(crate) fn drawn(self, random: &mut Random, tensor: &TensorLayout) -> Vec<u64> {
        let data_type = tensor.data_type();
        let is_exact = random.one_in(2);
        let element = |_| match self.number(random, is_exact) {
            Some(number) if self == Self::Few || data_type.integer_range().is_none() => {
                encoded(data_type, number)
            }
            _ => random.input_element(data_type),
        };
        (0..tensor.element_count()).map(element).collect()
    }

    fn number(self, random: &mut Random, is_exact: bool) -> Option<f64> {
        let unit = f64::from(random.word()) / f64::from(u32::MAX);
        let sign = if random.one_in(2) { -1.0 } else { 1.0 };
        Some(match self {
            Self::Any | Self::Shares | Self::Moved => return None,
            Self::Few if is_exact => return None,
            Self::Few => f64::from(random.below(3)) * sign,
            Self::Sums if is_exact => f64::from(random.below(64)) / 8.0 * sign,
            Self::Sums => 0.5 + 4.0 * unit,
            Self::Factors => sign * (0.5 * (unit - 0.5)).exp2(),
            Self::Powers => sign * (2.0 + 6.0 * unit),
        })
    }
}
