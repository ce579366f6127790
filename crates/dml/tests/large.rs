//! Tensors around 2^27, 2^30, 2^31 and 2^32 bytes: executed if the device has the memory, and otherwise
//! refused with the limit's name.

#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test tells, and may panic")]

mod common;

use common::{diagonal, on_every_device};
use dml::vk::Recorder;
use dml::{Buffer, BufferBinding, DataType, Device, TensorDesc};

const SENTINEL: u32 = 0xA5A5_A5A5;
const CHUNK: u64 = 64 << 20;

/// Below, at and above powers of two, in elements of one and of four bytes.
const TENSORS: [(DataType, [u32; 2]); 8] = [
    (DataType::Uint8, [11_585, 11_587]),
    (DataType::Float32, [16_383, 16_384]),
    (DataType::Float32, [16_384, 16_384]),
    (DataType::Uint8, [46_340, 46_341]),
    (DataType::Uint8, [32_768, 65_536]),
    (DataType::Uint8, [46_341, 46_341]),
    (DataType::Float32, [32_768, 32_768]),
    (DataType::Float32, [32_768, 32_769]),
];

#[test]
fn tensors_of_gibibytes_are_right_or_refused_by_a_limit() {
    let zeros = vec![0; usize::try_from(CHUNK).unwrap()];
    on_every_device(|device| {
        let executed: Vec<u64> = TENSORS
            .into_iter()
            .filter_map(|(data_type, sizes)| execute(device, data_type, sizes, &zeros))
            .collect();
        // More than lavapipe shows at once, and nearly what SwiftShader holds.
        assert!(executed.len() >= 2, "{executed:?}");
    });
}

/// Executes and checks every byte. Returns the size; `None` if it does not fit the device.
fn execute(device: &Device, data_type: DataType, sizes: [u32; 2], zeros: &[u8]) -> Option<u64> {
    let tensor = TensorDesc::packed(data_type, &sizes);
    let operator = device.compile(diagonal(&tensor, -1, 1.0)).unwrap();
    let size = operator.output_size(0);
    let device_name = &device.vulkan().info().name;
    let buffer = match device.create_buffer(size) {
        Ok(buffer) => buffer,
        Err(dml::Error::Vulkan(error)) if error.is_out_of_memory() => {
            eprintln!("{device_name}: {size} bytes: {error}");
            return None;
        }
        Err(dml::Error::Vulkan(error @ dml::vk::Error::LimitExceeded { .. })) => {
            check_limit(device, size, &error);
            return None;
        }
        Err(error) => panic!("{device_name}: {size} bytes: {error}"),
    };
    let mut recorder = Recorder::new(device.vulkan()).unwrap();
    recorder.fill_buffer(&buffer, 0..size, SENTINEL).unwrap();
    device.vulkan().submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
    device.execute(&operator, &[], &[Some(BufferBinding::whole(&buffer))]).unwrap();
    check(device, &buffer, data_type, sizes, zeros);
    Some(size)
}

/// The message names a limit that the size exceeds, and its value.
fn check_limit(device: &Device, size: u64, error: &dml::vk::Error) {
    let limits = &device.vulkan().capabilities().limits;
    let named = [
        ("maxBufferSize", limits.max_buffer_size),
        ("maxMemoryAllocationSize", limits.max_memory_allocation_size),
    ];
    let text = error.to_string();
    let is_said =
        |(name, most): (&str, u64)| text.contains(name) && text.contains(&most.to_string());
    assert!(named.into_iter().any(|limit| size > limit.1 && is_said(limit)), "{size}: {text}");
}

/// Ones below the main diagonal, zeros in every other byte.
fn check(device: &Device, buffer: &Buffer, data_type: DataType, sizes: [u32; 2], zeros: &[u8]) {
    let [height, width] = sizes.map(u64::from);
    let element = u64::from(data_type.bits()) / 8;
    let one = match data_type {
        DataType::Float32 => 1.0f32.to_bits().to_le_bytes().to_vec(),
        _ => vec![1],
    };
    let mut rows = 1..height.min(width + 1);
    for start in (0..buffer.size()).step_by(usize::try_from(CHUNK).unwrap()) {
        let end = buffer.size().min(start + CHUNK);
        let mut bytes = device.vulkan().read_buffer(buffer, start..end).unwrap();
        while let Some(row) = rows.next() {
            let at = (row * width + row - 1) * element;
            if at >= end {
                rows.start = row;
                break;
            }
            let at = usize::try_from(at - start).unwrap();
            let found = &mut bytes[at..at + one.len()];
            assert_eq!(found, one, "row {row} of {data_type:?} {sizes:?}");
            found.fill(0);
        }
        assert!(bytes == zeros[..bytes.len()], "bytes {start}..{end} of {data_type:?} {sizes:?}");
    }
}
