//! Operators that read or write elements where another tensor says.

#[cfg(feature = "reference")]
mod cases;
mod lookup;
mod lowering;
#[cfg(feature = "reference")]
mod meaning;
mod parts;
#[cfg(feature = "reference")]
mod reference;
mod sequences;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// A row for each operator: how it is lowered, and what the reference calls it.
macro_rules! operators {
    ($($(#[$documentation:meta])* $id:ident = $lower:expr, $meaning:ident;)*) => {
        $(
            $(#[$documentation])*
            static $id: Operator = Operator {
                schema: &operators::$id,
                lower: $lower,
                #[cfg(feature = "reference")]
                reference: &reference::Indexed {
                    schema: &operators::$id,
                    meaning: meaning::Meaning::$meaning,
                },
            };
        )*

        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&$id),*];
    };
}

operators! {
    /// `output[.., i.., ..] = input[.., indices[i..], ..]`
    GATHER = |it, target| lowering::gather(it, target, lookup::along_axis), Gather;
    /// `output[.., i, ..] = input[.., indices[.., i, ..], ..]`
    GATHER_ELEMENTS = |it, target| lowering::gather(it, target, lookup::of_elements), Elements;
    /// `output[i.., ..] = input[indices[i..].., ..]`
    GATHER_ND = |it, target| lowering::gather(it, target, lookup::at_coordinates), Parts;
    /// `output[b.., i.., ..] = input[b.., indices[b.., i..].., ..]`
    GATHER_ND1 = |it, target| lowering::gather(it, target, lookup::within_batches), Parts;
    /// `output[.., indices[.., i, ..], ..] = updates[.., i, ..]`
    SCATTER_ELEMENTS = |it, target| lowering::scatter(it, target, lookup::of_elements), Elements;
    /// `output[indices[i..].., ..] = updates[i.., ..]`
    SCATTER_ND = |it, target| lowering::scatter(it, target, lookup::at_coordinates), Parts;
    /// `output[.., i, ..] = values[indices[.., 0, ..] == i]`
    ONE_HOT = sequences::one_hot, OneHot;
    /// `output[indices[..]] = input[..]`
    MAX_UNPOOLING = lowering::unpool, Unpool;
    /// `output[.., i, ..] = input[.., lengths[.., 0, ..] - 1 - i, ..]`
    REVERSE_SUBSEQUENCES = sequences::reverse, Reverse;
}
