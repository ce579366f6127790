//! The results of single cases.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dml_reference::MaximumError;
use serde::{Deserialize, Serialize};

use crate::cases::CaseId;

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The case's stable name.
    pub id: CaseId,
    /// The result code.
    pub result: ResultCode,
    /// Whether its outputs were computed, at its level or once for several levels at the lowest of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executed: bool,
    /// Whether at least one kernel was dispatched for its outputs. If it was executed without one, the host
    /// made all bytes, which shows nothing about the driver's compiler.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dispatched: bool,
    /// The reason, in a line, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The expectation by which it may fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// Details of a wrong output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// The wall-clock time, in microseconds.
    pub microseconds: u64,
    /// A digest of its outputs' elements, until devices are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
    /// The errors of its results, until the target's largest errors are known.
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
    /// The number of pipelines that the device made.
    pub pipelines: u64,
}

impl CaseKernels {
    /// Whether no kernel ran and no pipeline was made.
    pub fn is_empty(&self) -> bool {
        self.ran.is_empty() && self.pipelines == 0
    }
}

/// The stage that the execution of a case reached.
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
    /// The case had its required outcome.
    Pass,
    /// The case had another outcome.
    Fail,
    /// A limit of the device refused a legal case.
    Unsupported,
    /// The case did not pass, and an expectation says why.
    ExpectedFail,
    /// The case passed, though an expectation says that it does not.
    UnexpectedPass,
    /// The process that ran the case crashed.
    Crash,
    /// The case did not end in time.
    Timeout,
    /// The target cannot run the case.
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

    /// The code's name in reports.
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

    /// Whether this result makes the whole run fail.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::UnexpectedPass | Self::Crash | Self::Timeout)
    }
}

/// An expectation that applied to a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Whether it will ever pass.
    pub kind: ExpectedKind,
    /// The reason why it does not pass.
    pub reason: String,
}

/// Whether a case that fails will ever pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedKind {
    /// Never: the device or its driver cannot.
    Never,
    /// Not yet: a defect is to be fixed.
    NotYet,
}

/// Details of a case whose outputs were wrong.
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

/// A part of one matrix of an output, with the expected and the actual elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The index of the output.
    pub output: usize,
    /// The coordinates of the matrix in the leading dimensions.
    pub batch: Vec<u32>,
    /// The row of the first element that is shown.
    pub first_row: u32,
    /// The column of the first element that is shown.
    pub first_column: u32,
    /// The expected elements, row by row.
    pub expected: Vec<Vec<String>>,
    /// The actual elements, row by row.
    pub actual: Vec<Vec<String>>,
}

/// The maximum error of a case's outputs of one type; the [`LargestError`](super::LargestError)s of a target
/// count every case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseError {
    /// The outputs' type.
    pub data_type: String,
    /// The allowed error of an element against the reference, in units in the last place.
    pub allowed: u32,
    /// The largest error; `None` if an element has no distance, such as a NaN in place of a number.
    pub ulp: Option<u64>,
}

impl From<MaximumError> for CaseError {
    fn from(error: MaximumError) -> Self {
        let MaximumError { data_type, allowed, ulp } = error;
        Self { data_type: data_type.to_string(), allowed, ulp }
    }
}

impl CaseResult {
    /// The result of a case that has ended, or did not run, with the time since `since`.
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

    /// The stage that its execution reached.
    pub fn execution(&self) -> Execution {
        match (self.executed, self.dispatched) {
            (false, _) => Execution::NotExecuted,
            (true, false) => Execution::HostMade,
            (true, true) => Execution::Dispatched,
        }
    }
}
