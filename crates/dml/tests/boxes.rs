//! Tensors that are too large for one descriptor are executed in boxes, bit for bit.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::band::{Case, TYPES, VALUE, cases};
use common::{constant, on_every_device_under};
use dml::core::capabilities::Limit;
use dml::{BufferBinding, CapabilityCap, DataType, ScalarUnion, TensorDesc};

/// A cap with descriptors of at most `bytes`.
fn range(bytes: u64) -> CapabilityCap {
    CapabilityCap::NONE.with_limit(Limit::MaxStorageBufferRange, bytes).unwrap()
}

/// Layouts of more than 16 KiB.
fn layouts(data_type: DataType) -> Vec<TensorDesc> {
    let packed = |sizes: &[u32]| TensorDesc::packed(data_type, sizes);
    vec![
        packed(&[2, 131, 257]),
        // Columns outermost.
        packed(&[2, 131, 257]).with_strides(&[131 * 257, 1, 131]),
        // A row alone is longer than a window.
        packed(&[2, 3, 20_001]).with_strides(&[70_001, 20_003, 1]),
        // The rows of both batches take turns.
        packed(&[2, 60, 301]).with_strides(&[303, 607, 1]),
        // Single elements far apart.
        packed(&[2, 3, 3]).with_strides(&[200_001, 60_001, 17_003]),
    ]
}

#[test]
fn bands_are_written_in_boxes_whatever_the_layout() {
    let profile = dml::profiles::find("storage-range-16-kib").unwrap();
    on_every_device_under(profile.cap, |device| {
        for data_type in TYPES {
            for output in layouts(data_type) {
                cases(&output).iter().for_each(|case| case.check(device));
            }
        }
    });
}

#[test]
fn a_transposed_input_is_merged_in_boxes() {
    on_every_device_under(range(2048), |device| {
        for data_type in TYPES {
            let output = TensorDesc::packed(data_type, &[1, 67, 93]);
            let input = output.clone().with_strides(&[0, 1, 67]);
            Case::new(Some(input), output, (3, -3)).check(device);
        }
    });
}

#[test]
fn descriptors_of_a_few_words_suffice() {
    // Half of it is for tensors that start off the alignment.
    on_every_device_under(range(512), |device| {
        for data_type in TYPES {
            let padded = TensorDesc::packed(data_type, &[2, 17, 29]).with_strides(&[700, 31, 1]);
            cases(&padded).iter().for_each(|case| case.check(device));
        }
    });
}

#[test]
fn a_constant_is_filled_in_boxes() {
    let profile = dml::profiles::find("storage-range-16-kib").unwrap();
    on_every_device_under(profile.cap, |device| {
        let types = TYPES.into_iter().flat_map(layouts);
        for output in types {
            let desc = constant(&output, ScalarUnion::from_bits(VALUE));
            let operator = device.compile(desc).unwrap();
            // As a band that is everything.
            let case = Case::new(None, output, (i32::MIN, i32::MAX));
            let expected = case.expected(operator.output_size(0), &[]);
            let buffer = case.buffer(device, &expected.tensor.before);
            let (offset, size) = (expected.tensor.offset, expected.tensor.size);
            let binding = BufferBinding { buffer: &buffer, offset, size };
            device.execute(&operator, &[], &[Some(binding)]).unwrap();
            let found = device.vulkan().read_buffer(&buffer, 0..buffer.size()).unwrap();
            assert_eq!(expected.check(&found), Ok(()), "{:?}", case.output);
        }
    });
}

#[test]
fn more_than_the_128_mib_that_lavapipe_shows_is_executed() {
    on_every_device_under(CapabilityCap::NONE, |device| {
        let tensor = TensorDesc::packed(DataType::Float32, &[1, 5801, 5803]);
        Case::new(None, tensor, (1, 2)).check(device);
    });
}
