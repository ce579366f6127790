//! How single cases end.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dml_reference::MaximumError;
use serde::{Deserialize, Serialize};

use crate::cases::CaseId;

/// How one case ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The case's stable name.
    pub id: CaseId,
    /// How it ended.
    pub result: ResultCode,
    /// Whether its outputs were computed, at its level or once for several at the lowest of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executed: bool,
    /// Whether at least one kernel was dispatched for its outputs. Where it was executed without, the host
    /// made all bytes, which says nothing about the driver's compiler.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dispatched: bool,
    /// Why, in a line, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why it is expected to fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// What is known about a wrong output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// Wall clock, in microseconds.
    pub microseconds: u64,
    /// What stands for the elements of its outputs until devices are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
    /// How far its results are from what they must be, until the target's largest errors are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<CaseError>,
    /// The kernels that ran for it and the pipelines that were made, until they are counted for its
    /// operator.
    #[serde(default, skip_serializing_if = "CaseKernels::is_empty")]
    pub kernels: CaseKernels,
}

/// The kernels that ran for one case, and the pipelines that were made meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseKernels {
    /// A number for each kernel, the same in every process.
    pub ran: BTreeSet<u64>,
    /// How many pipelines the device made.
    pub pipelines: u64,
}

impl CaseKernels {
    /// Whether no kernel ran and no pipeline was made.
    pub fn is_empty(&self) -> bool {
        self.ran.is_empty() && self.pipelines == 0
    }
}

/// How far the execution of a case went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// No outputs were computed.
    NotExecuted,
    /// The outputs were computed without a kernel, by fills, updates and copies.
    HostMade,
    /// At least one kernel was dispatched.
    Dispatched,
}

/// How a case ended, or that it did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultCode {
    /// What had to happen happened.
    Pass,
    /// Something else happened.
    Fail,
    /// A limit of the device refused a legal case.
    Unsupported,
    /// It did not pass, and an expectation says why.
    ExpectedFail,
    /// It passed, though an expectation says that it does not.
    UnexpectedPass,
    /// The process that ran it ended.
    Crash,
    /// It did not end in time.
    Timeout,
    /// The target cannot run it.
    NotRun,
}

impl ResultCode {
    /// All codes.
    pub const ALL: [Self; 8] = [
        Self::Pass,
        Self::Fail,
        Self::Unsupported,
        Self::ExpectedFail,
        Self::UnexpectedPass,
        Self::Crash,
        Self::Timeout,
        Self::NotRun,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unsupported => "unsupported",
            Self::ExpectedFail => "expected-fail",
            Self::UnexpectedPass => "unexpected-pass",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::NotRun => "not-run",
        }
    }

    /// Whether the run as a whole has failed with it.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::UnexpectedPass | Self::Crash | Self::Timeout)
    }
}

/// An expectation that applied to a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Whether it will ever pass.
    pub kind: ExpectedKind,
    /// Why it does not.
    pub reason: String,
}

/// Whether a case that fails will ever pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedKind {
    /// The device or its driver cannot.
    Never,
    /// Something is to be mended.
    NotYet,
}

/// What is known about a case whose outputs were wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The operator's fields.
    pub descriptor: String,
    /// The plan's steps.
    pub plan: String,
    /// The surroundings of the first wrong element; `None` where no element is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrices: Option<Excerpt>,
}

/// A part of one matrix of an output, as it must be and as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// Which output.
    pub output: usize,
    /// The coordinates of the matrix in the leading dimensions.
    pub batch: Vec<u32>,
    /// The row of the first element that is shown.
    pub first_row: u32,
    /// The column of the first element that is shown.
    pub first_column: u32,
    /// Rows of elements as they must be.
    pub expected: Vec<Vec<String>>,
    /// The same elements as they are.
    pub actual: Vec<Vec<String>>,
}

/// The maximum error of a case's outputs of one type; every case of a target is counted in its
/// [`LargestError`](super::LargestError)s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseError {
    /// The outputs' type.
    pub data_type: String,
    /// How far elements may be from the reference's, in units in the last place.
    pub allowed: u32,
    /// How far the farthest is; `None` where one has no distance, such as a NaN in the place of a number.
    pub ulp: Option<u64>,
}

impl From<MaximumError> for CaseError {
    fn from(error: MaximumError) -> Self {
        let MaximumError { data_type, allowed, ulp } = error;
        Self { data_type: data_type.to_string(), allowed, ulp }
    }
}

impl CaseResult {
    /// Of a case that has ended, or did not run, and took the time `since` then.
    pub(crate) fn new(
        id: &CaseId,
        result: ResultCode,
        detail: Option<String>,
        since: Option<Instant>,
    ) -> Self {
        let time = since.map_or(Duration::ZERO, |since| since.elapsed());
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            id: id.clone(),
            result,
            executed: false,
            dispatched: false,
            detail,
            expected: None,
            failure: None,
            microseconds,
            digest: None,
            errors: vec![],
            kernels: CaseKernels::default(),
        }
    }

    /// How far its execution went.
    pub fn execution(&self) -> Execution {
        match (self.executed, self.dispatched) {
            (false, _) => Execution::NotExecuted,
            (true, false) => Execution::HostMade,
            (true, true) => Execution::Dispatched,
        }
    }
}
