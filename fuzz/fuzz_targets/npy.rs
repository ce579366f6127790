//! Reads what may be a tensor, writes it, and reads that.
#![no_main]

use dml_import::npy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(tensor) = npy::from_bytes(bytes.to_vec()) else { return };
    let mut file = Vec::new();
    npy::write(&mut file, &tensor).expect("a tensor that was read can be written");
    let again = npy::from_bytes(file).expect("a tensor that was written can be read");
    assert_eq!(again.bytes(), tensor.bytes());
    assert_eq!(again.shape(), tensor.shape());
});
