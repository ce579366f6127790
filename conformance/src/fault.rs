//! Faults on purpose, for the tests of the runner's isolation: a worker crashes or hangs when it
//! comes to a case.

use anyhow::{Context as _, Result};

use crate::cases::CaseId;
use crate::pattern::Pattern;

/// `crash:GLOB` or `hang:GLOB`. For tests of the runner only.
pub(crate) const VARIABLE: &str = "DML_CONFORMANCE_TEST_FAULT";

/// What is to go wrong, and where; said as `KIND:GLOB`.
pub struct Fault<K> {
    kind: K,
    places: Pattern,
}

impl<K: Copy> Fault<K> {
    /// What the environment variable says, which is one of `kinds` and a glob over places.
    ///
    /// # Errors
    /// It says something else. The message names what is accepted.
    pub fn from_environment(variable: &str, kinds: &[(&str, K)]) -> Result<Option<Self>> {
        let Some(text) = std::env::var(variable).ok().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let parse = || -> Result<Self> {
            let (name, glob) = text.split_once(':').context("there is no colon")?;
            let kind = kinds.iter().find(|(known, _)| *known == name);
            let (_, kind) = kind.with_context(|| format!("there is no fault {name:?}"))?;
            Ok(Self { kind: *kind, places: glob.parse().map_err(anyhow::Error::msg)? })
        };
        let accepted: Vec<_> = kinds.iter().map(|(name, _)| format!("{name}:GLOB")).collect();
        parse()
            .map(Some)
            .with_context(|| format!("{variable}: {text:?}; accepted: {}", accepted.join(", ")))
    }

    /// What is to go wrong at `place`.
    pub fn at(&self, place: &str) -> Option<K> {
        self.places.is_match(place).then_some(self.kind)
    }
}

/// What can go wrong with a worker of the runner.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Crash,
    Hang,
}

pub(crate) const KINDS: [(&str, Kind); 2] = [("crash", Kind::Crash), ("hang", Kind::Hang)];

impl Fault<Kind> {
    /// Does not return if something is to go wrong with the case `id`.
    #[expect(clippy::print_stderr, reason = "the runner shows it with the crash")]
    pub(crate) fn strike(&self, id: &CaseId) {
        match self.at(&id.to_string()) {
            None => {}
            Some(Kind::Crash) => {
                eprintln!("{VARIABLE}: crashing in {id}");
                std::process::abort();
            }
            Some(Kind::Hang) => hang(),
        }
    }
}

/// Never returns.
pub fn hang() -> ! {
    loop {
        std::thread::park();
    }
}
