//! Gather and scatter operators, which read or write elements at the indices in another tensor.

mod cases;
mod meaning;
mod reference;

use dml_core::operators;

use crate::Reference;
use meaning::Meaning;
use reference::Indexed;

/// Rows: `NAME = meaning;`.
macro_rules! references {
    ($($name:ident = $meaning:ident;)*) => {
        /// The references of this family.
        pub(crate) static REFERENCES: &[&dyn Reference] = &[$(&Indexed {
            schema: &operators::$name,
            meaning: Meaning::$meaning,
        }),*];
    };
}

references! {
    GATHER = Gather;
    GATHER_ELEMENTS = Elements;
    GATHER_ND = Parts;
    GATHER_ND1 = Parts;
    SCATTER_ELEMENTS = Elements;
    SCATTER_ND = Parts;
    ONE_HOT = OneHot;
    MAX_UNPOOLING = Unpool;
    REVERSE_SUBSEQUENCES = Reverse;
}
