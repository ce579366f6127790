//! Counting, and what the counts mean.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ResultCode;

/// How many cases ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    counts: [u64; ResultCode::ALL.len()],
}

impl Counts {
    /// Counts one more case.
    pub fn add(&mut self, result: ResultCode) {
        self.counts[result as usize] += 1;
    }

    /// Counts what `other` has counted too.
    pub fn merge(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
    }

    /// How many ended this way.
    pub fn of(&self, result: ResultCode) -> u64 {
        self.counts[result as usize]
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many failed.
    pub fn failures(&self) -> u64 {
        ResultCode::ALL.into_iter().filter(|it| it.is_failure()).map(|it| self.of(it)).sum()
    }

    /// What they say about the device.
    pub fn verdict(&self) -> Verdict {
        if self.failures() > 0 {
            Verdict::NotConformant
        } else if self.of(ResultCode::Pass) < self.all() || self.all() == 0 {
            Verdict::Incomplete
        } else {
            Verdict::Conformant
        }
    }
}

/// What the cases of a feature level say about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every case passed.
    Conformant,
    /// Nothing failed unexpectedly, but not every case passed: a limit of the device refused some,
    /// or expectations excuse some.
    Incomplete,
    /// Something failed.
    NotConformant,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conformant => "conformant",
            Self::Incomplete => "incomplete",
            Self::NotConformant => "not conformant",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(results: &[ResultCode]) -> Counts {
        let mut counts = Counts::default();
        results.iter().for_each(|result| counts.add(*result));
        counts
    }

    #[test]
    fn only_passes_are_conformant() {
        use ResultCode::{Crash, ExpectedFail, Fail, Pass, Timeout, UnexpectedPass, Unsupported};
        assert_eq!(counts(&[Pass, Pass]).verdict(), Verdict::Conformant);
        assert_eq!(counts(&[]).verdict(), Verdict::Incomplete);
        for excused in [Unsupported, ExpectedFail] {
            assert_eq!(counts(&[Pass, excused]).verdict(), Verdict::Incomplete);
        }
        for failure in [Fail, Crash, Timeout, UnexpectedPass] {
            assert_eq!(counts(&[Pass, Unsupported, failure]).verdict(), Verdict::NotConformant);
            assert_eq!(counts(&[Pass, failure]).failures(), 1);
        }
    }
}
