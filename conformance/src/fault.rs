//! Deliberate faults, for the tests of the runner's isolation: a worker crashes or hangs when it comes to a case.

use std::fmt::Display;

use anyhow::{Context as _, Result};
use dml_file::eprintln;

use crate::pattern::Pattern;

/// `crash:GLOB` or `hang:GLOB`. For tests of the runner only.
pub(crate) const VARIABLE: &str = "DML_CONFORMANCE_TEST_FAULT";

/// The kinds of faults of a worker.
pub(crate) const KINDS: [&str; 2] = ["crash", "hang"];

/// A fault and the places where it happens; given as `KIND:GLOB`.
pub struct Fault {
    kind: &'static str,
    places: Pattern,
}

impl Fault {
    /// The fault in the environment variable, which has one of `kinds` and a glob over places.
    ///
    /// # Errors
    /// The variable has another form. The message names what is accepted.
    pub fn from_environment(variable: &str, kinds: &[&'static str]) -> Result<Option<Self>> {
        let Some(text) = std::env::var(variable).ok().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let parse = || -> Result<Self> {
            let (name, glob) = text.split_once(':').context("there is no colon")?;
            let kind = kinds.iter().find(|kind| **kind == name);
            let kind = kind.with_context(|| format!("there is no fault {name:?}"))?;
            Ok(Self { kind, places: glob.parse().map_err(anyhow::Error::msg)? })
        };
        let accepted: Vec<_> = kinds.iter().map(|kind| format!("{kind}:GLOB")).collect();
        parse()
            .map(Some)
            .with_context(|| format!("{variable}: {text:?}; accepted: {}", accepted.join(", ")))
    }

    /// The fault at `place`, if it has one.
    pub fn at(&self, place: &str) -> Option<&'static str> {
        self.places.is_match(place).then_some(self.kind)
    }

    /// Does not return if `case` has a fault.
    pub(crate) fn strike(&self, case: &impl Display) {
        match self.at(&case.to_string()) {
            None => {}
            Some("hang") => hang(),
            Some(_) => {
                eprintln!("{VARIABLE}: crashing in {case}");
                std::process::abort();
            }
        }
    }
}

/// Hangs forever.
pub fn hang() -> ! {
    loop {
        std::thread::park();
    }
}
