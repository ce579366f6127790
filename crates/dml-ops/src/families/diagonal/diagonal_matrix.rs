//! DIAGONAL_MATRIX: `out[.., y, x] = (y + Offset == x) ? Value : 0`; dimensions before the last two
//! are batches. Offsets that miss the matrix leave zeros.
//!
//! That is a band of one diagonal without an input. How it is executed: [`BandMatrix`].

use dml_core::operators::DIAGONAL_MATRIX;
use dml_core::plan::Plan;
use dml_core::schema::OperatorSchema;
use dml_core::{Error, Validated, value};

use crate::families::diagonal::lowering::BandMatrix;
use crate::{Operator, Target};

/// The operator's implementation.
pub(crate) struct DiagonalMatrix;

impl Operator for DiagonalMatrix {
    fn schema(&self) -> &'static OperatorSchema {
        &DIAGONAL_MATRIX
    }

    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let output = operator.required_tensor("OutputTensor")?;
        let offset = i64::from(operator.int("Offset")?);
        let matrix = BandMatrix {
            operator: DIAGONAL_MATRIX.name,
            input: None,
            output,
            begin: offset,
            end: offset + 1,
            value: value::element_bits(operator.float("Value")?, output.data_type()),
        };
        matrix.lower(target)
    }

    #[cfg(feature = "reference")]
    fn reference(&self) -> &'static dyn crate::reference::Reference {
        &super::reference::DiagonalMatrixReference
    }
}
