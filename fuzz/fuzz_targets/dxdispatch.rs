//! Reads, inspects and binds what may be a model.
#![no_main]

use dml_import::{Inputs, Model};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // Other formats have targets of their own.
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if !matches!(first, Some(b'{' | b'/')) {
        return Corpus::Reject;
    }
    if let Ok(model) = Model::from_bytes(bytes.to_vec()) {
        let inputs = Inputs::new();
        let _ = model.inspect(&inputs);
        let _ = model.bind(&inputs);
        let _ = model.bind(&inputs.with_shape("x", [3, 4]));
    }
    Corpus::Keep
});
