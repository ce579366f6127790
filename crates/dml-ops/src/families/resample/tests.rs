//! Where elements come from: tables, or computations for each element.

use dml_core::operators::{Resample1Desc, ResampleDesc};
use dml_core::{AbstractOperator, Capabilities, DataType, InterpolationMode, TensorDesc, Tuning};

use crate::TransferUse;
use crate::lowering::tables::MOST_ELEMENTS;
use crate::tests::{kinds, lower_with, outputs_on_host};

/// The names of a plan's kernels, and the elements that it gives of 12 elements.
fn executed(desc: impl Into<AbstractOperator>) -> (String, Vec<[u8; 4]>) {
    let plan = lower_with(desc, Tuning::new(), TransferUse::StorageOnly);
    let input: Vec<u8> = (0..12_u8).flat_map(|it| (f32::from(it) * 1.37).to_le_bytes()).collect();
    let outputs = outputs_on_host(&plan, &[input], &Capabilities::vulkan_minimum());
    let (elements, _) = outputs[0].as_chunks();
    (kinds(&plan).join("; "), elements.to_vec())
}

/// A row of 12 elements that becomes one of `size`, of which the same scale says what they are.
fn of_row(interpolation_mode: InterpolationMode, size: u32) -> ResampleDesc {
    let tensor = |width| TensorDesc::packed(DataType::Float32, &[1, 1, 1, width]);
    let scales = vec![1.0, 1.0, 1.0, 341.37];
    let (input_tensor, output_tensor) = (tensor(12), tensor(size));
    ResampleDesc { input_tensor, output_tensor, interpolation_mode, scales }
}

#[test]
fn tables_and_computations_give_the_same_bits() {
    let most = u32::try_from(MOST_ELEMENTS).unwrap();
    for mode in [InterpolationMode::NearestNeighbor, InterpolationMode::Linear] {
        let [(names, of_table), (others, computed)] =
            [most, most + 1].map(|size| executed(of_row(mode, size)));
        for function in ["divide", "nearest_u32", "f32_to_u32"] {
            assert!(!names.contains(function), "{names}");
            assert!(others.contains(function), "{others}");
        }
        assert!(of_table[..4096] == computed[..4096], "{mode:?}");
        // Every element of the input, or of what is between.
        let mut different = of_table[..4096].to_vec();
        different.sort_unstable();
        different.dedup();
        assert!(different.len() >= 12, "{mode:?}");
    }
}

#[test]
fn a_table_and_a_computation_go_together() {
    let tensor = |height, width| TensorDesc::packed(DataType::Float32, &[1, 1, height, width]);
    let desc = Resample1Desc {
        input_tensor: tensor(3, 4),
        output_tensor: tensor(6, 4100),
        interpolation_mode: InterpolationMode::NearestNeighbor,
        scales: vec![1.0, 1.0, 2.0, 1025.0],
        input_pixel_offsets: vec![0.5; 4],
        output_pixel_offsets: vec![-0.5; 4],
    };
    let (names, elements) = executed(desc);
    assert_eq!(names.matches("nearest_u32").count(), 1, "{names}");
    for (y, x) in [(0_u16, 0_u16), (1, 1024), (2, 1025), (5, 4099)] {
        let expected = f32::from(y / 2 * 4 + x / 1025) * 1.37;
        let at = usize::from(y) * 4100 + usize::from(x);
        assert_eq!(f32::from_le_bytes(elements[at]), expected, "{y} {x}");
    }
}
