//! Operators on regions of interest: an element of the output is made of the elements of a cell of a region, and
//! regions are inputs.

mod align;
mod pooling;
mod space;

use dml_core::operators;

use crate::Operator;

/// Rows: `NAME = lowering;`.
macro_rules! regions {
    ($($name:ident = $lower:path;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            program: $lower,
        }),*];
    };
}

regions! {
    ROI_POOLING = pooling::greatest;
    ROI_ALIGN = align::samples;
    ROI_ALIGN1 = align::samples;
}
