//! What the sweep and its worker processes say to each other.
//!
//! The sweep writes one request as a line of JSON, then one order after the other, each when the last
//! one was answered.

use serde::{Deserialize, Serialize};

/// What fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A call, which does not reach the driver.
    #[default]
    Call,
    /// A host allocation inside of a call.
    HostAllocation,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::HostAllocation => "host allocation",
        }
    }
}

/// The first line that a worker reads.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Tell what there is.
    Survey,
    /// Run a scenario, once without a fault and then as ordered.
    Open {
        /// The device's name.
        device: String,
        scenario: String,
        kind: Kind,
        /// Whether to tell of every call that reaches a layer or driver.
        watched: bool,
    },
}

/// A fault to inject.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Of the call or the host allocation, from 1.
    pub(crate) number: usize,
    /// The VkResult of a call.
    pub(crate) result: Option<i32>,
    /// The same in words.
    pub(crate) what: String,
}

/// What a worker answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// To [`Request::Survey`].
    Survey { devices: Vec<Device>, layer: Option<String> },
    /// The run without a fault has succeeded: the calls, and the calls in which there were host
    /// allocations.
    Ready { calls: Vec<String>, allocations: Vec<String> },
    /// The call that the process is inside of now.
    Inside(Option<String>),
    /// To an order.
    Done(Answer),
}

/// A device as findings name it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// The driver's name and version.
    pub(crate) driver: String,
}

/// What came of a fault.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// It became a typed error.
    Refused,
    /// It was made up for.
    Tolerated,
    /// A promise was broken: which.
    Broken(String),
}
