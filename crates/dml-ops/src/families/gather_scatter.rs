//! Operators that read or write elements at indices from another tensor.

mod lookup;
mod lowering;
mod parts;
mod sequences;
#[cfg(test)]
mod tests;

use dml_core::operators;

use crate::Operator;

/// A row for each operator: how it is lowered.
macro_rules! operators {
    ($($(#[$documentation:meta])* $id:ident = $lower:expr;)*) => {
        $(
            $(#[$documentation])*
            static $id: Operator = Operator {
                schema: &operators::$id,
                program: $lower,
            };
        )*

        /// All operators of the family.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&$id),*];
    };
}

operators! {
    /// `output[.., i.., ..] = input[.., indices[i..], ..]`
    GATHER = |it, target| lowering::gather(it, target, lookup::along_axis);
    /// `output[.., i, ..] = input[.., indices[.., i, ..], ..]`
    GATHER_ELEMENTS = |it, target| lowering::gather(it, target, lookup::of_elements);
    /// `output[i.., ..] = input[indices[i..].., ..]`
    GATHER_ND = |it, target| lowering::gather(it, target, lookup::at_coordinates);
    /// `output[b.., i.., ..] = input[b.., indices[b.., i..].., ..]`
    GATHER_ND1 = |it, target| lowering::gather(it, target, lookup::within_batches);
    /// `output[.., indices[.., i, ..], ..] = updates[.., i, ..]`
    SCATTER_ELEMENTS = |it, target| lowering::scatter(it, target, lookup::of_elements);
    /// `output[indices[i..].., ..] = updates[i.., ..]`
    SCATTER_ND = |it, target| lowering::scatter(it, target, lookup::at_coordinates);
    /// `output[.., i, ..] = values[indices[.., 0, ..] == i]`
    ONE_HOT = sequences::one_hot;
    /// `output[indices[..]] = input[..]`
    MAX_UNPOOLING = lowering::unpool;
    /// `output[.., i, ..] = input[.., lengths[.., 0, ..] - 1 - i, ..]`
    REVERSE_SUBSEQUENCES = sequences::reverse;
}
