//! How long the cases took.

use crate::report::text::{milliseconds, thousands};
use crate::results::TargetRun;

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

/// The times of a target.
#[derive(Clone, Debug)]
pub(super) struct TimingView {
    /// Wall clock of everything.
    pub(super) seconds: String,
    /// Ids and times, the slowest first.
    pub(super) slowest: Vec<(String, String)>,
    pub(super) distribution: Vec<Bar>,
}

/// How many cases took about as long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) name: &'static str,
    pub(super) count: String,
    /// Of the largest count.
    pub(super) percent: u64,
}

impl TimingView {
    pub(super) fn new(target: &TargetRun) -> Self {
        let mut cases: Vec<_> = target.cases.iter().collect();
        let order = |it: &&crate::results::CaseResult| std::cmp::Reverse(it.microseconds);
        if cases.len() > SLOWEST {
            cases.select_nth_unstable_by_key(SLOWEST, order);
        }
        cases.truncate(SLOWEST);
        cases.sort_by_key(order);
        let slowest = cases.iter().map(|it| (it.id.to_string(), milliseconds(it.microseconds)));
        Self {
            seconds: format!("{:.1}", target.seconds),
            slowest: slowest.collect(),
            distribution: distribution(target),
        }
    }
}

fn distribution(target: &TargetRun) -> Vec<Bar> {
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
        let view = TimingView::new(&target);
        assert_eq!(view.slowest.len(), SLOWEST);
        assert_eq!(view.slowest[0].1, "5000.000 ms");
        assert_eq!(view.slowest[9].1, "0.210 ms");
        let counts: Vec<_> = view.distribution.iter().map(|bar| bar.count.as_str()).collect();
        assert_eq!(counts, ["10", "20", "0", "0", "1"]);
        assert_eq!(view.distribution[1].percent, 100);
    }
}
