//! Calls of ONNX Runtime's functions, with statuses converted to results and C strings to text.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use crate::abi::{
    API_VERSION, OrtApi, OrtApiBase, OrtEpApi, OrtKeyValuePairs, OrtLogger, OrtSessionOptions,
    Status,
};
use crate::boundary::{Code, Failure, Result};

/// The host's functions. They live as long as the host's library, which unloads this one first.
#[derive(Clone, Copy)]
pub(crate) struct Api {
    pub(crate) ort: &'static OrtApi,
    pub(crate) ep: &'static OrtEpApi,
}

impl Api {
    /// The functions of a host.
    ///
    /// # Errors
    /// The host does not have the required version: a message with its version.
    ///
    /// # Safety
    ///
    /// `base` is the host's, or null.
    pub(crate) unsafe fn of(base: *const OrtApiBase) -> std::result::Result<Self, String> {
        // SAFETY: the caller's promise.
        let base = unsafe { base.as_ref() }.ok_or("ONNX Runtime gave no OrtApiBase")?;
        // SAFETY: the function takes nothing and answers a string of the library.
        let version = unsafe { (base.GetVersionString)() };
        // SAFETY: as above.
        let version = unsafe { text(version) };
        // A host prints a message if it is asked for an unknown version, so older hosts are not asked.
        let minor = version.split('.').nth(1).and_then(|it| it.parse::<u32>().ok());
        if version.starts_with("1.") && minor.is_some_and(|minor| minor < API_VERSION) {
            return Err(format!(
                "ONNX Runtime {version} is too old for this execution provider (accepted: 1.{API_VERSION} and later)"
            ));
        }
        // SAFETY: any version may be asked for.
        let ort = unsafe { (base.GetApi)(API_VERSION) };
        // SAFETY: null, or the table of a version that has all of these functions.
        let ort = unsafe { ort.as_ref() }.ok_or_else(|| {
            format!("ONNX Runtime {version} has no version {API_VERSION} of its interface")
        })?;
        // SAFETY: the function takes nothing.
        let ep = unsafe { ort.GetEpApi()() };
        // SAFETY: null, or the table of a version that has all of these functions.
        let ep = unsafe { ep.as_ref() }
            .ok_or_else(|| format!("ONNX Runtime {version} has no functions for providers"))?;
        Ok(Self { ort, ep })
    }

    /// The value that the function `call` writes, if its status is success.
    pub(crate) fn get<T>(self, initial: T, call: impl FnOnce(*mut T) -> Status) -> Result<T> {
        let mut value = initial;
        self.check(call(&raw mut value))?;
        Ok(value)
    }

    /// A list whose length one function gives, and which another writes.
    pub(crate) fn list<T: Copy>(
        self,
        initial: T,
        count: impl FnOnce(*mut usize) -> Status,
        fill: impl FnOnce(*mut T, usize) -> Status,
    ) -> Result<Vec<T>> {
        let mut all = vec![initial; self.get(0, count)?];
        self.check(fill(all.as_mut_ptr(), all.len()))?;
        Ok(all)
    }

    /// Converts a function's status to a result.
    pub(crate) fn check(self, status: Status) -> Result<()> {
        if status.is_null() {
            return Ok(());
        }
        // SAFETY: a status that was just given, and is released below.
        let message = unsafe { self.ort.GetErrorMessage()(status) };
        // SAFETY: the message is a string of the status.
        let message = unsafe { text(message) };
        // SAFETY: this function owns the status, and uses it no more.
        unsafe { self.ort.ReleaseStatus()(status) };
        Err(Failure::new(Code::Fail, format!("ONNX Runtime: {message}")))
    }

