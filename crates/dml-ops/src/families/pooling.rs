//! Operators whose elements are each made of a window of the input: pooling, and elements divided by a measure
//! of their neighbours. A row for each operator.

mod along;
#[cfg(feature = "reference")]
mod cases;
mod lowering;
#[cfg(feature = "reference")]
mod meaning;
mod quantized;
#[cfg(feature = "reference")]
mod reference;
mod response;
mod space;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;
#[cfg(feature = "reference")]
use meaning::Meaning;
#[cfg(feature = "reference")]
use reference::OfWindows;

/// Rows: `NAME = lowering, meaning;`.
macro_rules! windows {
    ($($name:ident = $lower:path, $meaning:ident;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: $lower,
            #[cfg(feature = "reference")]
            reference: &OfWindows { schema: &operators::$name, meaning: Meaning::$meaning },
        }),*];
    };
}

windows! {
    AVERAGE_POOLING = lowering::average, Average;
    AVERAGE_POOLING1 = lowering::average, Average;
    MAX_POOLING = lowering::maximum, Maximum;
    MAX_POOLING1 = lowering::maximum, Maximum;
    MAX_POOLING2 = lowering::maximum, Maximum;
    LP_POOLING = lowering::norm, Norm;
    LP_POOLING1 = lowering::norm, Norm;
    QUANTIZED_LINEAR_AVERAGE_POOLING = quantized::average, Quantized;
    LOCAL_RESPONSE_NORMALIZATION = response::normalization, Response;
}
