//! How tests of models end: those of ONNX, and those of WebNN.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a test has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every answer is the right one.
    Passed,
    /// An answer is not.
    Wrong,
    /// There is no answer: the device failed, or the process crashed or hung.
    Failed,
    /// The importer or the device refuses the model, or what the test does is not tested here.
    NotRun,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Passed, Self::Wrong, Self::Failed, Self::NotRun];

    /// Whether an answer is wrong, or missing where there has to be one.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Wrong | Self::Failed)
    }

    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Wrong => "wrong",
            Self::Failed => "failed",
            Self::NotRun => "not run",
        }
    }
}

/// An outcome, and why unless it passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// Why, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How far answers were from what was expected, where tests say how far they may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
}

/// The largest distance of floats from what was expected, and what is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// In units of the last place.
    pub ulp: u64,
    /// Of these so many are allowed.
    pub allowed_ulp: u64,
    /// As a difference.
    pub difference: f64,
    /// A difference up to this is allowed, whatever the units.
    pub allowed_difference: f64,
}

impl Distance {
    /// The part of what is allowed: of units where some are, else of the difference.
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
    /// With a reason.
    pub(crate) fn because(outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { outcome, detail: Some(detail.into()), distance: None }
    }

    /// With every answer.
    pub(crate) fn passed(distance: Option<Distance>) -> Self {
        Self { outcome: Outcome::Passed, detail: None, distance }
    }
}

/// How the tests have ended on one target.
#[derive(Debug)]
pub struct TargetResults {
    /// The names of the device and its profile.
    pub title: String,
    /// Wall clock.
    pub seconds: f64,
    /// An entry for each test, in their order.
    pub ended: Vec<Ended>,
}
