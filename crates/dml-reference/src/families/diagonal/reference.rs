//! References of diagonal operators by the documentation.

use dml_core::operators::{DIAGONAL_MATRIX, DIAGONAL_MATRIX1};
use dml_core::schema::OperatorSchema;
use dml_core::{AbstractOperator, Error, TensorDesc, Validated};

use super::cases::{band, diagonal, diagonal_matrix, diagonal_matrix1};
use crate::{Case, Random, Reference, Signature, value};

pub(super) struct DiagonalMatrix;

impl Reference for DiagonalMatrix {
    fn schema(&self) -> &'static OperatorSchema {
        &DIAGONAL_MATRIX
    }

    fn outputs(
        &self,
        operator: &Validated,
        _inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let data_type = operator.required_tensor("OutputTensor")?.data_type();
        let offset = i128::from(operator.int("Offset")?);
        let value = value::from_float(operator.float("Value")?, data_type);
        elements(operator, |y, x| if y + offset == x { value } else { 0 })
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        diagonal(smallest(signature), 0, 1.0).into()
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        diagonal_matrix::all(signature.data_type(), signature.rank)
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        let (data_type, sizes) = (signature.data_type(), random.sizes(signature.rank));
        let operator =
            diagonal(random.tensor(data_type, &sizes), random.diagonal(&sizes), random.float());
        Case::new("random", operator).with_random_buffers(random)
    }
}

pub(super) struct DiagonalMatrix1;

impl Reference for DiagonalMatrix1 {
    fn schema(&self) -> &'static OperatorSchema {
        &DIAGONAL_MATRIX1
    }

    fn outputs(
        &self,
        operator: &Validated,
        inputs: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let value = value::from_scalar(operator, "Value")?;
        let begin = i128::from(operator.int("DiagonalFillBegin")?);
        let end = i128::from(operator.int("DiagonalFillEnd")?);
        let mut kept = inputs.first().and_then(Option::as_ref).map(|input| input.iter().copied());
        elements(operator, |y, x| {
            let kept = kept.as_mut().and_then(Iterator::next).unwrap_or(0);
            let top_x = x - y;
            // This expression is from the page.
            let use_value = (end >= begin) ^ (top_x >= begin) ^ (top_x < end);
            if use_value { value } else { kept }
        })
    }

    fn minimal(&self, signature: &Signature) -> AbstractOperator {
        band(None, smallest(signature), 1, (0, 1)).into()
    }

    fn cases(&self, signature: &Signature) -> Vec<Case> {
        diagonal_matrix1::all(signature.data_type(), signature.rank)
    }

    fn random(&self, random: &mut Random, signature: &Signature) -> Case {
        diagonal_matrix1::random(random, signature.data_type(), signature.rank)
    }
}

fn smallest(signature: &Signature) -> TensorDesc {
    TensorDesc::packed(signature.data_type(), &vec![1; signature.rank])
}

/// The output, with `element(y, x)` in row `y` and column `x` of every matrix, batch by batch.
fn elements(
    operator: &Validated,
    mut element: impl FnMut(i128, i128) -> u64,
) -> Result<Vec<Vec<u64>>, Error> {
    let output = operator.required_tensor("OutputTensor")?;
    let [batches @ .., height, width] = output.sizes() else {
        let problem = "a matrix has two dimensions".to_owned();
        return Err(Error::Internal { operator: operator.schema().name, problem });
    };
    let mut elements = Vec::new();
    for _ in 0..batches.iter().product() {
        for y in 0..i128::from(*height) {
            elements.extend((0..i128::from(*width)).map(|x| element(y, x)));
        }
    }
    Ok(vec![elements])
}
