//! Operators that resize a tensor: each output element is an input element, or a mean of neighbours; and their
//! gradients. A row for each operator.

mod gradient;
mod lowering;
mod smooth;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// Rows: `NAME = lowering;`.
macro_rules! resample {
    ($($name:ident = $lower:path;)*) => {
        /// All operators of the family.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            program: $lower,
        }),*];
    };
}

resample! {
    UPSAMPLE_2D = lowering::resample;
    RESAMPLE = lowering::resample;
    RESAMPLE1 = lowering::resample;
    RESAMPLE2 = lowering::resample;
    RESAMPLE3 = lowering::resample;
    RESAMPLE_GRAD = gradient::gradient;
    RESAMPLE_GRAD1 = gradient::gradient;
}
