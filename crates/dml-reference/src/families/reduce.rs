//! Reductions, indices of extrema, and cumulative sums and products.

use super::rows::{Elements, OfRow, OverRows, oracles, references_of_rows};

references_of_rows! {
    REDUCE =
        OfRow::Numbers(oracles::reduce, oracles::reduce_integers), oracles::elements_of_function;
    ARGMAX =
        OfRow::Numbers(oracles::index_of_greatest, oracles::integer_index_of_greatest), |_| Elements::Few;
    ARGMIN =
        OfRow::Numbers(oracles::index_of_least, oracles::integer_index_of_least), |_| Elements::Few;
    CUMULATIVE_SUMMATION = OfRow::Numbers(oracles::sums, oracles::integer_sums), |_| Elements::Sums;
    CUMULATIVE_PRODUCT =
        OfRow::Numbers(oracles::products, oracles::integer_products), |_| Elements::Factors;
}
