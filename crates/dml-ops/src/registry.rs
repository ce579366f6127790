//! Which operators are implemented.

use dml_core::plan::Plan;
use dml_core::{Error, Validated};

use crate::operators::diagonal_matrix::DiagonalMatrix;
use crate::operators::diagonal_matrix1::DiagonalMatrix1;
use crate::operators::fill_value_constant::FillValueConstant;
use crate::{Operator, Target};

/// Every implemented operator, by ascending operator number.
pub static OPERATORS: &[&dyn Operator] = &[&DiagonalMatrix, &FillValueConstant, &DiagonalMatrix1];

/// The implementation of the operator with DirectML's number `operator_type`.
pub fn find(operator_type: u32) -> Option<&'static dyn Operator> {
    let mut operators = OPERATORS.iter().copied();
    operators.find(|operator| operator.schema().operator_type == operator_type)
}

/// Lowers any operator.
///
/// # Errors
/// [`Error::NotImplemented`], and what [`Operator::lower`] gives.
pub fn lower(operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
    let schema = operator.schema();
    match find(schema.operator_type) {
        Some(implementation) => implementation.lower(operator, target),
        None => Err(Error::NotImplemented {
            operator: schema.name,
            implemented: OPERATORS.iter().map(|o| o.schema().name).collect::<Vec<_>>().join(", "),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_schema_calls_implemented_is_and_the_other_way_round() {
        let schemas = dml_core::operators::OPERATORS.iter();
        let rows: Vec<u32> = schemas
            .filter(|schema| schema.implemented)
            .map(|schema| schema.operator_type)
            .collect();
        let implemented: Vec<u32> =
            OPERATORS.iter().map(|operator| operator.schema().operator_type).collect();
        assert_eq!(rows, implemented);
        assert!(rows.is_sorted());
    }
}
