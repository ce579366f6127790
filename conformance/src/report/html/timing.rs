//! How long the cases took.

use crate::report::text::thousands;
use crate::results::{TargetRun, TimeBand};

/// How many cases took about as long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) count: String,
    /// The count as a percentage of the largest one.
    pub(super) percent: u64,
}

/// How long how many cases took.
pub(super) fn distribution(target: &TargetRun) -> Vec<Bar> {
    let bands = &target.times.bands;
    let largest = bands.iter().map(|band| band.cases).max().unwrap_or(0).max(1);
    let mut from = None;
    let bar = |band: &TimeBand| Bar {
        name: name(std::mem::replace(&mut from, band.below), band.below),
        count: thousands(band.cases),
        percent: band.cases * 100 / largest,
    };
    bands.iter().map(bar).collect()
}

/// The name of a band with these ends, in microseconds.
fn name(from: Option<u64>, below: Option<u64>) -> String {
    // The ends of bands are powers of 10, and at least a tenth of a millisecond.
    let milliseconds = |it: u64| match it / 1000 {
        0 => format!("0.{}", it / 100),
        whole => whole.to_string(),
    };
    match (from.map(milliseconds), below.map(milliseconds)) {
        (None, None) => "any time".to_owned(),
        (None, Some(below)) => format!("below {below} ms"),
        (Some(from), Some(below)) => format!("{from} to {below} ms"),
        (Some(from), None) => format!("{from} ms and more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples;

    #[test]
    fn bands_have_names_and_parts_of_the_largest() {
        let bars = distribution(&samples::target());
        let names: Vec<&str> = bars.iter().map(|bar| &*bar.name).collect();
        let expected =
            ["below 0.1 ms", "0.1 to 1 ms", "1 to 10 ms", "10 to 100 ms", "100 ms and more"];
        assert_eq!(names, expected);
        let bars: Vec<_> = bars.iter().map(|bar| (&*bar.count, bar.percent)).collect();
        assert_eq!(bars, [("0", 0), ("8", 100), ("0", 0), ("0", 0), ("0", 0)]);
    }
}
