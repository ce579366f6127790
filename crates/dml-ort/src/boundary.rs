//! Conversion of Rust's results to ONNX Runtime's: codes, messages, and caught panics.

use std::ffi::{CString, c_int};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::abi::{CreateStatus, OrtApi, Status};
use crate::process::{self, Forked};

/// OrtErrorCode. ORT_EP_FAIL is left out, because Python reacts to it by running on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    Fail = 1,
    InvalidArgument = 2,
    Engine = 5,
    NotImplemented = 9,
}

/// Why a function fails.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: Code, message: impl Display) -> Self {
        // One line: names may contain control characters.
        Self { code, message: message.to_string().replace(char::is_control, " ") }
    }

    pub(crate) fn invalid(message: impl Display) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// The failure with the name of what it is about.
    pub(crate) fn within(self, name: &str) -> Self {
        Self { message: format!("{name}: {}", self.message), ..self }
    }

    /// The message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The status for ONNX Runtime.
    pub(crate) fn status(self, ort: &OrtApi) -> Status {
        self.status_by(ort.CreateStatus())
    }

    /// The status for a host of which only the function `create` is known.
    pub(crate) fn status_by(self, create: CreateStatus) -> Status {
        let message = CString::new(format!("dmlvk: {}", self.message)).unwrap_or_default();
        // SAFETY: the text is copied, the code is one of OrtErrorCode.
        unsafe { create(self.code as c_int, message.as_ptr()) }
    }
}

impl From<Forked> for Failure {
    fn from(forked: Forked) -> Self {
        Self::new(Code::Fail, forked)
    }
}

impl From<dml::Error> for Failure {
    fn from(error: dml::Error) -> Self {
        let code = match error {
            dml::Error::Vulkan(
                dml::vk::Error::InvalidArgument { .. } | dml::vk::Error::DeviceSelection { .. },
            )
            | dml::Error::Profile(_)
            | dml::Error::Environment { .. } => Code::InvalidArgument,
            _ => Code::Engine,
        };
        Self::new(code, error)
    }
}

impl From<dml_import::Error> for Failure {
    fn from(error: dml_import::Error) -> Self {
        use dml_import::Error as Import;
        let code = match error.kind() {
            Import::Device { .. } => Code::Engine,
            Import::NotSupported { .. } | Import::Operator { .. } => Code::NotImplemented,
            Import::Invalid(_)
            | Import::Input(_)
            | Import::UnknownInput { .. }
            | Import::Missing { .. } => Code::InvalidArgument,
            _ => Code::Fail,
        };
        Self::new(code, error)
    }
}

/// Runs the body of the function called `name`.
pub(crate) fn call(ort: &OrtApi, name: &str, body: impl FnOnce() -> Result<()>) -> Status {
    match guarded(name, body) {
        Ok(()) => ptr::null_mut(),
        Err(failure) => failure.status(ort),
    }
}

/// Runs the body of the function called `name`, which releases an object; errors are ignored. In a forked
/// process nothing is released: the driver would wait for threads that only its parent has.
pub(crate) fn release(name: &str, body: impl FnOnce()) {
    if process::is_forked() {
        std::mem::forget(body);
        return;
    }
    let _ = guarded(name, || {
        body();
        Ok(())
    });
}

/// The body's result, or an error if it panicked.
pub(crate) fn guarded<T>(name: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        // Dropping a payload may panic again.
        std::mem::forget(payload);
        let message = format!("{name}: internal error: a panic; please report it");
        Err(Failure::new(Code::Fail, message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_failure() {
        let failure = guarded("Compute", || -> Result<()> { panic!("deliberate") }).unwrap_err();
        assert_eq!(failure.code, Code::Fail);
        assert!(failure.message().starts_with("Compute: internal error"));
        assert_eq!(guarded("Compute", || Ok(3)).unwrap(), 3);
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(Failure::invalid("a\nb").message(), "a b");
    }
}
