//! Recurrent networks of one layer. A row for each operator: how its cell goes on from one step to the next.
//!
//! What the cells have in common is in [`layer`]: directions, steps, products, outputs.

#[cfg(feature = "reference")]
mod cases;
mod cells;
mod layer;
mod network;
mod outputs;
mod program;
#[cfg(feature = "reference")]
mod reference;

use dml_core::operators;

use crate::Operator;
#[cfg(feature = "reference")]
use reference::Recurrent;

/// Rows: `NAME = step of the layer, step of the reference;`.
macro_rules! recurrent {
    ($($name:ident = $step:path, $oracle:path;)*) => {
        /// All of them.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            lower: |operator, target| layer::lower(operator, target, $step),
            #[cfg(feature = "reference")]
            reference: &Recurrent { schema: &operators::$name, step: $oracle },
        }),*];
    };
}

recurrent! {
    RNN = cells::simple, reference::simple;
    LSTM = cells::long_short_term, reference::long_short_term;
    GRU = cells::gated, reference::gated;
}
