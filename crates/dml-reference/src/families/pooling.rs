//! Operators on windows of the input: pooling, and local response normalization.

pub(crate) mod cases;
mod meaning;
mod reference;

use dml_core::operators;

use crate::Reference;
use meaning::Meaning;
use reference::OfWindows;

/// Rows: `NAME = meaning;`.
macro_rules! windows {
    ($($name:ident = $meaning:ident;)*) => {
        /// The references of this family.
        pub(crate) static REFERENCES: &[&dyn Reference] = &[$(&OfWindows {
            schema: &operators::$name,
            meaning: Meaning::$meaning,
        }),*];
    };
}

windows! {
    AVERAGE_POOLING = Average;
    AVERAGE_POOLING1 = Average;
    MAX_POOLING = Maximum;
    MAX_POOLING1 = Maximum;
    MAX_POOLING2 = Maximum;
    LP_POOLING = Norm;
    LP_POOLING1 = Norm;
    QUANTIZED_LINEAR_AVERAGE_POOLING = Quantized;
    LOCAL_RESPONSE_NORMALIZATION = Response;
}
