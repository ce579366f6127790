//! Sums of several elements that are moved to one position.

use dml_core::DataType;

use crate::Random;
use crate::number::{double, encoded};

/// The sum: floats are rounded once, and integers wrap.
pub(super) fn sum(data_type: DataType, elements: impl Iterator<Item = u64>) -> u64 {
    if data_type.integer_range().is_some() {
        let sum = elements.fold(0, u64::wrapping_add);
        return sum & (u64::MAX >> (64 - data_type.bits()));
    }
    // An empty sum is +0.
    encoded(data_type, elements.fold(0.0, |sum, bits| sum + double(data_type, bits)))
}

/// A random float of a magnitude that sums do not absorb.
pub(super) fn summand(random: &mut Random, data_type: DataType) -> u64 {
    let magnitude = f64::from(1 + random.below(4000)) / 1000.0;
    encoded(
        data_type,
        match random.below(200) {
            0 => 0.0,
            1 => -0.0,
            2 => f64::INFINITY,
            3 => f64::NAN,
            it if it % 3 == 0 => -magnitude,
            _ => magnitude,
        },
    )
}
