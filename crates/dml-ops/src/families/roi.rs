//! Operators on regions of interest: an element of the output is made of the elements of a cell of a region, and
//! regions are inputs.

mod align;
#[cfg(feature = "reference")]
mod cases;
mod pooling;
#[cfg(feature = "reference")]
mod reference;
mod space;

use dml_core::operators;

use crate::Operator;
#[cfg(feature = "reference")]
use reference::OfRegions;

/// Rows: `NAME = lowering;`.
macro_rules! regions {
    ($($name:ident = $lower:path;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: $lower,
            #[cfg(feature = "reference")]
            reference: &OfRegions { schema: &operators::$name },
        }),*];
    };
}

regions! {
    ROI_POOLING = pooling::greatest;
    ROI_ALIGN = align::samples;
    ROI_ALIGN1 = align::samples;
}
