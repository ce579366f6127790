//! Functions by table lookup give the bits of computed functions, on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::on_every_device;
use dml::core::AbstractOperator;
use dml::core::operators::{ActivationGeluDesc, ElementWiseErfDesc, ElementWiseLogDesc};
use dml::{BufferBinding, DataType, Device, TensorDesc};

const HALVES: u32 = 1 << 16;

/// The results for all FLOAT16 values, several times.
fn run(device: &Device, operator: AbstractOperator, repeats: u32) -> Vec<u16> {
    let operator = device.compile(operator).unwrap();
    let halves: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let halves = halves.repeat(repeats as usize);
    let [input, output] = [0, 1].map(|_| device.create_buffer(halves.len() as u64).unwrap());
    device.vulkan().write_buffer(&input, 0, &halves).unwrap();
    let [from, to] = [&input, &output].map(|it| [Some(BufferBinding::whole(it))]);
    device.execute(&operator, &from, &to).unwrap();
    let bytes = device.vulkan().read_buffer(&output, 0..output.size()).unwrap();
    // The bits of NaN results are unspecified.
    let number = |bits: u16| if bits & 0x7fff > 0x7c00 { 0x7e00 } else { bits };
    bytes.chunks_exact(2).map(|it| number(u16::from_le_bytes([it[0], it[1]]))).collect()
}

#[test]
fn functions_of_halves_are_the_same_bits() {
    on_every_device(|device| {
        let tensor = |repeats| TensorDesc::packed(DataType::Float16, &[HALVES * repeats]);
        let operators = |repeats| -> [AbstractOperator; 3] {
            let (input_tensor, output_tensor) = (tensor(repeats), tensor(repeats));
            let gelu = ActivationGeluDesc {
                input_tensor: input_tensor.clone(),
                output_tensor: output_tensor.clone(),
            };
            let erf = ElementWiseErfDesc {
                input_tensor: input_tensor.clone(),
                output_tensor: output_tensor.clone(),
                scale_bias: None,
            };
            let log = ElementWiseLogDesc { input_tensor, output_tensor, scale_bias: None };
            [gelu.into(), erf.into(), log.into()]
        };
        for (few, many) in operators(1).into_iter().zip(operators(4)) {
            let name = few.schema().name;
            let (computed, read) = (run(device, few, 1), run(device, many, 4));
            assert!(computed.repeat(4) == read, "{name}");
        }
    });
}
