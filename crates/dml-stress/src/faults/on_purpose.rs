//! Accidents on purpose, for the tests of the workers' isolation.

use std::sync::{Mutex, PoisonError};

use dml_conformance::fault::hang;
use dml_file::eprintln;

/// `KIND:GLOB`, where the glob is over what is injected. For tests only.
pub(crate) const VARIABLE: &str = "DML_STRESS_TEST_FAULT";

/// What can happen.
pub(crate) const ACCIDENTS: [&str; 5] =
    ["abort", "hang", "abort-inside", "hang-inside", "panic-inside"];

/// What happens in the next call that reaches a driver.
static NEXT: Mutex<Option<&'static str>> = Mutex::new(None);

/// Does not return, or lets it happen in the next call that reaches a driver.
pub(crate) fn strike(accident: &'static str, what: &str) {
    eprintln!("{VARIABLE}: on purpose at {what}");
    match accident {
        "abort" => std::process::abort(),
        "hang" => hang(),
        inside => *next() = Some(inside),
    }
}

/// A driver's accident, or one of ours that a driver called.
pub(crate) fn strike_inside(call: Option<&'static str>) {
    match call.and_then(|_| next().take()) {
        None => {}
        Some("panic-inside") => panic!("on purpose"),
        Some("hang-inside") => hang(),
        Some(_) => std::process::abort(),
    }
}

fn next() -> std::sync::MutexGuard<'static, Option<&'static str>> {
    NEXT.lock().unwrap_or_else(PoisonError::into_inner)
}
