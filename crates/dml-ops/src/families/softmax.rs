//! Softmax, log-softmax and hardmax over rows.

mod lowering;

use dml_core::operators;

use crate::Operator;
pub(crate) use lowering::fused_softmax;
use lowering::{hardmax, log_softmax, softmax};

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[
    &Operator { schema: &operators::ACTIVATION_SOFTMAX, program: softmax },
    &Operator { schema: &operators::ACTIVATION_SOFTMAX1, program: softmax },
    &Operator { schema: &operators::ACTIVATION_LOG_SOFTMAX, program: log_softmax },
    &Operator { schema: &operators::ACTIVATION_LOG_SOFTMAX1, program: log_softmax },
    &Operator { schema: &operators::ACTIVATION_HARDMAX, program: hardmax },
    &Operator { schema: &operators::ACTIVATION_HARDMAX1, program: hardmax },
];
