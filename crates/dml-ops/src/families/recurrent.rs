//! Recurrent networks of one layer. A row for each operator: the step of its cell.
//!
//! [`layer`] has the parts that all cells share: directions, steps and outputs; `sums` has the products, `states` the
//! memory of states.

mod axes;
mod cells;
mod layer;
mod network;
mod outputs;
mod program;
mod states;
mod steps;
mod sums;

use dml_core::operators;

use crate::Operator;

/// Rows: `NAME = step of the layer;`.
macro_rules! recurrent {
    ($($name:ident = $step:path;)*) => {
        /// All operators of the family.
        pub(crate) static OPERATORS: &[&Operator] = &[$(&Operator {
            schema: &operators::$name,
            program: |operator, target| layer::lower(operator, target, $step),
        }),*];
    };
}

recurrent! {
    RNN = cells::simple;
    LSTM = cells::long_short_term;
    GRU = cells::gated;
}
