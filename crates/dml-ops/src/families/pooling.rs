//! Pooling and local response normalization: each output element is computed from a window of the input; and their
//! gradients. A row for each operator.

mod along;
mod coordinates;
mod gradient;
mod lowering;
mod quantized;
mod response;
mod space;
mod spread;
mod taps;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// Rows: `NAME = lowering;`.
macro_rules! windows {
    ($($name:ident = $lower:path;)*) => {
        /// All operators of the family.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            program: $lower,
        }),*];
    };
}

windows! {
    AVERAGE_POOLING = lowering::average;
    AVERAGE_POOLING1 = lowering::average;
    MAX_POOLING = lowering::maximum;
    MAX_POOLING1 = lowering::maximum;
    MAX_POOLING2 = lowering::maximum;
    LP_POOLING = lowering::norm;
    LP_POOLING1 = lowering::norm;
    QUANTIZED_LINEAR_AVERAGE_POOLING = quantized::average;
    LOCAL_RESPONSE_NORMALIZATION = response::normalization;
    AVERAGE_POOLING_GRAD = gradient::of_average;
    MAX_POOLING_GRAD = gradient::of_maximum;
    LOCAL_RESPONSE_NORMALIZATION_GRAD = response::gradient;
}
