//! An operator's operands, by their numbers.

use dml_core::{Error, Validated};

use crate::ir::space::Operand;

/// The operands that an operator requires, as an array.
pub(crate) fn required<const N: usize>(
    operator: &Validated,
    operands: Vec<Option<Operand>>,
) -> Result<[Operand; N], Error> {
    let operands: Vec<Operand> = operands.into_iter().flatten().collect();
    let wrong = |it: Vec<Operand>| format!("has {} operands in place of {N}", it.len());
    operands.try_into().map_err(|it| Error::internal(operator.schema().name, wrong(it)))
}
