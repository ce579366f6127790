//! Twins of `kernels/functions/random_words.glsl`.

use super::{Function, Shape, low};
use crate::kernels::RANDOM_WORDS;

functions! {
    /// The word with an index of the output of Philox 4x32-10. The arguments are the index and the state:
    /// four words of a counter, the lowest first, and two words of a key.
    PHILOX = RANDOM_WORDS.philox(7) Alike |a| {
        let words = block(later(counter(a), low(a[0]) >> 2), [low(a[5]), low(a[6])]);
        words[(a[0] & 3) as usize].into()
    };
    /// The word with an index of the state that is advanced by a number of blocks, the parameter.
    PHILOX_STATE = RANDOM_WORDS.philox_state(7; 1) Alike |a| match low(a[0]) {
        at @ 0..4 => later(counter(a), low(a[7]))[at as usize].into(),
        4 => a[5],
        _ => a[6],
    };
}

fn counter(a: &[u64]) -> [u32; 4] {
    [low(a[1]), low(a[2]), low(a[3]), low(a[4])]
}

fn later(counter: [u32; 4], by: u32) -> [u32; 4] {
    let number = counter.iter().rev().fold(0, |number, word| number << 32 | u128::from(*word));
    let sum = number.wrapping_add(by.into());
    [0, 32, 64, 96].map(|at| (sum >> at) as u32)
}

/// The four words of one Philox block.
fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let product = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        [(product >> 32) as u32, product as u32]
    };
    let round = |([x, y, z, w], [first, second]): ([u32; 4], [u32; 2]), _| {
        let [[high_x, low_x], [high_z, low_z]] = [product(0xd251_1f53, x), product(0xcd9e_8d57, z)];
        let counter = [high_z ^ y ^ first, low_z, high_x ^ w ^ second, low_x];
        (counter, [first.wrapping_add(0x9e37_79b9), second.wrapping_add(0xbb67_ae85)])
    };
    (0..10).fold((counter, key), round).0
}
