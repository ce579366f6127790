//! How the command ends.

use std::fmt;

/// Something was not as expected.
pub(crate) const FAILED: u8 = 1;
/// The command was not understood.
pub(crate) const WRONG_USAGE: u8 = 2;
/// There is no device to run on.
pub(crate) const NO_DEVICE: u8 = 3;

/// The command line asks for something that cannot be done.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// What a worker process could not do.
#[derive(Debug)]
pub(crate) struct WorkerError {
    /// The exit code that it wants.
    pub(crate) code: u8,
    /// Why.
    pub(crate) message: String,
}

impl fmt::Display for WorkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WorkerError {}

/// The exit code for an error that ended the command.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<WorkerError>() {
        return error.code;
    }
    if error.is::<Usage>() || error.is::<dml::profiles::Error>() {
        return WRONG_USAGE;
    }
    let vulkan = match error.downcast_ref::<dml::Error>() {
        Some(dml::Error::Profile(_)) => return WRONG_USAGE,
        Some(dml::Error::Vulkan(error)) => Some(error),
        _ => error.downcast_ref::<dml::vk::Error>(),
    };
    match vulkan {
        Some(dml::vk::Error::NoLoader { .. } | dml::vk::Error::NoDevice { .. }) => NO_DEVICE,
        Some(dml::vk::Error::InvalidArgument { .. }) => WRONG_USAGE,
        _ => FAILED,
    }
}
