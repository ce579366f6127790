//! The outcomes of many draws.

use std::collections::BTreeMap;
use std::fmt;

use super::check::Outcome;

/// Counts of outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    drawn: u64,
    too_large: u64,
    bytes: u64,
    /// The number of equal results, by operator and strategy.
    equal: BTreeMap<(&'static str, &'static str), u64>,
    refused: BTreeMap<String, u64>,
    limits: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts one outcome.
    pub fn add(&mut self, outcome: Outcome) {
        self.drawn += 1;
        match outcome {
            Outcome::Equal { operator, strategy, bytes } => {
                *self.equal.entry((operator, strategy)).or_default() += 1;
                self.bytes += bytes;
            }
            Outcome::TooLarge => self.too_large += 1,
            Outcome::Refused(rule) => *self.refused.entry(rule).or_default() += 1,
            Outcome::Limit(limit) => *self.limits.entry(limit).or_default() += 1,
        }
    }

    /// The number of plans that were executed with the reference's bytes.
    pub fn executed(&self) -> u64 {
        self.equal.values().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, title: &str, count: u64| {
            writeln!(f, "{title:<52}{count:>12}")
        };
        line(f, "descriptors drawn", self.drawn)?;
        line(f, "executed, every byte as the reference has it", self.executed())?;
        for ((operator, strategy), count) in &self.equal {
            line(f, &format!("  {operator}, {strategy}"), *count)?;
        }
        line(f, "lowered, too large to be executed here", self.too_large)?;
        line(f, "refused by validation", self.refused.values().sum())?;
        for (rule, count) in &self.refused {
            line(f, &format!("  {rule}"), *count)?;
        }
        line(f, "refused by lowering", self.limits.values().sum())?;
        for (limit, count) in &self.limits {
            line(f, &format!("  {limit}"), *count)?;
        }
        write!(f, "{:<46}{:>18}", "bytes compared", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_by_kind() {
        let equal = Outcome::Equal { operator: "A", strategy: "fill", bytes: 7 };
        let refused = Outcome::Refused("Sizes".to_owned());
        let limit = Outcome::Limit("maxBufferSize");
        let mut tally = Tally::default();
        for outcome in [equal.clone(), refused, equal, Outcome::TooLarge, limit] {
            tally.add(outcome);
        }
        assert_eq!((tally.drawn, tally.executed(), tally.bytes), (5, 2, 14));
        let text = tally.to_string();
        for line in ["  A, fill", "  Sizes", "  maxBufferSize", "lowered, too large"] {
            assert!(text.contains(line), "{text}");
        }
    }
}
