//! Softmax, its logarithm and hardmax, of rows.

mod lowering;

use dml_core::operators;

use crate::Operator;
pub(crate) use lowering::fused_softmax;
use lowering::{hardmax, log_softmax, softmax};

/// All of them.
pub(crate) static OPERATORS: &[&Operator] = &[
    &Operator { schema: &operators::ACTIVATION_SOFTMAX, lower: softmax },
    &Operator { schema: &operators::ACTIVATION_SOFTMAX1, lower: softmax },
    &Operator { schema: &operators::ACTIVATION_LOG_SOFTMAX, lower: log_softmax },
    &Operator { schema: &operators::ACTIVATION_LOG_SOFTMAX1, lower: log_softmax },
    &Operator { schema: &operators::ACTIVATION_HARDMAX, lower: hardmax },
    &Operator { schema: &operators::ACTIVATION_HARDMAX1, lower: hardmax },
];
