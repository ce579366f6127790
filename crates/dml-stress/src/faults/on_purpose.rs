//! Crashes and hangs on purpose, to test the workers' isolation.

use std::sync::{Mutex, PoisonError};

use dml_conformance::fault::hang;
use dml_file::eprintln;

/// `KIND:GLOB`, where the glob matches the injected fault. For tests only.
pub(crate) const VARIABLE: &str = "DML_STRESS_TEST_FAULT";

/// The kinds of accidents.
pub(crate) const ACCIDENTS: [&str; 5] =
    ["abort", "hang", "abort-inside", "hang-inside", "panic-inside"];

/// The accident in the next call that reaches a driver.
static NEXT: Mutex<Option<&'static str>> = Mutex::new(None);

/// Crashes or hangs at once, or arms an accident for the next call that reaches a driver.
pub(crate) fn strike(accident: &'static str, what: &str) {
    eprintln!("{VARIABLE}: on purpose at {what}");
    match accident {
        "abort" => std::process::abort(),
        "hang" => hang(),
        inside => *next() = Some(inside),
    }
}

/// An accident in a driver, or in this project's code that a driver called.
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
