//! Medians, percentiles and ratios of samples that were taken in turns.

use std::time::Duration;

use serde::Serialize;

/// A summary of many times.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    /// The number of times.
    pub(crate) count: usize,
    /// The median: half of them are shorter, in seconds.
    pub(crate) median: f64,
    /// The 99th percentile in seconds; the longest of less than 100.
    pub(crate) p99: f64,
    /// The shortest, in seconds.
    pub(crate) min: f64,
}

impl Summary {
    /// The summary of at least one time.
    pub(crate) fn of(times: &[Duration]) -> Self {
        let sorted = sorted(times.iter().map(Duration::as_secs_f64));
        Self {
            count: sorted.len(),
            median: percentile(&sorted, 50),
            p99: percentile(&sorted, 99),
            min: percentile(&sorted, 0),
        }
    }
}

/// The ratio of one time to another that was measured in turns with it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ratio {
    /// The ratio of the medians, to which targets apply.
    pub(crate) of_medians: f64,
    /// The 10th percentile of the ratios of pairs.
    pub(crate) p10: f64,
    /// The 90th percentile of the ratios of pairs.
    pub(crate) p90: f64,
    /// The number of pairs.
    pub(crate) turns: usize,
}

/// With fewer turns, one disturbed turn could be the median.
const LEAST_TURNS: usize = 5;

impl Ratio {
    /// The ratio of `one` to `other`, of the same length of at least 1: each pair was measured together.
    pub(crate) fn of(one: &[Duration], other: &[Duration]) -> Self {
        let seconds = |times: &[Duration]| sorted(times.iter().map(Duration::as_secs_f64));
        let pairs = one.iter().zip(other);
        let ratios = sorted(pairs.map(|(one, other)| one.as_secs_f64() / other.as_secs_f64()));
        Self {
            of_medians: percentile(&seconds(one), 50) / percentile(&seconds(other), 50),
            p10: percentile(&ratios, 10),
            p90: percentile(&ratios, 90),
            turns: ratios.len(),
        }
    }

    /// Whether there are too few pairs, or they differ too much, for the ratio to mean much.
    pub(crate) fn is_noisy(&self) -> bool {
        self.turns < LEAST_TURNS || self.p90 > 1.5 * self.p10
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The percentile by nearest rank: always one of the values.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted[rank - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        let summary = Summary::of(&times);
        assert_eq!((summary.count, summary.median, summary.p99), (200, 0.1, 0.198));
        assert_eq!(Summary::of(&times[..3]).p99, 0.003);
        assert_eq!(Summary::of(&times[..1]).median, 0.001);
    }

    #[test]
    fn ratios_are_of_medians_and_of_pairs() {
        let [one, other] = [2, 1].map(|factor| {
            (1..=11).map(|it| Duration::from_millis(factor * it)).collect::<Vec<_>>()
        });
        let ratio = Ratio::of(&one, &other);
        assert_eq!((ratio.of_medians, ratio.p10, ratio.p90, ratio.turns), (2.0, 2.0, 2.0, 11));
        assert!(!ratio.is_noisy());
        assert!(Ratio { turns: LEAST_TURNS - 1, ..ratio.clone() }.is_noisy());
        assert!(Ratio { p90: 3.1, ..ratio }.is_noisy());
    }
}
