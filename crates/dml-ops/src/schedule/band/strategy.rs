//! Chooses the strategy for a tensor and a driver.

use dml_core::plan::MAX_UPDATE_BYTES;
use dml_core::{Strategy, Tuning};

use super::steps::{BandedOutput, Source};
use crate::TransferUse;
use crate::schedule::dispatches::{MAX_LOOPS, MAX_REGIONS};
use crate::schedule::patterns::repeated;
use crate::schedule::seed;

/// The largest block that is made on the host, whatever the tuning prefers.
const MAX_SEED_BYTES: u64 = 256 << 10;
/// The least number of repetitions of a block that is larger than the tuning allows.
const LEAST_REPEATS: u64 = 16;

/// The elements around the band.
#[derive(Clone, Copy)]
pub(super) enum Background<'a> {
    /// No elements: the band covers everything.
    Nothing,
    /// Zeros.
    Zeros,
    /// The elements of an input.
    Input(&'a Source),
    /// Existing elements of the output.
    Output,
}

/// The strategy for an output with this around the band.
///
/// The tuning's preferred strategy if it can serve; else the first in a fixed order that can serve and is
/// worthwhile.
pub(super) fn choose(
    banded: &BandedOutput,
    background: Background<'_>,
    tuning: Tuning,
    transfer: TransferUse,
) -> Strategy {
    if transfer == TransferUse::StorageOnly {
        return Strategy::Kernel;
    }
    let serves = |strategy: &Strategy| can_serve(banded, background, *strategy);
    if let Some(strategy) = tuning.strategy.filter(serves) {
        return strategy;
    }
    let suits = |strategy: &Strategy| {
        serves(strategy) && is_worthwhile(banded, background, *strategy, tuning)
    };
    let order = [
        Strategy::Inline,
        Strategy::Fill,
        Strategy::SeedAndCopy,
        Strategy::RowCopies,
        Strategy::FillAndScatter,
        Strategy::CopyAndBand,
    ];
    order.into_iter().find(suits).unwrap_or(Strategy::Kernel)
}

/// Whether the strategy can produce the output, fast or not.
fn can_serve(banded: &BandedOutput, background: Background<'_>, strategy: Strategy) -> bool {
    let is_made = matches!(background, Background::Nothing | Background::Zeros);
    let is_dense = is_made && banded.is_dense;
    match strategy {
        Strategy::Inline => is_dense && banded.bytes <= MAX_UPDATE_BYTES,
        Strategy::Fill => is_dense && banded.pattern().is_some(),
        Strategy::FillAndScatter => is_dense,
        Strategy::CopyAndBand => matches!(background, Background::Input(source)
            if banded.is_dense && source.batches.strides == banded.batches.strides),
        Strategy::SeedAndCopy => {
            is_dense && banded.period().is_some_and(|period| period <= MAX_SEED_BYTES)
        }
        Strategy::RowCopies => {
            let whole_rows = banded.batches.has_whole_rows()
                && !matches!(background, Background::Input(source) if !source.batches.has_whole_rows());
            let (regions, loops) = banded.row_copies();
            whole_rows && regions <= MAX_REGIONS && loops <= MAX_LOOPS
        }
        Strategy::Kernel => true,
        _ => false,
    }
}

/// Whether a strategy that can serve is fast.
fn is_worthwhile(
    banded: &BandedOutput,
    background: Background<'_>,
    strategy: Strategy,
    tuning: Tuning,
) -> bool {
    let row_bytes = u64::from(tuning.row_bytes);
    // Other strategies write elements narrower than a word one at a time.
    let is_narrow = banded.element_width.bytes() < 4;
    let may_copy = |regions: u64| regions <= u64::from(tuning.most_regions);
    match strategy {
        Strategy::Inline => banded.bytes <= u64::from(tuning.inline_bytes),
        Strategy::SeedAndCopy => {
            let repeats = |period: u64| is_narrow && period * LEAST_REPEATS <= banded.bytes;
            let most = u64::from(tuning.seed_bytes);
            banded.period().is_some_and(|period| {
                (period <= most || repeats(period))
                    && may_copy(seed::regions(period, banded.bytes, tuning))
            })
        }
        Strategy::RowCopies => {
            let others = [Strategy::FillAndScatter, Strategy::CopyAndBand];
            let is_dense = others.into_iter().any(|other| can_serve(banded, background, other));
            let is_part = is_dense || matches!(background, Background::Output);
            let [.., width] = banded.batches.sizes;
            // If only some elements are alike, the alternative is a kernel for all.
            let (run, least) =
                if is_part { (banded.band_width(), row_bytes) } else { (width, row_bytes / 4) };
            let (regions, _) = banded.row_copies();
            u64::from(run) * u64::from(banded.element_width.bytes()) >= least && may_copy(regions)
        }
        Strategy::CopyAndBand => may_copy(1) || is_narrow && is_small_part(banded),
        _ => true,
    }
}

/// Whether most elements are outside of the band.
fn is_small_part(banded: &BandedOutput) -> bool {
    let [.., width] = banded.batches.sizes;
    banded.band_width().saturating_mul(4) <= width
}

impl BandedOutput {
    /// The word that repeats over a dense output whose elements are all the same.
    pub(super) fn pattern(&self) -> Option<u32> {
        match self.band.parts() {
            [] => Some(0),
            _ if self.band.is_everything() => repeated(self.value, self.element_width),
            _ => None,
        }
    }

    /// Bytes after which a dense output repeats, as far as its sizes show.
    pub(super) fn period(&self) -> Option<u64> {
        match self.band.is_everything() {
            true => Some(self.element_width.bytes().into()),
            false => self.matrix_bytes(),
        }
    }

    /// The largest number of elements of a row that are in the band.
    fn band_width(&self) -> u32 {
        let [.., width] = self.batches.sizes;
        let diagonals = self.band.parts().iter().map(|part| part.end - part.start);
        width.min(diagonals.max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::MAX_STEPS;

    #[test]
    fn the_page_of_limits_states_these() {
        let page = include_str!("../../../../../docs/limits.md");
        for stated in [
            format!("needs no more than 2^{} dispatches", MAX_STEPS.ilog2()),
            format!("at most 2^{} regions and 2^{} loops", MAX_REGIONS.ilog2(), MAX_LOOPS.ilog2()),
            format!("blocks made on the host at most {} KiB", MAX_SEED_BYTES >> 10),
        ] {
            assert!(page.contains(&stated), "docs/limits.md: {stated}");
        }
        let powers = [MAX_STEPS.is_power_of_two(), MAX_REGIONS.is_power_of_two()];
        assert!(powers == [true; 2] && MAX_LOOPS.is_power_of_two());
    }
}
