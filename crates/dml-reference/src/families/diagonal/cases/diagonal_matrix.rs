//! The corner cases of DIAGONAL_MATRIX.

use dml_core::{DataType, TensorDesc};

use super::diagonal as desc;
use crate::{Case, TensorGenerator};

pub(in super::super) fn all(data_type: DataType, rank: usize) -> Vec<Case> {
    let make = &TensorGenerator { data_type, rank };
    let mut cases = [offsets(make), shapes(make), values(make), layouts(make)].concat();
    if data_type == DataType::Float32 && rank == 4 {
        cases.extend(documented());
    }
    cases
}

/// 5 rows and 7 columns, in batches of 2 and 3.
fn offsets(make: &TensorGenerator) -> Vec<Case> {
    let case = |name, offset| Case::new(name, desc(make.packed([2, 3, 5, 7]), offset, 1.0));
    vec![
        case("offset_zero", 0),
        case("offset_right", 2),
        case("offset_left", -2),
        case("offset_last_column", 6),
        case("offset_past_right", 7),
        case("offset_last_row", -4),
        case("offset_past_bottom", -5),
        case("offset_int32_min", i32::MIN),
        case("offset_int32_max", i32::MAX),
    ]
}

fn shapes(make: &TensorGenerator) -> Vec<Case> {
    let case = |name, sizes, offset| Case::new(name, desc(make.packed(sizes), offset, 1.0));
    vec![
        case("shape_single_element", [1, 1, 1, 1], 0),
        case("shape_row", [3, 2, 1, 13], 12),
        case("shape_column", [2, 2, 11, 1], -10),
        case("shape_tall", [1, 2, 131, 17], -100),
        case("shape_wide", [2, 1, 17, 131], 100),
        case("shape_many_groups", [2, 3, 127, 113], 1),
        case("shape_many_batches", [37, 41, 3, 3], 0),
    ]
}

fn values(make: &TensorGenerator) -> Vec<Case> {
    let case = |name, value| Case::new(name, desc(make.packed([1, 2, 3, 3]), 0, value));
    vec![
        case("value_zero", 0.0),
        case("value_negative_zero", -0.0),
        case("value_fraction", 10.6),
        case("value_negative_fraction", -10.6),
        case("value_beyond_8_bits", 300.0),
        case("value_beyond_16_bits", -70_000.0),
        case("value_beyond_32_bits", 1e10),
        case("value_beyond_64_bits", -1e30),
        case("value_infinity", f32::INFINITY),
        case("value_negative_infinity", f32::NEG_INFINITY),
        case("value_nan", f32::NAN),
        case("value_nan_signalling", f32::from_bits(0xffa5_5555)),
        case("value_nan_lowest_bit", f32::from_bits(0x7f80_0001)),
        case("value_subnormal", 1e-40),
    ]
}

fn layouts(make: &TensorGenerator) -> Vec<Case> {
    let sizes = [2, 3, 5, 7];
    let packed = || desc(make.packed(sizes), 1, 1.0);
    let padded = || desc(make.strided(sizes, [163, 53, 9, 1]), 1, 1.0);
    let packed_bytes =
        dml_core::TensorLayout::new(&packed().output_tensor).map_or(0, |l| l.total_size());
    let larger = packed().output_tensor.with_total_size(packed_bytes + 13);
    vec![
        Case::new("strides_padded_rows", padded()),
        Case::new("strides_transposed", desc(make.strided(sizes, [105, 35, 1, 5]), 1, 1.0)),
        Case::new("strides_interleaved", desc(make.strided([1, 1, 2, 3], [9, 8, 3, 2]), 0, 1.0)),
        Case::new(
            "strides_of_size_one",
            desc(make.strided([1, 1, 1, 5], [0, u32::MAX, 0, 2]), 0, 1.0),
        ),
        Case::new("total_size_larger", desc(larger, 1, 1.0)),
        Case::new("base_offset_16", packed()).at_output_offset(16),
        Case::new("base_offset_272", packed()).at_output_offset(272),
        Case::new("base_offset_48_padded", padded()).at_output_offset(48),
        Case::new("storage_only", packed()).storage_only(),
        Case::new("storage_only_padded", padded()).storage_only().at_output_offset(80),
    ]
}

/// The four examples of the DML_DIAGONAL_MATRIX_OPERATOR_DESC page.
fn documented() -> Vec<Case> {
    let case = |name, sizes: [u32; 4], offset, elements: &[f32]| {
        let tensor = TensorDesc::packed(DataType::Float32, &sizes);
        let bits = elements.iter().map(|element| element.to_bits().into()).collect();
        Case::new(name, desc(tensor, offset, 1.0)).documented(vec![bits])
    };
    vec![
        case("doc_default_identity", [1, 1, 3, 3], 0, &[1., 0., 0., 0., 1., 0., 0., 0., 1.]),
        case("doc_shift_right_up", [1, 1, 3, 3], 1, &[0., 1., 0., 0., 0., 1., 0., 0., 0.]),
        case("doc_shift_left_down", [1, 1, 3, 2], -1, &[0., 0., 1., 0., 0., 1.]),
        case("doc_shift_all_zeros", [1, 1, 3, 2], -3, &[0.; 6]),
    ]
}
