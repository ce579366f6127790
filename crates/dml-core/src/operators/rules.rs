//! What must hold between the fields of an operator beyond what the schema states as data: one function
//! per rule, named in `schema/*.toml`.
//!
//! A rule sees an operator whose fields are all valid by themselves. One of an operator that may be
//! nested also sees it without its tensors, of which nothing has to hold then.

use crate::error::Error;
use crate::schema::validated::Validated;
use crate::schema::{FieldKind, TensorPath};
use crate::tensor::TensorLayout;
use crate::types::InvalidField;

/// The inputs are the parts of `OutputTensor`, one after the other along `Axis`.
pub(crate) fn inputs_are_parts_of_output(operator: &Validated) -> Result<(), Error> {
    parts_along_axis(operator, "OutputTensor", FieldKind::Input)
}

/// The outputs are the parts of `InputTensor`, one after the other along `Axis`.
pub(crate) fn outputs_are_parts_of_input(operator: &Validated) -> Result<(), Error> {
    parts_along_axis(operator, "InputTensor", FieldKind::Output)
}

/// Every tensor of the kind `parts` has the sizes of `whole` but for the one along `Axis`; these add up.
fn parts_along_axis(operator: &Validated, whole: &str, parts: FieldKind) -> Result<(), Error> {
    let invalid = |field| Error::Invalid { operator: operator.schema().name, field };
    let (axis, sizes) = (operator.uint("Axis")?, operator.required_tensor(whole)?.sizes());
    let along = usize::try_from(axis).ok().filter(|axis| *axis < sizes.len()).ok_or_else(|| {
        let problem = format!("is no dimension of {whole}");
        invalid(InvalidField::new("Axis", axis, problem, format!("0 to {}", sizes.len() - 1)))
    })?;
    let parts = || operator.tensors(parts).filter_map(|(path, tensor)| Some((path, tensor?)));
    parts().try_for_each(|(path, it)| part(path, it, whole, sizes, along).map_err(invalid))?;
    let sum: u64 = parts().map(|(_, it)| u64::from(it.sizes()[along])).sum();
    if sum == u64::from(sizes[along]) {
        return Ok(());
    }
    let path = format!("{whole}.Sizes[{along}]");
    let problem = "is not what the sizes of the parts add up to";
    Err(invalid(InvalidField::new(path, sizes[along], problem, sum.to_string())))
}

fn part(
    path: TensorPath,
    part: &TensorLayout,
    whole: &str,
    sizes: &[u32],
    along: usize,
) -> Result<(), InvalidField> {
    let differs = |member: String, given: usize, accepted: usize| {
        let problem = format!("differs from {whole}.{member}");
        InvalidField::new(format!("{path}.{member}"), given, problem, accepted.to_string())
    };
    let given = part.sizes();
    if given.len() != sizes.len() {
        return Err(differs("DimensionCount".to_owned(), given.len(), sizes.len()));
    }
    let mut pairs = given.iter().zip(sizes).enumerate();
    match pairs.find(|(at, (given, accepted))| *at != along && given != accepted) {
        None => Ok(()),
        Some((at, (given, accepted))) => {
            Err(differs(format!("Sizes[{at}]"), *given as usize, *accepted as usize))
        }
    }
}
