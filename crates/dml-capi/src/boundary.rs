//! Conversion of Rust's results to C: result codes, messages, and caught panics.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dml::HResult;

use crate::types::HRESULT;

/// Success.
pub(crate) const S_OK: HRESULT = 0;
/// Success with a caveat, which the function's documentation states.
pub(crate) const S_FALSE: HRESULT = 1;

/// Why a function fails.
#[derive(Debug)]
pub(crate) struct Failure {
    code: HResult,
    message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// An invalid argument `what`.
    pub(crate) fn invalid(what: impl Display, problem: impl Display) -> Self {
        Self { code: HResult::E_INVALIDARG, message: format!("{what}: {problem}") }
    }

    /// This failure, with `outer` in front of the message.
    pub(crate) fn inside(mut self, outer: impl Display) -> Self {
        self.message = format!("{outer}: {}", self.message);
        self
    }

    /// The message.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// A request `what` that is not supported.
    pub(crate) fn unsupported(what: impl Display, problem: impl Display) -> Self {
        Self { code: HResult::DXGI_ERROR_UNSUPPORTED, message: format!("{what}: {problem}") }
    }
}

impl From<dml::Error> for Failure {
    fn from(error: dml::Error) -> Self {
        Self { code: error.hresult(), message: error.to_string() }
    }
}

impl From<dml::core::Error> for Failure {
    fn from(error: dml::core::Error) -> Self {
        dml::Error::from(error).into()
    }
}

impl From<dml::vk::Error> for Failure {
    fn from(error: dml::vk::Error) -> Self {
        dml::Error::from(error).into()
    }
}

/// Runs the body of the function called `name`.
pub(crate) fn call(name: &str, body: impl FnOnce() -> Result<()>) -> HRESULT {
    call_for_code(name, || body().map(|()| S_OK))
}

/// Like [`call`], for a body with several success codes.
pub(crate) fn call_for_code(name: &str, body: impl FnOnce() -> Result<HRESULT>) -> HRESULT {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(code)) => code,
        Ok(Err(Failure { code, message })) => {
            remember(format!("{name}: {message}"));
            code.0.cast_signed()
        }
        Err(payload) => {
            // Dropping a payload may panic again.
            std::mem::forget(payload);
            remember(format!("{name}: internal error: a panic; please report it"));
            HResult::E_UNEXPECTED.0.cast_signed()
        }
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

fn remember(message: String) {
    // One line: names from the caller may contain control characters.
    let message = CString::new(message.replace(char::is_control, " ")).unwrap_or_default();
    // The thread-local storage may be destroyed already while a thread ends.
    let _ = MESSAGE.try_with(|last| *last.borrow_mut() = message);
}

/// The error message of the last failing call of this thread: one line that names the argument, the given
/// value and the accepted values. Empty before the first failure. Never null.
///
/// The text is UTF-8 and stays valid until the next failing call on the same thread.
#[unsafe(no_mangle)]
pub extern "C" fn dmlvk_last_message() -> *const c_char {
    MESSAGE.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn message() -> String {
        // SAFETY: the text is a C string of this thread.
        unsafe { CStr::from_ptr(dmlvk_last_message()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(call("f", || panic!("deliberate")).cast_unsigned(), 0x8000_FFFF);
        assert!(message().starts_with("f: internal error"));
    }

    #[test]
    fn messages_belong_to_their_thread_and_outlive_successes() {
        let fail = || call("f", || Err(Failure::invalid("desc", "null\0")));
        assert_eq!(fail().cast_unsigned(), 0x8007_0057);
        assert_eq!(call("g", || Ok(())), S_OK);
        assert_eq!(message(), "f: desc: null ");
        std::thread::spawn(|| assert_eq!(message(), "")).join().unwrap();
    }
}
