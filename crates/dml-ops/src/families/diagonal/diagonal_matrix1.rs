//! DIAGONAL_MATRIX1: with `t = x - y`, Value where `DiagonalFillBegin <= t < DiagonalFillEnd`; where
//! begin is above end, everywhere but where `DiagonalFillEnd <= t < DiagonalFillBegin`. Elsewhere the
//! input's element, or zero without an input. Dimensions before the last two are batches.
//!
//! How it is executed: [`BandMatrix`].

use dml_core::operators::DIAGONAL_MATRIX1;
use dml_core::plan::Plan;
use dml_core::schema::OperatorSchema;
use dml_core::{Error, Validated};

use crate::families::diagonal::lowering::BandMatrix;
use crate::lowering::dispatches::scalar_bits;
use crate::{Operator, Target};

/// The operator's implementation.
pub(crate) struct DiagonalMatrix1;

impl Operator for DiagonalMatrix1 {
    fn schema(&self) -> &'static OperatorSchema {
        &DIAGONAL_MATRIX1
    }

    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let matrix = BandMatrix {
            operator: DIAGONAL_MATRIX1.name,
            input: operator.tensor("InputTensor")?,
            output,
            begin: operator.int("DiagonalFillBegin")?.into(),
            end: operator.int("DiagonalFillEnd")?.into(),
            value: scalar_bits(operator.scalar("Value")?, output.data_type()),
        };
        let mut plan = matrix.lower(target)?;
        // The binding of an input that is left out exists, and stays empty.
        plan.inputs.resize(1, None);
        Ok(plan)
    }

    #[cfg(feature = "reference")]
    fn reference(&self) -> &'static dyn crate::reference::Reference {
        &super::reference::DiagonalMatrix1Reference
    }
}
