//! `indices`: the check of [`crate::indices`] with a fuzzer's bytes for its random numbers.

use dml_reference::Random;

use crate::indices::{OPERATORS, case, check};

pub(super) fn run(bytes: &[u8]) -> bool {
    let mut random = Random::from_bytes(bytes);
    let index = random.below(u32::try_from(OPERATORS.len()).unwrap_or(1)) as usize;
    if let Err(problem) = check(&case(index, &mut random)) {
        panic!("{problem}");
    }
    true
}
