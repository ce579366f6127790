//! Operators that only training needs: an optimizer, batch normalization by the moments of a batch, and gradients of
//! operators of other families. A gradient of windows or of neighbours is a gather: an element is the sum of its shares in
//! all that it was read for, in an order that sizes alone decide.

mod adam;
mod batch;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// Rows: `NAME = lowering;`.
macro_rules! training {
    ($($name:ident = $lower:path;)*) => {
        /// All of them.
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
