//! Rules of reductions and normalizations, whose rows are all elements along some dimensions.

use crate::error::Error;
use crate::schema::FieldKind;
use crate::schema::validated::Validated;
use crate::types::InvalidField;

/// The output has the input's sizes, but 1 along the axes.
pub(super) fn one_for_each(operator: &Validated) -> Result<(), Error> {
    let [input, output] =
        ["InputTensor", "OutputTensor"].map(|name| operator.required_tensor(name));
    let (input, output) = (input?.sizes(), output?.sizes());
    let axes = operator.uint_array("Axes")?;
    let invalid = |path: String, given: usize, problem: &str, accepted: usize| {
        let field = InvalidField::new(path, given, problem, accepted.to_string());
        Err(Error::Invalid { operator: operator.schema().name, field })
    };
    if input.len() != output.len() {
        let problem = "differs from InputTensor.DimensionCount";
        let path = "OutputTensor.DimensionCount".to_owned();
        return invalid(path, output.len(), problem, input.len());
    }
    for (at, (size, given)) in input.iter().zip(output).enumerate() {
        let (problem, accepted) = match axes.iter().any(|axis| *axis as usize == at) {
            true => ("is along one of Axes", 1),
            false => ("differs from InputTensor", *size),
        };
        if *given != accepted {
            let path = format!("OutputTensor.Sizes[{at}]");
            return invalid(path, *given as usize, problem, accepted as usize);
        }
    }
    Ok(())
}

/// The axis is a dimension of the input.
pub(super) fn axis(operator: &Validated) -> Result<(), Error> {
    let (axis, rank) =
        (operator.uint("Axis")?, operator.required_tensor("InputTensor")?.sizes().len());
    if (axis as usize) < rank {
        return Ok(());
    }
    let accepted = format!("0 to {}", rank - 1);
    let field = InvalidField::new("Axis", axis, "is not a dimension of InputTensor", accepted);
    Err(Error::Invalid { operator: operator.schema().name, field })
}

/// The norm is 1 or 2.
pub(super) fn norm(operator: &Validated) -> Result<(), Error> {
    let norm = operator.uint("P")?;
    if matches!(norm, 1 | 2) {
        return Ok(());
    }
    let field = InvalidField::new("P", norm, "is not a supported norm", "1, 2");
    Err(Error::Invalid { operator: operator.schema().name, field })
}

/// The inputs have the output's sizes, or 1.
pub(super) fn repeated(operator: &Validated) -> Result<(), Error> {
    let output = operator.required_tensor("OutputTensor")?.sizes();
    for (path, tensor) in operator.present_tensors(FieldKind::Input) {
        let invalid = |member: String, given: usize, problem: String, accepted: String| {
            let field = InvalidField::new(format!("{path}.{member}"), given, problem, accepted);
            Err(Error::Invalid { operator: operator.schema().name, field })
        };
        let sizes = tensor.sizes();
        if sizes.len() != output.len() {
            let (member, accepted) = ("DimensionCount".to_owned(), output.len().to_string());
            let problem = "differs from OutputTensor.DimensionCount".to_owned();
            return invalid(member, sizes.len(), problem, accepted);
        }
        let mut pairs = sizes.iter().zip(output).enumerate();
        if let Some((at, (size, of))) = pairs.find(|(_, (size, of))| **size != 1 && size != of) {
            let problem = format!("differs from OutputTensor.Sizes[{at}]");
            let accepted = if *of == 1 { "1".to_owned() } else { format!("1, {of}") };
            return invalid(format!("Sizes[{at}]"), *size as usize, problem, accepted);
        }
    }
    Ok(())
}

/// The tensor `name` has one element.
pub(super) fn single(operator: &Validated, name: &str) -> Result<(), Error> {
    let sizes = operator.required_tensor(name)?.sizes();
    let Some(at) = sizes.iter().position(|size| *size != 1) else { return Ok(()) };
    let path = format!("{name}.Sizes[{at}]");
    let field =
        InvalidField::new(path, sizes[at], "is not the size of a tensor with one element", "1");
    Err(Error::Invalid { operator: operator.schema().name, field })
}
