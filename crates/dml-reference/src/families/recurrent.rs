//! Recurrent networks of one layer.

mod cases;
mod reference;

use dml_core::operators;

use crate::Reference;
use reference::Recurrent;

/// The references of this family.
pub(crate) static REFERENCES: &[&dyn Reference] = &[
    &Recurrent { schema: &operators::RNN, step: reference::simple },
    &Recurrent { schema: &operators::LSTM, step: reference::long_short_term },
    &Recurrent { schema: &operators::GRU, step: reference::gated },
];
