//! The corner cases of FILL_VALUE_CONSTANT.

use dml_core::operators::FillValueConstantDesc;
use dml_core::{DataType, ScalarUnion, TensorDesc, TensorLayout};

use crate::reference::{Case, MIXED, TensorMaker};

pub(crate) fn desc(output_tensor: TensorDesc, value: u64) -> FillValueConstantDesc {
    let value_data_type = output_tensor.data_type;
    FillValueConstantDesc { output_tensor, value_data_type, value: ScalarUnion::from_bits(value) }
}

pub(super) fn all(data_type: DataType, rank: usize) -> Vec<Case> {
    let make = &TensorMaker { data_type, rank };
    [values(make), shapes(make), layouts(make)].concat()
}

fn values(make: &TensorMaker) -> Vec<Case> {
    let tensor = || make.packed([1, 2, 1, 2, 2, 2, 1, 5]);
    let case = |name, value| Case::new(name, desc(tensor(), value));
    vec![
        case("value_zero", 0),
        case("value_all_ones", u64::MAX),
        case("value_mixed_bytes", MIXED),
        case("value_sign_bit", 1 << (make.data_type.bits() - 1)),
        case("value_equal_halves", 0x0102_0304_0102_0304),
    ]
}

fn shapes(make: &TensorMaker) -> Vec<Case> {
    let case = |name, sizes| Case::new(name, desc(make.packed(sizes), MIXED));
    vec![
        case("shape_single_element", [1; 8]),
        case("shape_all_dimensions", [2, 1, 3, 2, 1, 2, 3, 2]),
        case("shape_innermost_only", [1, 1, 1, 1, 1, 1, 1, 131]),
        case(
            "shape_outermost_only",
            std::array::from_fn(|at| if at == 8 - make.rank { 37 } else { 1 }),
        ),
        case("shape_many_groups", [1, 1, 1, 2, 3, 5, 17, 67]),
    ]
}

fn layouts(make: &TensorMaker) -> Vec<Case> {
    let sizes = [2, 1, 2, 1, 2, 3, 2, 3];
    let packed = || desc(make.packed(sizes), MIXED);
    let strided = |strides| desc(make.strided(sizes, strides), MIXED);
    // Two elements between neighbours, and more between rows.
    let padded = || strided([800, 1, 300, 0, 130, 40, 11, 3]);
    let reversed = || strided([1, 0, 2, 0, 4, 8, 24, 48]);
    let total = TensorLayout::new(&packed().output_tensor).map_or(0, |l| l.total_size());
    let larger = FillValueConstantDesc {
        output_tensor: packed().output_tensor.with_total_size(total + 9),
        ..packed()
    };
    vec![
        Case::new("strides_padded", padded()),
        Case::new("strides_reversed", reversed()),
        Case::new("total_size_larger", larger),
        Case::new("base_offset_16", packed()).at_output_offset(16),
        Case::new("base_offset_272", packed()).at_output_offset(272),
        Case::new("base_offset_48_padded", padded()).at_output_offset(48),
        Case::new("storage_only", packed()).storage_only(),
        Case::new("storage_only_padded", padded()).storage_only().at_output_offset(80),
    ]
}
