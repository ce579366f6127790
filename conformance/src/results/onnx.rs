//! The outcomes of tests of models: ONNX's and WebNN's.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every output is right.
    Passed,
    /// An output is wrong.
    Wrong,
    /// There is no output: the device failed, or the process crashed or hung.
    Failed,
    /// The importer or the device refuses the model, or the test is of a kind that is not run here.
    NotRun,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 4] = [Self::Passed, Self::Wrong, Self::Failed, Self::NotRun];

    /// Whether an output is wrong, or missing although there must be one.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Wrong | Self::Failed)
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Wrong => "wrong",
            Self::Failed => "failed",
            Self::NotRun => "not run",
        }
    }
}

/// An outcome, and its reason unless it passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The errors of outputs, if the test states how large they may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
}

/// The largest error of floats, and the allowed one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// The error in units in the last place.
    pub ulp: u64,
    /// The allowed error in units in the last place.
    pub allowed_ulp: u64,
    /// The absolute difference.
    pub difference: f64,
    /// The allowed absolute difference, whatever the units.
    pub allowed_difference: f64,
}

impl Distance {
    /// The used part of the allowed error: of units if some are allowed, else of the difference.
    #[expect(clippy::cast_precision_loss, reason = "it is for comparing")]
    fn part(&self) -> f64 {
        match self.allowed_ulp {
            0 if self.allowed_difference > 0.0 => self.difference / self.allowed_difference,
            0 => 0.0,
            allowed => self.ulp as f64 / allowed as f64,
        }
    }

    /// The one that is nearer to its limit.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if (other.part(), other.allowed_ulp) > (self.part(), self.allowed_ulp) {
            other
        } else {
            self
        }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.allowed_ulp {
            0 if self.allowed_difference > 0.0 => {
                write!(f, "{:.1e} of {:.1e}", self.difference, self.allowed_difference)
            }
            allowed => write!(f, "{} of {allowed} ULP", self.ulp),
        }
    }
}

impl Ended {
    /// An outcome with a reason.
    pub(crate) fn because(outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { outcome, detail: Some(detail.into()), distance: None }
    }

    /// The outcome of a test whose outputs are all right.
    pub(crate) fn passed(distance: Option<Distance>) -> Self {
        Self { outcome: Outcome::Passed, detail: None, distance }
    }
}

/// The outcomes of the tests on one target.
#[derive(Debug)]
pub struct TargetResults {
    /// The names of the device and its profile.
    pub title: String,
    /// The wall-clock time in seconds.
    pub seconds: f64,
    /// One entry for each test, in the order of tests.
    pub ended: Vec<Ended>,
}
