//! The corner cases of FILL_VALUE_CONSTANT.

use dml_core::operators::FillValueConstantDesc;
use dml_core::{DataType, ScalarUnion, TensorDesc, TensorLayout};

use crate::reference::{self, Case, MIXED, PADDED, REVERSED, SMALL, TensorMaker};

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
    let case = |(name, sizes)| Case::new(name, desc(make.packed(sizes), MIXED));
    reference::shapes(make.rank).map(case).into()
}

fn layouts(make: &TensorMaker) -> Vec<Case> {
    let packed = || desc(make.packed(SMALL), MIXED);
    let strided = |strides| desc(make.strided(SMALL, strides), MIXED);
    let padded = || strided(PADDED);
    let reversed = || strided(REVERSED);
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
