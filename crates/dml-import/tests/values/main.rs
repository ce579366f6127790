//! Values beyond DirectML's tensors: narrow and wide floats, sequences, random numbers, and states that a run hands to
//! the next.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of tests are small"
)]

#[path = "../common/mod.rs"]
mod common;

mod bfloat16;
mod deformable;
mod doubles;
mod random_numbers;
mod sequences;
mod small_floats;
mod states;

use common::single::judged_of;
use dml_import::Tensor;

/// The numbers of a tensor of 32-bit floats.
fn numbers(tensor: &Tensor) -> Vec<f32> {
    let (words, _) = tensor.bytes().as_chunks();
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Small numbers without a pattern that is easy to see, from -1 to 1.
fn samples(count: usize, seed: u32) -> Vec<f32> {
    let number = |at: usize| {
        let mixed = (at as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8;
        (mixed % 2001) as f32 / 1000.0 - 1.0
    };
    (0..count).map(number).collect()
}

/// Checks that numbers are within 1e-5 of others.
fn assert_near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-5, "{at}: {found} for {expected}");
    }
}
