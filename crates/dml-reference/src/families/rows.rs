//! Functions of rows, which are all elements along some axes, at fixed coordinates in the other dimensions. The
//! families softmax, reduce, normalization and quantization use them.

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
        /// The references of this family.
        pub(crate) static REFERENCES: &[&dyn $crate::Reference] = &[$(&OverRows {
            schema: &dml_core::operators::$name,
            of_row: $oracle,
            elements: $elements,
        }),*];
    };
}
pub(crate) use references_of_rows;
