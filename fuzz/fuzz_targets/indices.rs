//! The fuzz target `indices` of `dml_stress::fuzz`.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    if dml_stress::fuzz::run("indices", bytes) { Corpus::Keep } else { Corpus::Reject }
});
