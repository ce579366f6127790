//! Rules of training operators.

use super::invalid;
use super::movement::same_ranks;
use super::rows::single;
use crate::error::Error;
use crate::schema::validated::Validated;

/// ADAM_OPTIMIZER: one training step, and `beta` below 1, so that the divisor `1 - beta^step` is not 0.
pub(super) fn optimizer(operator: &Validated) -> Result<(), Error> {
    single(operator, "TrainingStepTensor")?;
    for name in ["Beta1", "Beta2"] {
        let beta = operator.float(name)?;
        if !(0.0..1.0).contains(&beta) {
            let problem = "is not a valid decay rate";
            return Err(invalid(operator, name, beta, problem, "0 to below 1"));
        }
    }
    Ok(())
}

/// The sizes of the tensor `name` are those of `whole`, or 1.
pub(super) fn repeated(operator: &Validated, name: &str, whole: &str) -> Result<(), Error> {
    let [whole_sizes, sizes] = same_ranks(operator, [whole, name])?;
    let mut pairs = sizes.iter().zip(whole_sizes).enumerate();
    let Some((at, (size, of))) = pairs.find(|(_, (size, of))| **size != 1 && size != of) else {
        return Ok(());
    };
    let problem = format!("differs from {whole}.Sizes[{at}]");
    let accepted = if *of == 1 { "1".to_owned() } else { format!("1, {of}") };
    Err(invalid(operator, format!("{name}.Sizes[{at}]"), size, problem, accepted))
}
