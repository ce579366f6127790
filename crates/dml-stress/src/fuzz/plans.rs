//! `plans`: the check of [`crate::plans`] with a fuzzer's bytes for its random numbers.

use dml_reference::Random;

use crate::plans::{Draw, check, describe};

pub(super) fn run(bytes: &[u8]) -> bool {
    let draw = Draw::new(&mut Random::from_bytes(bytes));
    if let Err(problem) = check(&draw) {
        panic!("{problem}\n{}", describe(&draw));
    }
    true
}
