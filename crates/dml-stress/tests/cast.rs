//! CAST on every device against an exact oracle: every pair of types, at all edges, all values of
//! narrow types, and 2^16 random values of wide ones.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use common::each_device;
use dml::core::operators::CastDesc;
use dml::{BufferBinding, DataType, Device, DeviceOptions, TensorDesc};
use dml_reference::number::Number;
use dml_reference::{Random, edges};

/// Values of a type: all of those that there are where they are few, else edges and random ones.
fn values(data_type: DataType) -> Vec<u64> {
    const RANDOM: usize = 1 << 16;
    let bits = data_type.bits();
    if bits <= 16 {
        return (0..1 << bits).collect();
    }
    let mut random = Random::new(data_type.name());
    let mask = u64::MAX >> (64 - bits);
    let mut value = |_| {
        let any = random.bits() & mask;
        match (random.word() % 2, data_type) {
            // Of any size, and floats that integers and halves can hold.
            (0, DataType::Float32) => {
                any & 0x807f_ffff | u64::from(127 - 30 + random.word() % 100) << 23
            }
            (0, DataType::Float64) => {
                any & 0x800f_ffff_ffff_ffff | u64::from(1023 - 30 + random.word() % 100) << 52
            }
            (0, _) => any >> (random.word() % bits),
            _ => any,
        }
    };
    edges(data_type).into_iter().chain((0..2 * RANDOM).map(&mut value)).collect()
}

/// Integers wrap into integers; everything else is the nearest.
fn cast(from: DataType, to: DataType, bits: u64) -> u64 {
    match (from.integer_value(bits), to.integer_range()) {
        (Some(integer), Some(_)) => to.integer_bits(integer),
        _ => Number::decode(from, bits).encode(to),
    }
}

fn bytes(data_type: DataType, values: &[u64]) -> Vec<u8> {
    let width = data_type.bits() as usize / 8;
    values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(width)).collect()
}

fn elements(data_type: DataType, bytes: &[u8]) -> Vec<u64> {
    let element = |it: &[u8]| it.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    bytes.chunks_exact(data_type.bits() as usize / 8).map(element).collect()
}

fn on_device(device: &Device, from: DataType, to: DataType, values: &[u64]) -> Vec<u64> {
    let count = u32::try_from(values.len()).unwrap();
    let [input_tensor, output_tensor] = [from, to].map(|it| TensorDesc::packed(it, &[count]));
    let desc = CastDesc { input_tensor, output_tensor };
    let operator = device.compile(desc).unwrap();
    let input = device.create_buffer(operator.input_size(0)).unwrap();
    let output = device.create_buffer(operator.output_size(0)).unwrap();
    let mut given = bytes(from, values);
    given.resize(given.len().next_multiple_of(4), 0);
    device.vulkan().write_buffer(&input, 0, &given).unwrap();
    let bound = |buffer| [Some(BufferBinding::whole(buffer))];
    device.execute(&operator, &bound(&input), &bound(&output)).unwrap();
    let found = device.vulkan().read_buffer(&output, 0..output.size()).unwrap();
    let mut found = elements(to, &found);
    found.truncate(values.len());
    found
}

#[test]
fn every_type_becomes_every_other_exactly() {
    let types = || DataType::ALL.into_iter().filter(|it| it.bits() >= 8);
    each_device(|device| {
        let device = Device::from_vulkan(device.clone(), &DeviceOptions::default()).unwrap();
        for from in types() {
            let values = values(from);
            for to in types() {
                let found = on_device(&device, from, to, &values);
                for (bits, found) in values.iter().zip(found) {
                    let expected = cast(from, to, *bits);
                    let is_nan = |bits| Number::decode(to, bits) == Number::Nan;
                    let is_right = found == expected || (is_nan(found) && is_nan(expected));
                    assert!(is_right, "{from} {bits:#x} as {to}: {found:#x}, not {expected:#x}");
                }
            }
        }
    });
}
