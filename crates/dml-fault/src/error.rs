//! The errors of plain calls.

use dml_vk::ash::prelude::VkResult;
use dml_vk::{Error, Result};

/// Names the call in the error of a plain call, which is never part of what is tested.
pub(crate) trait Call<T> {
    fn call(self, call: &'static str) -> Result<T>;
}

impl<T> Call<T> for VkResult<T> {
    fn call(self, call: &'static str) -> Result<T> {
        self.map_err(|result| Error::Vulkan { call, result })
    }
}

pub(crate) fn invalid(argument: &str, problem: impl Into<String>) -> Error {
    Error::InvalidArgument { argument: argument.to_owned(), problem: problem.into() }
}

pub(crate) fn lacking(what: &str, lacking: &str) -> Error {
    Error::Unsupported { what: what.to_owned(), lacking: lacking.to_owned() }
}

pub(crate) fn internal(problem: &str) -> Error {
    Error::Internal { problem: problem.to_owned() }
}
