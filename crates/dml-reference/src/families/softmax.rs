//! Softmax, log-softmax and hardmax of rows.

use super::rows::{Elements, OfRow, OverRows, oracles, references_of_rows};

references_of_rows! {
    ACTIVATION_SOFTMAX = OfRow::Floats(oracles::softmax), |_| Elements::Shares;
    ACTIVATION_SOFTMAX1 = OfRow::Floats(oracles::softmax), |_| Elements::Shares;
    ACTIVATION_LOG_SOFTMAX = OfRow::Floats(oracles::log_softmax), |_| Elements::Any;
    ACTIVATION_LOG_SOFTMAX1 = OfRow::Floats(oracles::log_softmax), |_| Elements::Any;
    ACTIVATION_HARDMAX = OfRow::Floats(oracles::hardmax), |_| Elements::Any;
    ACTIVATION_HARDMAX1 = OfRow::Floats(oracles::hardmax), |_| Elements::Any;
}
