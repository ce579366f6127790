//! FILL_VALUE_CONSTANT as its documentation has it.

use dml_core::operators::FILL_VALUE_CONSTANT;
use dml_core::{AbstractOperator, DataType, Error, FieldValue, ScalarUnion, TensorDesc, Validated};

use super::cases::{self, desc};
use crate::reference::{BrokenRule, Case, Random, Reference, Signature, value};

pub(super) struct FillValueConstant;

impl Reference for FillValueConstant {
    fn outputs(
        &self,
        operator: &Validated,
        _inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let value = value::from_scalar(operator, "Value")?;
        Ok(vec![output.element_offsets().map(|_| value).collect()])
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        desc(TensorDesc::packed(signature.data_type(), &vec![1; signature.rank]), 1).into()
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        cases::all(signature.data_type(), signature.rank)
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        let (data_type, sizes) = (signature.data_type(), random.sizes(signature.rank));
        let operator = desc(random.tensor(data_type, &sizes), random.element(data_type));
        Case::new("random", operator).with_random_buffers(random)
    }

    fn broken_rules(&self, signature: &Signature) -> Vec<BrokenRule> {
        let (data_type, rank) = (signature.data_type(), signature.rank);
        let other = if data_type == DataType::Int32 { DataType::Uint32 } else { DataType::Int32 };
        let broken = |name: &'static str, value_data_type: u32| {
            let tensor = TensorDesc::packed(data_type, &vec![1; rank]);
            let fields = vec![
                FieldValue::Tensor(Some(tensor)),
                FieldValue::Uint(value_data_type),
                FieldValue::ScalarUnion(ScalarUnion::default()),
            ];
            let operator = AbstractOperator::new(&FILL_VALUE_CONSTANT, fields).ok()?;
            Some(BrokenRule { name: name.into(), operator, field: "ValueDataType".into() })
        };
        let differs = broken("rule_value_type_differs", other.dml_value());
        differs.into_iter().chain(broken("rule_value_type_unknown", 0)).collect()
    }
}
