//! How tests of ONNX end.

use serde::{Deserialize, Serialize};

/// How a test has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every answer is ONNX's.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// Why, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Ended {
    /// With a reason.
    pub(crate) fn because(outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { outcome, detail: Some(detail.into()) }
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
