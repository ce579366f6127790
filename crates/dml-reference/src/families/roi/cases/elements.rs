//! Random elements: regions in and around the input, and degenerate ones.

use dml_core::{TensorLayout, Validated};

use crate::Random;
use crate::number::encoded;

/// The elements of the input at `index`; arbitrary bits if they are only moved.
pub(in crate::families::roi) fn drawn(
    random: &mut Random,
    operator: &Validated,
    index: usize,
    layout: &TensorLayout,
    is_moved: bool,
) -> Vec<u64> {
    let data_type = layout.data_type();
    let input = operator.required_tensor("InputTensor").map(TensorLayout::sizes);
    let input = input.unwrap_or(&[1; 4]);
    let numbers = layout.sizes().last().copied().unwrap_or(1).max(1);
    let element = |random: &mut Random, at: u64| match index {
        0 if is_moved => random.input_element(data_type),
        // Positive numbers, so that few digits are lost.
        0 => encoded(data_type, f64::from(1 + random.below(4000)) / 1000.0),
        1 => {
            let at = u32::try_from(at % u64::from(numbers)).unwrap_or(0);
            match at.checked_sub(numbers - 4) {
                Some(at) => {
                    encoded(data_type, corner(random, input[if at % 2 == 0 { 3 } else { 2 }]))
                }
                None => encoded(data_type, batch(random, input[0])),
            }
        }
        _ => match random.below(8) {
            0 => random.bits() >> (64 - data_type.bits()),
            _ => random.below(input[0] + 1).into(),
        },
    };
    (0..layout.element_count()).map(|at| element(random, at)).collect()
}

/// A coordinate in eighths, which FLOAT16 represents, or an extreme one.
pub(in crate::families) fn corner(random: &mut Random, size: u32) -> f64 {
    let unusual = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 60_000.0, -60_000.0, 1e-6];
    match random.below(40) {
        0 => random.pick(&unusual),
        _ => f64::from(random.below(8 * size + 32)) / 8.0 - 2.0,
    }
}

/// A batch index, or an invalid one.
fn batch(random: &mut Random, batches: u32) -> f64 {
    match random.below(10) {
        0 => random.pick(&[-1.0, 0.75, f64::NAN, f64::INFINITY, 50_000.0]),
        _ => random.below(batches + 1).into(),
    }
}
