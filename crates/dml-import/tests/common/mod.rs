//! Models and devices of the tests.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub(crate) mod host;
pub(crate) mod onnx;
pub(crate) mod openvino;

use std::path::PathBuf;

use dml::{Device, FeatureLevel, Instance, InstanceDesc, PhysicalDevice, Validation};
use dml_import::program::{Destination, Output};
use dml_import::{ElementType, Inputs, Model, Program, Result, Tensor};

/// A file of the test data.
pub(crate) fn data(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// Set by `cargo xtask test`: tests then run under the validation layer or fail.
fn validation() -> Validation {
    match std::env::var("DML_TEST_VALIDATION").as_deref() {
        Ok("required") => Validation::Required,
        _ => Validation::Off,
    }
}

/// Runs `test` on every device, and fails on any validation message.
pub(crate) fn on_every_device(test: impl Fn(&Device)) {
    let desc = InstanceDesc { validation: validation(), ..InstanceDesc::default() };
    let instance = Instance::new(&desc).expect("a Vulkan loader; run `cargo xtask test`");
    let devices = instance.physical_devices().unwrap();
    let usable: Vec<PhysicalDevice> =
        devices.into_iter().filter(|device| device.unsuitable().is_none()).collect();
    assert!(!usable.is_empty(), "there is no Vulkan device; run `cargo xtask test`");
    for physical_device in usable {
        let device = Device::on(&physical_device, FeatureLevel::HIGHEST).unwrap();
        test(&device);
        drop(device);
        let messages = instance.take_validation_messages();
        assert!(messages.is_empty(), "{}: {messages:#?}", physical_device.info().name);
    }
}

/// The outputs of a model by the host's reference, and by each device where there are any.
pub(crate) fn run_everywhere(
    devices: &[&Device],
    model: &Model,
    inputs: &Inputs,
) -> Result<Vec<Vec<Output>>> {
    let program = model.bind(inputs)?;
    let mut all = vec![host::run(&program)];
    for device in devices {
        all.push(program.compile(device)?.run(&Inputs::new())?);
    }
    Ok(all)
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

/// The bits of 1, written out, and the bytes of an element.
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

/// NumPy's, ONNX's, OpenVINO's or DirectML's name of a type.
pub(crate) fn element(name: &str) -> ElementType {
    use dml::DataType::{
        Float16, Float32, Float64, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64,
    };
    match name.to_ascii_lowercase().as_str() {
        "bool" | "boolean" => ElementType::Bool,
        "bf16" | "bfloat16" => ElementType::Bfloat16,
        "f16" | "float16" => ElementType::Dml(Float16),
        "f32" | "float32" => ElementType::Dml(Float32),
        "f64" | "float64" => ElementType::Dml(Float64),
        "i8" | "int8" => ElementType::Dml(Int8),
        "i16" | "int16" => ElementType::Dml(Int16),
        "i32" | "int32" => ElementType::Dml(Int32),
        "i64" | "int64" => ElementType::Dml(Int64),
        "u8" | "uint8" => ElementType::Dml(Uint8),
        "u16" | "uint16" => ElementType::Dml(Uint16),
        "u32" | "uint32" => ElementType::Dml(Uint32),
        "u64" | "uint64" => ElementType::Dml(Uint64),
        other => panic!("{other}"),
    }
}

/// A tensor of 64-bit integers.
pub(crate) fn int64(shape: &[u64], values: &[i64]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
    Tensor::new(ElementType::INT64, shape, bytes).unwrap()
}
