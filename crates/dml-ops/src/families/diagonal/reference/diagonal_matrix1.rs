//! DIAGONAL_MATRIX1 as its documentation has it.

mod cases;

use dml_core::operators::{DIAGONAL_MATRIX1, DiagonalMatrix1Desc};
use dml_core::{AbstractOperator, DataType, Error, FieldValue, ScalarUnion, TensorDesc, Validated};

use crate::reference::{BrokenRule, Case, Random, Reference};

pub(in super::super) struct DiagonalMatrix1Reference;

impl Reference for DiagonalMatrix1Reference {
    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let [.., height, width] = *output.sizes() else {
            let problem = "a matrix has two dimensions".to_owned();
            return Err(Error::Internal { operator: DIAGONAL_MATRIX1.name, problem });
        };
        let bytes = operator.scalar("Value")?.to_bytes();
        let size = output.data_type().bits() as usize / 8;
        let value = bytes[..size].iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        let begin = i128::from(operator.int("DiagonalFillBegin")?);
        let end = i128::from(operator.int("DiagonalFillEnd")?);
        let batches: u32 = output.sizes()[..output.sizes().len() - 2].iter().product();
        let mut kept = inputs.first().and_then(Option::as_ref).map(|input| input.iter().copied());
        let mut elements = Vec::new();
        for _ in 0..batches {
            for y in 0..i128::from(height) {
                for x in 0..i128::from(width) {
                    let kept = kept.as_mut().and_then(Iterator::next).unwrap_or(0);
                    let top_x = x - y;
                    // The page's own expression.
                    let use_value = (end >= begin) ^ (top_x >= begin) ^ (top_x < end);
                    elements.push(if use_value { value } else { kept });
                }
            }
        }
        Ok(vec![elements])
    }

    fn minimal(&self, data_type: DataType, rank: usize) -> AbstractOperator {
        desc(None, TensorDesc::packed(data_type, &vec![1; rank]), 1, (0, 1)).into()
    }

    fn cases(&self, data_type: DataType, rank: usize) -> Vec<Case> {
        cases::all(data_type, rank)
    }

    fn random(&self, random: &mut Random, data_type: DataType, rank: usize) -> Case {
        cases::random(random, data_type, rank)
    }

    fn broken_rules(&self, data_type: DataType, rank: usize) -> Vec<BrokenRule> {
        let other = if data_type == DataType::Int32 { DataType::Uint32 } else { DataType::Int32 };
        let other_rank = if rank == 4 { 3 } else { rank + 1 };
        let packed = |data_type, rank| TensorDesc::packed(data_type, &vec![2; rank]);
        let broken = |name, field, input, value_data_type: u32| {
            let fields = vec![
                FieldValue::Tensor(Some(input)),
                FieldValue::Tensor(Some(packed(data_type, rank))),
                FieldValue::Uint(value_data_type),
                FieldValue::ScalarUnion(ScalarUnion::default()),
                FieldValue::Int(0),
                FieldValue::Int(1),
            ];
            let operator = AbstractOperator::new(&DIAGONAL_MATRIX1, fields).ok()?;
            Some(BrokenRule { name, operator, field })
        };
        let same = || packed(data_type, rank);
        let value = data_type.dml_value();
        let mut sizes_differ = same();
        sizes_differ.sizes[rank - 1] = 1;
        let rules = [
            broken("rule_value_type_differs", "ValueDataType", same(), other.dml_value()),
            broken("rule_value_type_unknown", "ValueDataType", same(), 0),
            broken("rule_input_type_differs", "DataType", packed(other, rank), value),
            broken("rule_input_sizes_differ", "Sizes", sizes_differ, value),
            broken(
                "rule_input_dimension_count_differs",
                "DimensionCount",
                packed(data_type, other_rank),
                value,
            ),
        ];
        rules.into_iter().flatten().collect()
    }
}

fn desc(
    input_tensor: Option<TensorDesc>,
    output_tensor: TensorDesc,
    value: u64,
    (diagonal_fill_begin, diagonal_fill_end): (i32, i32),
) -> DiagonalMatrix1Desc {
    DiagonalMatrix1Desc {
        input_tensor,
        value_data_type: output_tensor.data_type,
        output_tensor,
        value: ScalarUnion::from_bits(value),
        diagonal_fill_begin,
        diagonal_fill_end,
    }
}
