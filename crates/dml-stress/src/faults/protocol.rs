//! The messages between the sweep and its worker processes.
//!
//! The sweep writes one request as a line of JSON, then orders, each after the answer to the one before.

use serde::{Deserialize, Serialize};

/// The kind of a fault.
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

/// The first line that a worker reads: its request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Report the devices and the layer.
    Survey,
    /// Run a scenario: first without a fault, then with the faults that are ordered.
    Open {
        /// The device's name.
        device: String,
        scenario: String,
        kind: Kind,
        /// Whether to report every call that reaches a layer or driver.
        watched: bool,
    },
}

/// An order to inject a fault.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The number of the call or of the host allocation, from 1.
    pub(crate) number: usize,
    /// The VkResult of a call.
    pub(crate) result: Option<i32>,
    /// A description of the fault.
    pub(crate) what: String,
}

/// A worker's reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// The reply to [`Request::Survey`].
    Survey { devices: Vec<Device>, layer: Option<String> },
    /// The run without a fault has succeeded: the calls, and the calls in which there were host
    /// allocations.
    Ready { calls: Vec<String>, allocations: Vec<String> },
    /// The call that the process is inside of at this moment.
    Inside(Option<String>),
    /// The answer to an order.
    Done(Answer),
}

/// A device as findings name it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// The driver's name and version.
    pub(crate) driver: String,
}

/// The outcome of a fault.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// The fault became a typed error.
    Refused,
    /// The fault was worked around.
    Tolerated,
    /// The fault broke this promise.
    Broken(String),
}
