//! Operators that compute with rows: all elements along some dimensions, the axes, at the same coordinates
//! of the others.

mod cases;
mod elements;
mod oracles;
mod reference;

use dml_core::operators;

use crate::Reference;
use elements::Elements;
pub(crate) use oracles::{factor_of, softmax_of_rows};
use reference::{OfRow, OverRows};

/// Rows: `NAME = oracle, elements;`.
macro_rules! rows {
    ($($name:ident = $oracle:expr, $elements:expr;)*) => {
        /// All of them.
        pub(crate) static REFERENCES: &[&dyn Reference] = &[$(&OverRows {
            schema: &operators::$name,
            of_row: $oracle,
            elements: $elements,
        }),*];
    };
}

rows! {
    ACTIVATION_SOFTMAX = OfRow::Floats(oracles::softmax), |_| Elements::Shares;
    ACTIVATION_SOFTMAX1 = OfRow::Floats(oracles::softmax), |_| Elements::Shares;
    ACTIVATION_LOG_SOFTMAX = OfRow::Floats(oracles::log_softmax), |_| Elements::Any;
    ACTIVATION_LOG_SOFTMAX1 = OfRow::Floats(oracles::log_softmax), |_| Elements::Any;
    ACTIVATION_HARDMAX = OfRow::Floats(oracles::hardmax), |_| Elements::Any;
    ACTIVATION_HARDMAX1 = OfRow::Floats(oracles::hardmax), |_| Elements::Any;
    REDUCE =
        OfRow::Numbers(oracles::reduce, oracles::reduce_integers), oracles::elements_of_function;
    ARGMAX =
        OfRow::Numbers(oracles::index_of_greatest, oracles::integer_index_of_greatest), |_| Elements::Few;
    ARGMIN =
        OfRow::Numbers(oracles::index_of_least, oracles::integer_index_of_least), |_| Elements::Few;
    MEAN_VARIANCE_NORMALIZATION = OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    MEAN_VARIANCE_NORMALIZATION1 = OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    MEAN_VARIANCE_NORMALIZATION2 = OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    BATCH_NORMALIZATION = OfRow::Formula(oracles::by_given_moments), |_| Elements::Sums;
    LP_NORMALIZATION = OfRow::Formula(oracles::by_norm), |_| Elements::Sums;
    DYNAMIC_QUANTIZE_LINEAR = OfRow::Formula(oracles::quantize), |_| Elements::Sums;
    CUMULATIVE_SUMMATION = OfRow::Numbers(oracles::sums, oracles::integer_sums), |_| Elements::Sums;
    CUMULATIVE_PRODUCT =
        OfRow::Numbers(oracles::products, oracles::integer_products), |_| Elements::Factors;
}