    /// All entries of the options of a session.
    ///
    /// # Safety
    ///
    /// `options` are a session's.
    pub(crate) unsafe fn session_entries(
        self,
        options: *const OrtSessionOptions,
    ) -> Result<Vec<(String, String)>> {
        let pairs = self.get(ptr::null_mut(), |out| {
            // SAFETY: the caller's promise.
            unsafe { self.ort.GetSessionOptionsConfigEntries()(options, out) }
        })?;
        let pairs = Pairs { api: self, raw: pairs };
        // SAFETY: they were just given.
        Ok(unsafe { self.entries(pairs.raw) })
    }

    /// The entries of a list of pairs.
    ///
    /// # Safety
    ///
    /// `pairs` are null or alive.
    pub(crate) unsafe fn entries(self, pairs: *const OrtKeyValuePairs) -> Vec<(String, String)> {
        if pairs.is_null() {
            return vec![];
        }
        let (mut keys, mut values, mut count) = (ptr::null(), ptr::null(), 0);
        // SAFETY: the caller's promise.
        unsafe {
            self.ort.GetKeyValuePairs()(pairs, &raw mut keys, &raw mut values, &raw mut count);
        }
        // SAFETY: the list has so many entries.
        let keys = unsafe { slice(keys, count) };
        // SAFETY: as above.
        let values = unsafe { slice(values, count) };
        // SAFETY: both have strings, which live as long as the pairs.
        let entry = |(key, value): (&_, &_)| [*key, *value].map(|it| unsafe { text(it) });
        keys.iter().zip(values).map(entry).map(|[key, value]| (key, value)).collect()
    }

    /// Pairs of texts.
    pub(crate) fn pairs(self, entries: &[(&str, &str)]) -> Pairs {
        let mut raw = ptr::null_mut();
        // SAFETY: the place is this function's.
        unsafe { self.ort.CreateKeyValuePairs()(&raw mut raw) };
        for (key, value) in entries {
            let [key, value] = [key, value].map(|it| CString::new(*it).unwrap_or_default());
            // SAFETY: the pairs were just made; both texts are copied.
            unsafe { self.ort.AddKeyValuePair()(raw, key.as_ptr(), value.as_ptr()) };
        }
        Pairs { api: self, raw }
    }
}

/// Pairs of texts that are released when they are dropped.
pub(crate) struct Pairs {
    api: Api,
    pub(crate) raw: *mut OrtKeyValuePairs,
}

impl Drop for Pairs {
    fn drop(&mut self) {
        // SAFETY: they are this object's, and nothing uses them after it.
        unsafe { self.api.ort.ReleaseKeyValuePairs()(self.raw) };
    }
}

/// The text of a C string; empty if it is null.
///
/// # Safety
///
/// `pointer` is null or a string.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// The entries of a list.
///
/// # Safety
///
/// `pointer` has `count` entries as long as the result is used, or `count` is 0.
pub(crate) unsafe fn slice<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if count == 0 || pointer.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

/// ONNX Runtime's log, for a session or for all sessions.
#[derive(Clone, Copy)]
pub(crate) struct Logger {
    api: Api,
    raw: *const OrtLogger,
}

// SAFETY: ONNX Runtime's loggers may be used on any thread.
unsafe impl Send for Logger {}
// SAFETY: as above.
unsafe impl Sync for Logger {}

impl Logger {
    /// # Safety
    ///
    /// `raw` is null, or lives as long as this is used.
    pub(crate) unsafe fn new(api: Api, raw: *const OrtLogger) -> Self {
        Self { api, raw }
    }

    /// Logs one line. A failure of the logger is ignored.
    pub(crate) fn log(&self, severity: c_int, message: &str) {
        if self.raw.is_null() {
            return;
        }
        let message = CString::new(format!("dmlvk: {message}")).unwrap_or_default();
        // SAFETY: the logger is alive, the texts are copied.
        let status = unsafe {
            self.api.ort.Logger_LogMessage()(
                self.raw,
                severity,
                message.as_ptr(),
                c"dml-ort".as_ptr(),
                0,
                c"dmlvk".as_ptr(),
            )
        };
        let _ = self.api.check(status);
    }
}
