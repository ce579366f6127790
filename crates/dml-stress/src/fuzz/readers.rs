//! The readers of models and tensors: whatever is read is inspected, bound, and written again.

use dml_import::{Inputs, Model, npy as tensors};

pub(super) fn onnx(bytes: &[u8]) -> bool {
    !matches!(first(bytes), Some(b'<' | b'{' | b'/')) && model(bytes)
}

pub(super) fn openvino(bytes: &[u8]) -> bool {
    first(bytes) == Some(b'<') && model(bytes)
}

pub(super) fn dxdispatch(bytes: &[u8]) -> bool {
    matches!(first(bytes), Some(b'{' | b'/')) && model(bytes)
}

/// What tells the formats apart.
fn first(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

fn model(bytes: &[u8]) -> bool {
    if let Ok(model) = Model::from_bytes(bytes.to_vec()) {
        let inputs = Inputs::new();
        let _ = model.inspect(&inputs);
        let _ = model.bind(&inputs);
        let _ = model.bind(&inputs.with_shape("x", [3, 4]));
    }
    true
}

pub(super) fn npy(bytes: &[u8]) -> bool {
    let Ok(tensor) = tensors::from_bytes(bytes.to_vec()) else { return true };
    let mut file = Vec::new();
    tensors::write(&mut file, &tensor).expect("a tensor that was read can be written");
    let again = tensors::from_bytes(file).expect("a tensor that was written can be read");
    assert_eq!(again.bytes(), tensor.bytes());
    assert_eq!(again.shape(), tensor.shape());
    true
}
