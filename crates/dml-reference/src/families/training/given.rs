//! The inputs of an execution as numbers, and random elements.

use dml_core::{DataType, TensorLayout, Validated};

use crate::Random;
use crate::number::{double, encoded, single};

/// Applied to every intermediate number that a device may flush to zero.
pub(super) type FlushToZero = fn(f64) -> f64;

/// The inputs of an execution.
pub(super) struct ExecutionInputs<'a> {
    pub(super) operator: &'a Validated,
    /// The elements of every input; empty for inputs that are left out.
    pub(super) inputs: Vec<Vec<f64>>,
    pub(super) step: FlushToZero,
}

impl ExecutionInputs<'_> {
    /// A sum, difference or product, rounded to single precision.
    pub(super) fn rounded(&self, value: f64) -> f64 {
        (self.step)(single((self.step)(value)))
    }

    /// A number after storing it to a tensor and loading it.
    pub(super) fn stored(data_type: DataType, value: f64) -> f64 {
        double(data_type, encoded(data_type, single(value)))
    }
}

/// Random numbers whose sums are exact, or positive ones.
pub(super) fn sums(random: &mut Random, layout: &TensorLayout) -> Vec<u64> {
    let is_exact = random.one_in(2);
    let mut element = || {
        let unit = f64::from(random.word()) / f64::from(u32::MAX);
        let sign = if random.one_in(2) { -1.0 } else { 1.0 };
        let exact = f64::from(random.below(64)) / 8.0 * sign;
        encoded(layout.data_type(), if is_exact { exact } else { 0.5 + 4.0 * unit })
    };
    (0..layout.element_count()).map(|_| element()).collect()
}
