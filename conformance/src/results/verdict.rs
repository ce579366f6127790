//! Counts of results, and the verdict on a device.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DeviceIdentity, Execution, Passes, ResultCode};

/// The number of cases with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    counts: [u64; ResultCode::ALL.len()],
    /// Cases whose outputs were computed.
    #[serde(default)]
    executed: u64,
    /// Executed cases that dispatched a kernel.
    #[serde(default)]
    dispatched: u64,
    /// Operators that must be executed and were not.
    #[serde(default)]
    missing: u64,
    /// Whether some of the cases ran on the host interpreter.
    #[serde(default)]
    interpreted: bool,
}

impl Counts {
    /// No counts yet, of cases on `device`.
    pub fn on(device: &DeviceIdentity) -> Self {
        Self { interpreted: device.is_interpreter(), ..Self::default() }
    }

    /// Counts one more case, and the stage that its execution reached.
    pub fn add(&mut self, result: ResultCode, execution: Execution) {
        self.counts[result as usize] += 1;
        self.executed += u64::from(execution != Execution::NotExecuted);
        self.dispatched += u64::from(execution == Execution::Dispatched);
    }

    /// Counts cases that passed, in this many places.
    pub(crate) fn passed(&mut self, passes: &Passes, places: u64) {
        self.counts[ResultCode::Pass as usize] += places * passes.cases;
        self.executed += places * passes.executed;
        self.dispatched += places * passes.dispatched;
    }

    /// Sets the number of operators that must be executed and were not.
    pub(crate) fn required_and_not_executed(&mut self, operators: u64) {
        self.missing = operators;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.executed += other.executed;
        self.dispatched += other.dispatched;
        self.missing += other.missing;
        self.interpreted |= other.interpreted;
    }

    /// The number of cases with this result.
    pub fn of(&self, result: ResultCode) -> u64 {
        self.counts[result as usize]
    }

    /// Cases whose outputs were computed, at their level or once for several levels at the lowest of them.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Executed cases that dispatched at least one kernel.
    pub fn dispatched(&self) -> u64 {
        self.dispatched
    }

    /// Executed cases whose bytes the host made: no evidence about the driver.
    pub fn host_made(&self) -> u64 {
        self.executed.saturating_sub(self.dispatched)
    }

    /// Operators that must be executed and were not; over all targets, each counts on each.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// The number of all cases.
    pub fn all(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The number of failures.
    pub fn failures(&self) -> u64 {
        ResultCode::ALL.into_iter().filter(|it| it.is_failure()).map(|it| self.of(it)).sum()
    }

    /// The verdict on the device.
    pub fn verdict(&self) -> Verdict {
        let passed = self.of(ResultCode::Pass);
        let ran = self.all() - self.of(ResultCode::NotRun);
        if self.failures() > 0 {
            Verdict::NotConformant
        } else if passed == 0 || passed < ran || self.missing > 0 {
            Verdict::Incomplete
        } else if self.executed == 0 {
            Verdict::NotExecuted
        } else if self.interpreted {
            Verdict::PlansVerified
        } else if ran < self.all() {
            Verdict::Incomplete
        } else {
            Verdict::Conformant
        }
    }
}

/// The verdict of a feature level's cases on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every case passed, on a device.
    Conformant,
    /// Every case that the host interpreter can run passed: the plans are right. No driver ran, and no kernel
    /// in SPIR-V.
    PlansVerified,
    /// Every case passed, but each of them requires a refusal: nothing is known about results.
    NotExecuted,
    /// Nothing failed unexpectedly, but not every case passed: a limit of the device refused some, or
    /// expectations excuse some. Or an operator that must be executed has no executed case.
    Incomplete,
    /// A case failed.
    NotConformant,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conformant => "conformant",
            Self::PlansVerified => "plans verified",
            Self::NotExecuted => "not executed",
            Self::Incomplete => "incomplete",
            Self::NotConformant => "not conformant",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ResultCode::{
        Crash, ExpectedFail, Fail, NotRun, Pass, Timeout, UnexpectedPass, Unsupported,
    };

    fn counts(results: &[ResultCode]) -> Counts {
        counted(Counts::default(), results)
    }

    fn counted(mut counts: Counts, results: &[ResultCode]) -> Counts {
        let execution = |result| match result {
            Pass => Execution::Dispatched,
            _ => Execution::NotExecuted,
        };
        results.iter().for_each(|result| counts.add(*result, execution(*result)));
        counts
    }

    #[test]
    fn only_passes_are_conformant() {
        assert_eq!(counts(&[Pass, Pass]).verdict(), Verdict::Conformant);
        assert_eq!(counts(&[]).verdict(), Verdict::Incomplete);
        for excused in [Unsupported, ExpectedFail] {
            assert_eq!(counts(&[Pass, excused]).verdict(), Verdict::Incomplete);
        }
        for failure in [Fail, Crash, Timeout, UnexpectedPass] {
            assert_eq!(counts(&[Pass, Unsupported, failure]).verdict(), Verdict::NotConformant);
            assert_eq!(counts(&[Pass, failure]).failures(), 1);
        }
        assert_eq!(counts(&[Pass, NotRun]).verdict(), Verdict::Incomplete);
    }

    #[test]
    fn refusals_alone_are_not_conformant() {
        let mut refusals = Counts::default();
        (0..5).for_each(|_| refusals.add(Pass, Execution::NotExecuted));
        assert_eq!(refusals.verdict(), Verdict::NotExecuted);
        refusals.merge(counts(&[Pass]));
        assert_eq!((refusals.verdict(), refusals.executed()), (Verdict::Conformant, 1));
        refusals.required_and_not_executed(1);
        assert_eq!(refusals.verdict(), Verdict::Incomplete);
    }

    #[test]
    fn cases_that_the_host_made_are_counted_apart_and_make_the_verdict_no_worse() {
        let mut counts = Counts::default();
        counts.add(Pass, Execution::HostMade);
        counts.add(Pass, Execution::NotExecuted);
        assert_eq!((counts.executed(), counts.dispatched(), counts.host_made()), (1, 0, 1));
        assert_eq!(counts.verdict(), Verdict::Conformant);
        counts.merge(counted(Counts::default(), &[Pass, Pass]));
        assert_eq!((counts.executed(), counts.dispatched(), counts.host_made()), (3, 2, 1));
    }

    #[test]
    fn the_interpreter_verifies_plans_and_is_never_conformant() {
        let mut device = crate::results::samples::target().device;
        device.kind = DeviceIdentity::INTERPRETER.to_owned();
        let verdict = |results: &[_]| counted(Counts::on(&device), results).verdict();
        assert_eq!(verdict(&[Pass, Pass]), Verdict::PlansVerified);
        assert_eq!(verdict(&[Pass, NotRun]), Verdict::PlansVerified);
        assert_eq!(verdict(&[NotRun, NotRun]), Verdict::Incomplete);
        assert_eq!(verdict(&[Pass, NotRun, Unsupported]), Verdict::Incomplete);
        assert_eq!(verdict(&[Pass, NotRun, Fail]), Verdict::NotConformant);
        let mut both = counts(&[Pass]);
        both.merge(counted(Counts::on(&device), &[Pass]));
        assert_eq!(both.verdict(), Verdict::PlansVerified);
    }
}
