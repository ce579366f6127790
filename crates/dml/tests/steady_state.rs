//! A new shape of an operator compiles nothing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::band::TYPES;
use common::{diagonal, on_every_device};
use dml::{Device, DiagonalMatrix1Desc, ScalarUnion, TensorDesc};

/// Compiles the operators of diagonals for one shape: packed and with padded rows, with one diagonal
/// and a band, with and without an input.
fn compile_all(device: &Device, sizes: &[u32]) {
    let width = *sizes.last().unwrap();
    let mut strides: Vec<u32> = vec![1; sizes.len()];
    for at in (0..sizes.len() - 1).rev() {
        let padding = u32::from(at + 2 == sizes.len()) * 3;
        strides[at] = strides[at + 1] * sizes[at + 1] + padding;
    }
    for data_type in TYPES {
        let packed = TensorDesc::packed(data_type, sizes);
        let padded = packed.clone().with_strides(&strides);
        for output_tensor in [packed.clone(), padded] {
            device.compile(diagonal(&output_tensor, 1, 1.0)).unwrap();
            for input_tensor in [None, Some(packed.clone())] {
                device
                    .compile(DiagonalMatrix1Desc {
                        input_tensor,
                        output_tensor: output_tensor.clone(),
                        value_data_type: data_type,
                        value: ScalarUnion::from_bits(1),
                        diagonal_fill_begin: -1,
                        diagonal_fill_end: i32::try_from(width / 2).unwrap(),
                    })
                    .unwrap();
            }
        }
    }
}

#[test]
fn a_new_shape_compiles_no_pipeline() {
    on_every_device(|device| {
        for sizes in [&[3, 3][..], &[1000, 3, 3], &[64, 64], &[5, 2, 40, 70], &[1030, 1040]] {
            compile_all(device, sizes);
        }
        let made = device.vulkan().pipeline_count();
        assert!(made > 0);
        for sizes in [&[4, 4][..], &[7, 5], &[999, 5, 3], &[63, 65], &[2, 3, 41, 71], &[999, 1055]]
        {
            compile_all(device, sizes);
        }
        assert_eq!(device.vulkan().pipeline_count(), made);
    });
}
