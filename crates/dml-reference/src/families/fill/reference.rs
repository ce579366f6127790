//! The reference of FILL_VALUE_CONSTANT by the documentation.

use dml_core::operators::FILL_VALUE_CONSTANT;
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, Error, TensorDesc, Validated};

use super::cases::{self, desc};
use crate::{Case, Random, Reference, Signature, value};

pub(super) struct FillValueConstant;

impl Reference for FillValueConstant {
    fn schema(&self) -> &'static OperatorSchema {
        &FILL_VALUE_CONSTANT
    }

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
}
