//! The readers of models and tensors: everything that is read is inspected, bound, and written again.

use dml::core::{validate, validate_graph};
use dml::{DataType, FeatureLevel};
use dml_import::program::Work;
use dml_import::{ElementType, Format, Inputs, Model, Tensor, npy as tensors};

pub(super) fn onnx(bytes: &[u8]) -> bool {
    !matches!(first(bytes), Some(b'<' | b'{' | b'/')) && model(bytes)
}

pub(super) fn openvino(bytes: &[u8]) -> bool {
    first(bytes) == Some(b'<') && model(bytes)
}

pub(super) fn dxdispatch(bytes: &[u8]) -> bool {
    matches!(first(bytes), Some(b'{' | b'/')) && model(bytes)
}

/// The first byte that is not white space, which tells the formats apart.
fn first(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

fn model(bytes: &[u8]) -> bool {
    if let Ok(model) = Model::from_bytes(bytes.to_vec()) {
        let inputs = Inputs::new();
        let _ = model.inspect(&inputs);
        bound(&model, &inputs);
        bound(&model, &inputs.clone().with_shape("x", [3, 4]));
        for (data_type, shape) in
            [(DataType::Float32, vec![3, 4]), (DataType::Int64, vec![2]), (DataType::Uint8, vec![])]
        {
            let count: u64 = shape.iter().product::<u64>() * u64::from(data_type.bits() / 8);
            let bytes: Vec<u8> = (0..count).map(|it| u8::from(it % 8 == 0)).collect();
            if let Ok(tensor) = Tensor::new(ElementType::Dml(data_type), shape, bytes) {
                bound(&model, &inputs.clone().with_tensor("x", tensor));
            }
        }
    }
    true
}

/// Checks that DirectML accepts the operators of a bound model. A script has its own operators, which are
/// refused when they are compiled.
fn bound(model: &Model, inputs: &Inputs) {
    let Ok(program) = model.bind(inputs) else { return };
    for operator in program.operators() {
        let checked = match &operator.work {
            Work::Operator(operator) => validate(operator, FeatureLevel::HIGHEST).map(drop),
            Work::Graph { desc, .. } => validate_graph(desc, FeatureLevel::HIGHEST).map(drop),
        };
        if let Err(error) = checked {
            assert_eq!(model.format(), Format::DxDispatch, "{}: {error}", operator.node);
            super::descriptors::is_readable(&error);
        }
    }
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
