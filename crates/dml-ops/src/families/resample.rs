//! Operators that resize a tensor: each output element is an input element, or a mean of neighbours. A row for each
//! operator.

mod lowering;
mod smooth;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// Rows: `NAME;`.
macro_rules! resample {
    ($($name:ident;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            program: lowering::resample,
        }),*];
    };
}

resample! {
    UPSAMPLE_2D;
    RESAMPLE;
    RESAMPLE1;
    RESAMPLE2;
    RESAMPLE3;
}
