//! Operators for training: an optimizer, batch normalization with the moments of the batch, and gradients of
//! operators of other families. A gradient of windows or of neighbours is a gather: each element sums its
//! shares of the gradients of all elements that it contributed to, in an order that depends on sizes alone.

mod adam;
mod batch;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// Rows: `NAME = lowering;`.
macro_rules! training {
    ($($name:ident = $lower:path;)*) => {
        /// All operators of the family.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            program: $lower,
        }),*];
    };
}

training! {
    ADAM_OPTIMIZER = adam::step;
    BATCH_NORMALIZATION_GRAD = batch::gradient;
    BATCH_NORMALIZATION_TRAINING = batch::normalize;
    BATCH_NORMALIZATION_TRAINING_GRAD = batch::gradient_in_training;
}
