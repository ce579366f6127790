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
    let parts = || operator.present_tensors(parts);
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
#[cfg(test)]
mod tests {
    use crate::operators::{JoinDesc, SplitDesc};
    use crate::schema::operator::AbstractOperator;
    use crate::tensor::TensorDesc;
    use crate::types::{DataType, FeatureLevel};
    use crate::validate::validate;

    fn tensors(sizes: &[&[u32]]) -> Vec<TensorDesc> {
        sizes.iter().map(|sizes| TensorDesc::packed(DataType::Float32, sizes)).collect()
    }

    fn checked(operator: impl Into<AbstractOperator>) -> Result<(), String> {
        let checked = validate(&operator.into(), FeatureLevel::HIGHEST);
        checked.map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn parts_have_the_sizes_of_the_whole_and_add_up_along_the_axis() {
        let join = |parts: &[&[u32]], whole: &[u32], axis| {
            let output_tensor = tensors(&[whole]).remove(0);
            checked(JoinDesc { input_tensors: tensors(parts), output_tensor, axis })
        };
        assert_eq!(join(&[&[2, 3], &[2, 1]], &[2, 4], 1), Ok(()));
        assert_eq!(join(&[&[4]], &[4], 0), Ok(()));
        for (parts, whole, axis, message) in [
            (
                &[&[2, 3][..]][..],
                &[2, 3][..],
                2,
                "Axis: 2 is no dimension of OutputTensor; accepted: 0 to 1",
            ),
            (
                &[&[2, 3], &[1, 2, 1]],
                &[2, 4],
                1,
                "InputTensors[1].DimensionCount: 3 differs from OutputTensor.DimensionCount; accepted: 2",
            ),
            (
                &[&[2, 3], &[3, 1]],
                &[2, 4],
                1,
                "InputTensors[1].Sizes[0]: 3 differs from OutputTensor.Sizes[0]; accepted: 2",
            ),
            (
                &[&[2, 3], &[2, 2]],
                &[2, 4],
                1,
                "OutputTensor.Sizes[1]: 4 is not what the sizes of the parts add up to; accepted: 5",
            ),
        ] {
            assert_eq!(join(parts, whole, axis), Err(format!("JOIN: {message}")));
        }
    }

    #[test]
    fn sizes_that_add_up_to_more_than_32_bits_are_no_whole() {
        let input_tensor = tensors(&[&[1 << 31]]).remove(0);
        let output_tensors = tensors(&[&[1 << 31], &[1 << 31], &[1 << 31]]);
        let message = checked(SplitDesc { input_tensor, output_tensors, axis: 0 }).unwrap_err();
        assert!(message.ends_with("add up to; accepted: 6442450944"), "{message}");
    }
}
