//! Attention: values, weighted by how well their keys fit a query. A row for each operator.

mod factors;
mod lowering;
mod scores;

use dml_core::operators::{self, attention as sizes};

use crate::Operator;

/// Rows: `NAME;`.
macro_rules! attention {
    ($($name:ident;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            program: lowering::lower,
        }),*];
    };
}

attention! {
    MULTIHEAD_ATTENTION;
    MULTIHEAD_ATTENTION1;
}

#[cfg(test)]
mod tests;
