//! Accidents on purpose, for the tests of the workers' isolation.

use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use globset::{Glob, GlobMatcher};

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
pub(crate) struct OnPurpose {
    accident: Accident,
    faults: GlobMatcher,
}

impl OnPurpose {
    /// What [`VARIABLE`] says.
    pub(crate) fn from_environment() -> anyhow::Result<Option<Self>> {
        let Ok(text) = std::env::var(VARIABLE) else { return Ok(None) };
        let accepted = ACCIDENTS.map(|(name, _)| format!("{name}:GLOB")).join(", ");
        let problem = || format!("{VARIABLE}: {text:?}; accepted: {accepted}");
        let (kind, glob) = text.split_once(':').with_context(problem)?;
        let found = ACCIDENTS.into_iter().find(|(name, _)| *name == kind);
        let (_, accident) = found.with_context(problem)?;
        let faults = Glob::new(glob).with_context(problem)?.compile_matcher();
        Ok(Some(Self { accident, faults }))
    }

    /// Does not return where something is to happen with the fault, or lets it happen in the next call
    /// that reaches a driver.
    pub(crate) fn strike(&self, what: &str) {
        if !self.faults.is_match(what) {
            return;
        }
        eprintln!("{VARIABLE}: on purpose at {what}");
        match self.accident {
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

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

fn next() -> std::sync::MutexGuard<'static, Option<Accident>> {
    NEXT.lock().unwrap_or_else(PoisonError::into_inner)
}
