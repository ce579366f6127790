//! Operators that order the elements along a dimension.

mod top_k;

use dml_core::operators;

use crate::Operator;

/// A row for each operator.
macro_rules! operators {
    ($($(#[$documentation:meta])* $id:ident;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&$id),*];

        $(
            $(#[$documentation])*
            static $id: Operator = Operator {
                schema: &operators::$id,
                program: top_k::top_k,
            };
        )*
    };
}

operators! {
    /// The greatest elements, in descending order.
    TOP_K;
    /// The greatest elements in descending order, or the least in ascending order.
    TOP_K1;
}

/// The field that says which; an operator without it gives the greatest.
const AXIS_DIRECTION: &str = "AxisDirection";
