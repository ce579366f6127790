//! The corner cases of FILL_VALUE_CONSTANT.

use dml_core::operators::FillValueConstantDesc;
use dml_core::{AbstractOperator, DataType, ScalarUnion, TensorDesc, TensorLayout};

use crate::{Case, MIXED, PADDED, REVERSED, SMALL, TensorGenerator, shapes};

/// A tensor filled with one value, given by its bits.
pub fn desc(output_tensor: TensorDesc, value: u64) -> FillValueConstantDesc {
    let value_data_type = output_tensor.data_type;
    FillValueConstantDesc { output_tensor, value_data_type, value: ScalarUnion::from_bits(value) }
}

pub(super) fn all(data_type: DataType, rank: usize) -> Vec<Case> {
    let make = &TensorGenerator { data_type, rank };
    [values(make), tensors(make, |tensor| desc(tensor, MIXED).into())].concat()
}

fn values(make: &TensorGenerator) -> Vec<Case> {
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

/// Tensors of various shapes and layouts with any value, for both fill operators.
pub(super) fn tensors(
    make: &TensorGenerator,
    of: impl Fn(TensorDesc) -> AbstractOperator,
) -> Vec<Case> {
    let shapes = shapes(make.rank).map(|(name, sizes)| Case::new(name, of(make.packed(sizes))));
    let packed = || make.packed(SMALL);
    let padded = || of(make.strided(SMALL, PADDED));
    let total = TensorLayout::new(&packed()).map_or(0, |layout| layout.total_size());
    let layouts = [
        Case::new("strides_padded", padded()),
        Case::new("strides_reversed", of(make.strided(SMALL, REVERSED))),
        Case::new("total_size_larger", of(packed().with_total_size(total + 9))),
        Case::new("base_offset_16", of(packed())).at_output_offset(16),
        Case::new("base_offset_272", of(packed())).at_output_offset(272),
        Case::new("base_offset_48_padded", padded()).at_output_offset(48),
        Case::new("storage_only", of(packed())).storage_only(),
        Case::new("storage_only_padded", padded()).storage_only().at_output_offset(80),
    ];
    shapes.into_iter().chain(layouts).collect()
}
