//! Attention: values, weighted by how well their keys fit a query. A row for each operator.

#[cfg(feature = "reference")]
mod cases;
mod factors;
mod lowering;
#[cfg(feature = "reference")]
mod reference;
mod scores;
mod sizes;

use dml_core::operators;

use crate::Operator;
#[cfg(feature = "reference")]
use reference::Attention;

/// Rows: `NAME;`.
macro_rules! attention {
    ($($name:ident;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: lowering::lower,
            #[cfg(feature = "reference")]
            reference: &Attention { schema: &operators::$name },
        }),*];
    };
}

attention! {
    MULTIHEAD_ATTENTION;
    MULTIHEAD_ATTENTION1;
}

#[cfg(test)]
mod tests;
