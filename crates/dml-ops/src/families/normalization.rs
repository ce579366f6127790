//! Normalizations: by the mean and variance or the norm of each row, or by a given mean and variance.

mod lowering;

use dml_core::operators;

use crate::Operator;
use lowering::{by_given_moments, by_moments, by_norm};

/// All operators of the family.
pub(crate) static OPERATORS: &[&Operator] = &[
    &Operator { schema: &operators::MEAN_VARIANCE_NORMALIZATION, program: by_moments },
    &Operator { schema: &operators::MEAN_VARIANCE_NORMALIZATION1, program: by_moments },
    &Operator { schema: &operators::MEAN_VARIANCE_NORMALIZATION2, program: by_moments },
    &Operator { schema: &operators::BATCH_NORMALIZATION, program: by_given_moments },
    &Operator { schema: &operators::LP_NORMALIZATION, program: by_norm },
];
