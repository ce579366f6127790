//! Operators that order the elements along a dimension.

mod top_k;

use dml_core::operators;

use crate::Operator;

/// The operators of the family, which share a lowering.
macro_rules! operators {
    ($($(#[$documentation:meta])* $id:ident;)*) => {
        /// All operators of the family.
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

/// The field for the order of elements; operators without it return the greatest elements.
const AXIS_DIRECTION: &str = "AxisDirection";
