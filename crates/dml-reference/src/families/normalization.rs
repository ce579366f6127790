//! Normalizations of elements by the moments or the norm of their row, or by given moments.

use super::rows::{Elements, OfRow, OverRows, oracles, references_of_rows};

references_of_rows! {
    MEAN_VARIANCE_NORMALIZATION = OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    MEAN_VARIANCE_NORMALIZATION1 = OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    MEAN_VARIANCE_NORMALIZATION2 = OfRow::Formula(oracles::by_moments), |_| Elements::Sums;
    BATCH_NORMALIZATION = OfRow::Formula(oracles::by_given_moments), |_| Elements::Sums;
    LP_NORMALIZATION = OfRow::Formula(oracles::by_norm), |_| Elements::Sums;
}
