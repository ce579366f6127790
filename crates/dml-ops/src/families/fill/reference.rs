//! FILL_VALUE_CONSTANT as its documentation has it, and its corner cases.

use dml_core::operators::{FILL_VALUE_CONSTANT, FillValueConstantDesc};
use dml_core::{
    AbstractOperator, DataType, Error, FieldValue, ScalarUnion, TensorDesc, TensorLayout, Validated,
};

use crate::reference::{BrokenRule, Case, Random, Reference};

pub(super) struct FillValueConstantReference;

impl Reference for FillValueConstantReference {
    fn outputs(
        &self,
        operator: &Validated,
        _inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let bytes = operator.scalar("Value")?.to_bytes();
        let size = output.data_type().bits() as usize / 8;
        let value = bytes[..size].iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        Ok(vec![output.element_offsets().map(|_| value).collect()])
    }

    fn minimal(&self, data_type: DataType, rank: usize) -> AbstractOperator {
        desc(TensorDesc::packed(data_type, &vec![1; rank]), 1).into()
    }

    fn cases(&self, data_type: DataType, rank: usize) -> Vec<Case> {
        let make = Maker { data_type, rank };
        let mut cases = make.values();
        cases.extend(make.shapes());
        cases.extend(make.layouts());
        cases
    }

    fn random(&self, random: &mut Random, data_type: DataType, rank: usize) -> Case {
        let sizes = random.sizes(rank);
        let operator = desc(random.tensor(data_type, &sizes), random.element(data_type));
        Case::new("random", operator).with_random_buffers(random)
    }

    fn broken_rules(&self, data_type: DataType, rank: usize) -> Vec<BrokenRule> {
        let other = if data_type == DataType::Int32 { DataType::Uint32 } else { DataType::Int32 };
        let broken = |name, value_data_type: u32| {
            let tensor = TensorDesc::packed(data_type, &vec![1; rank]);
            let fields = vec![
                FieldValue::Tensor(Some(tensor)),
                FieldValue::Uint(value_data_type),
                FieldValue::ScalarUnion(ScalarUnion::default()),
            ];
            let operator = AbstractOperator::new(&FILL_VALUE_CONSTANT, fields).ok()?;
            Some(BrokenRule { name, operator, field: "ValueDataType" })
        };
        let differs = broken("rule_value_type_differs", other.dml_value());
        differs.into_iter().chain(broken("rule_value_type_unknown", 0)).collect()
    }
}

fn desc(output_tensor: TensorDesc, value: u64) -> FillValueConstantDesc {
    let value_data_type = output_tensor.data_type;
    FillValueConstantDesc { output_tensor, value_data_type, value: ScalarUnion::from_bits(value) }
}

/// Eight bytes, all different.
const MIXED: u64 = 0xf1e2_d3c4_b5a6_9788;

struct Maker {
    data_type: DataType,
    rank: usize,
}

impl Maker {
    /// The last `rank` of eight sizes.
    fn packed(&self, sizes: [u32; 8]) -> TensorDesc {
        TensorDesc::packed(self.data_type, &sizes[8 - self.rank..])
    }

    fn values(&self) -> Vec<Case> {
        let tensor = || self.packed([1, 2, 1, 2, 2, 2, 1, 5]);
        let case = |name, value| Case::new(name, desc(tensor(), value));
        vec![
            case("value_zero", 0),
            case("value_all_ones", u64::MAX),
            case("value_mixed_bytes", MIXED),
            case("value_sign_bit", 1 << (self.data_type.bits() - 1)),
            case("value_equal_halves", 0x0102_0304_0102_0304),
        ]
    }

    fn shapes(&self) -> Vec<Case> {
        let case = |name, sizes| Case::new(name, desc(self.packed(sizes), MIXED));
        vec![
            case("shape_single_element", [1; 8]),
            case("shape_all_dimensions", [2, 1, 3, 2, 1, 2, 3, 2]),
            case("shape_innermost_only", [1, 1, 1, 1, 1, 1, 1, 131]),
            case(
                "shape_outermost_only",
                std::array::from_fn(|at| if at == 8 - self.rank { 37 } else { 1 }),
            ),
            case("shape_many_groups", [1, 1, 1, 2, 3, 5, 17, 67]),
        ]
    }

    fn layouts(&self) -> Vec<Case> {
        let sizes = [2, 1, 2, 1, 2, 3, 2, 3];
        let packed = || desc(self.packed(sizes), MIXED);
        let first = 8 - self.rank;
        let strided =
            |strides: [u32; 8]| desc(self.packed(sizes).with_strides(&strides[first..]), MIXED);
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
}
