//! Models and devices of the tests.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub(crate) mod cached;
pub(crate) mod decoder;
#[path = "../../../dml/tests/common/mod.rs"]
pub(crate) mod device;
pub(crate) mod host;
pub(crate) mod hostile;
pub(crate) mod images;
pub(crate) mod llama;
pub(crate) mod onnx;
pub(crate) mod openvino;
pub(crate) mod recurrent;
pub(crate) mod single;

use std::path::PathBuf;

use dml::Device;
use dml_import::program::{Destination, Output};
use dml_import::{ElementType, Inputs, Model, Program, Result, Tensor};

/// A file of the test data.
pub(crate) fn data(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// The outputs of a model by the host's reference, and by the device.
pub(crate) fn run_on_both(
    device: &Device,
    model: &Model,
    inputs: &Inputs,
) -> Result<[Vec<Output>; 2]> {
    let program = model.bind(inputs)?;
    Ok([host::run(&program), program.compile(device)?.run(&Inputs::new())?])
}

/// The outputs of a program on a device.
pub(crate) fn run(device: &Device, program: &Program) -> Vec<Output> {
    program.compile(device).unwrap().run(&Inputs::new()).unwrap()
}

/// The model's outputs as tensors.
pub(crate) fn tensors(outputs: &[Output]) -> Vec<Tensor> {
    outputs.iter().map(|output| output.tensor.clone()).collect()
}

/// The name of an output.
pub(crate) fn name(output: &Output) -> &str {
    match &output.destination {
        Destination::Output(name) => name,
        other => panic!("{other:?}"),
    }
}

/// Ones where `y + k == x`, from the definition.
pub(crate) fn eye(element: ElementType, shape: &[u64], k: i128) -> Tensor {
    let (one, size) = one(element);
    let rank = shape.len();
    let (rows, columns) = (shape[rank - 2], shape[rank - 1]);
    let batches: u64 = shape[..rank - 2].iter().product();
    let mut bytes = Vec::new();
    for _ in 0..batches {
        for y in 0..i128::from(rows) {
            for x in 0..i128::from(columns) {
                let bits = if y + k == x { one } else { 0 };
                bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
    }
    Tensor::new(element, shape, bytes).unwrap()
}

/// The bits of 1, as literals, and the size of an element in bytes.
fn one(element: ElementType) -> (u64, usize) {
    match element.to_string().as_str() {
        "bool" | "int8" | "uint8" => (1, 1),
        "int16" | "uint16" => (1, 2),
        "int32" | "uint32" => (1, 4),
        "int64" | "uint64" => (1, 8),
        "bfloat16" => (0x3F80, 2),
        "float16" => (0x3C00, 2),
        "float32" => (0x3F80_0000, 4),
        "float64" => (0x3FF0_0000_0000_0000, 8),
        other => panic!("{other}"),
    }
}

/// The type with NumPy's, ONNX's, OpenVINO's or DirectML's name.
pub(crate) fn element(name: &str) -> ElementType {
    let lower = name.to_ascii_lowercase();
    let (kind, bits) = lower.split_at(lower.find(|it: char| it.is_ascii_digit()).unwrap_or(0));
    match (kind, lower.as_str()) {
        (_, "bool" | "boolean") => ElementType::Bool,
        (_, "bf16" | "bfloat16") => ElementType::Bfloat16,
        ("f", _) => ElementType::Dml(format!("float{bits}").parse().unwrap()),
        ("i", _) => ElementType::Dml(format!("int{bits}").parse().unwrap()),
        ("u", _) => ElementType::Dml(format!("uint{bits}").parse().unwrap()),
        _ => ElementType::Dml(lower.parse().unwrap()),
    }
}

/// A tensor of 64-bit integers.
pub(crate) fn int64(shape: &[u64], values: &[i64]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Tensor::new(ElementType::INT64, shape, bytes).unwrap()
}

/// One truth value.
pub(crate) fn truth(value: bool) -> Tensor {
    Tensor::new(ElementType::Bool, [], vec![value.into()]).unwrap()
}

/// A tensor of 32-bit floats.
pub(crate) fn f32s(shape: &[u64], values: &[f32]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Tensor::new(ElementType::FLOAT32, shape, bytes).unwrap()
}
