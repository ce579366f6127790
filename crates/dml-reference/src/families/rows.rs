//! What the families that compute with rows have in common: all elements along some dimensions, the axes, at the same
//! coordinates of the others. Those are softmax, reductions, normalizations, and one of quantization.

mod cases;
mod elements;
pub(crate) mod oracles;
mod reference;

pub(crate) use elements::Elements;
pub(crate) use oracles::{factor_of, softmax_of_rows};
pub(crate) use reference::{OfRow, OverRows, rows as reference_rows};

/// Rows: `NAME = oracle, elements;`.
macro_rules! references_of_rows {
    ($($name:ident = $oracle:expr, $elements:expr;)*) => {
        /// All of them.
        pub(crate) static REFERENCES: &[&dyn $crate::Reference] = &[$(&OverRows {
            schema: &dml_core::operators::$name,
            of_row: $oracle,
            elements: $elements,
        }),*];
    };
}
pub(crate) use references_of_rows;
