//! Operators on regions of interest: an input gives the regions, and each output element is computed from the
//! elements of one cell of a region.

mod align;
mod gradient;
mod pooling;
mod space;

use dml_core::operators;

use crate::Operator;

/// Rows: `NAME = lowering;`.
macro_rules! regions {
    ($($name:ident = $lower:path;)*) => {
        /// All operators of the family.
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
    ROI_ALIGN_GRAD = gradient::gradients;
}
