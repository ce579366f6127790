//! How long the cases took.

use std::cmp::Reverse;

use crate::report::text::thousands;
use crate::results::{CaseResult, TargetRun};

/// Cases listed as the slowest.
const SLOWEST: usize = 10;
/// Upper bounds of the distribution, in microseconds, as they are called.
const BOUNDS: [(u64, &str); 5] = [
    (100, "below 0.1 ms"),
    (1000, "0.1 to 1 ms"),
    (10_000, "1 to 10 ms"),
    (100_000, "10 to 100 ms"),
    (u64::MAX, "100 ms and more"),
];

/// How many cases took about as long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) name: &'static str,
    pub(super) count: String,
    /// Of the largest count.
    pub(super) percent: u64,
}

/// The cases that took longest, the slowest first.
pub(super) fn slowest(target: &TargetRun) -> Vec<&CaseResult> {
    let mut cases: Vec<_> = target.cases.iter().collect();
    let order = |it: &&CaseResult| Reverse(it.microseconds);
    if cases.len() > SLOWEST {
        cases.select_nth_unstable_by_key(SLOWEST, order);
    }
    cases.truncate(SLOWEST);
    cases.sort_by_key(order);
    cases
}

/// How long how many cases took.
pub(super) fn distribution(target: &TargetRun) -> Vec<Bar> {
    let mut counts = [0_u64; BOUNDS.len()];
    for case in &target.cases {
        let place = BOUNDS.partition_point(|(bound, _)| *bound <= case.microseconds);
        counts[place.min(BOUNDS.len() - 1)] += 1;
    }
    let largest = counts.iter().copied().max().unwrap_or(0).max(1);
    let bar = |((_, name), count): (&(u64, &'static str), u64)| Bar {
        name,
        count: thousands(count),
        percent: count * 100 / largest,
    };
    BOUNDS.iter().zip(counts).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples;

    #[test]
    fn the_slowest_come_first_and_all_are_counted() {
        let mut target = samples::target();
        let case = target.cases[0].clone();
        let with_time = |microseconds| {
            let mut case = case.clone();
            case.microseconds = microseconds;
            case
        };
        target.cases = (0..30).map(|it| with_time(it * 10)).collect();
        target.cases.push(with_time(5_000_000));
        let slowest = slowest(&target);
        assert_eq!(slowest.len(), SLOWEST);
        assert_eq!((slowest[0].microseconds, slowest[9].microseconds), (5_000_000, 210));
        let bars = distribution(&target);
        let counts: Vec<_> = bars.iter().map(|bar| bar.count.as_str()).collect();
        assert_eq!(counts, ["10", "20", "0", "0", "1"]);
        assert_eq!(bars[1].percent, 100);
    }
}
