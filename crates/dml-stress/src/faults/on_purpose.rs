//! Accidents on purpose, for the tests of the workers' isolation.

use std::sync::{Mutex, PoisonError};

use dml_conformance::fault::{Fault, hang};

/// `KIND:GLOB`, where the glob is over what is injected. For tests only.
const VARIABLE: &str = "DML_STRESS_TEST_FAULT";

/// What happens in the next call that reaches a driver.
static NEXT: Mutex<Option<Accident>> = Mutex::new(None);

#[derive(Clone, Copy)]
enum Accident {
    Abort,
    Hang,
    AbortInside,
    HangInside,
    PanicInside,
}

const ACCIDENTS: [(&str, Accident); 5] = [
    ("abort", Accident::Abort),
    ("hang", Accident::Hang),
    ("abort-inside", Accident::AbortInside),
    ("hang-inside", Accident::HangInside),
    ("panic-inside", Accident::PanicInside),
];

/// What is to happen, and where.
pub(crate) struct OnPurpose(Fault<Accident>);

impl OnPurpose {
    /// What [`VARIABLE`] says.
    pub(crate) fn from_environment() -> anyhow::Result<Option<Self>> {
        Ok(Fault::from_environment(VARIABLE, &ACCIDENTS)?.map(Self))
    }

    /// Does not return where something is to happen with the fault, or lets it happen in the next call
    /// that reaches a driver.
    pub(crate) fn strike(&self, what: &str) {
        let Some(accident) = self.0.at(what) else { return };
        eprintln!("{VARIABLE}: on purpose at {what}");
        match accident {
            Accident::Abort => std::process::abort(),
            Accident::Hang => hang(),
            inside => *next() = Some(inside),
        }
    }
}

/// A driver's accident, or one of ours that a driver called.
pub(crate) fn strike_inside(call: Option<&'static str>) {
    match call.and_then(|_| next().take()) {
        None => {}
        Some(Accident::PanicInside) => panic!("on purpose"),
        Some(Accident::HangInside) => hang(),
        Some(_) => std::process::abort(),
    }
}

fn next() -> std::sync::MutexGuard<'static, Option<Accident>> {
    NEXT.lock().unwrap_or_else(PoisonError::into_inner)
}
