//! Faults on purpose, for the tests of the runner's isolation: a worker crashes or hangs when it
//! comes to a case.

use anyhow::Context as _;
use globset::{Glob, GlobMatcher};

use crate::cases::CaseId;

/// `crash:GLOB` or `hang:GLOB`. For tests of the runner only.
pub(crate) const VARIABLE: &str = "DML_CONFORMANCE_TEST_FAULT";

/// What is to go wrong, and where.
pub(crate) struct Fault {
    kind: Kind,
    cases: GlobMatcher,
}

#[derive(Clone, Copy)]
enum Kind {
    Crash,
    Hang,
}

impl Fault {
    /// What [`VARIABLE`] says.
    pub(crate) fn from_environment() -> anyhow::Result<Option<Self>> {
        match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => Self::parse(&text)
                .with_context(|| format!("{VARIABLE}: {text:?}; accepted: crash:GLOB, hang:GLOB"))
                .map(Some),
            _ => Ok(None),
        }
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let (kind, glob) = text.split_once(':').context("there is no colon")?;
        let kind = match kind {
            "crash" => Kind::Crash,
            "hang" => Kind::Hang,
            other => anyhow::bail!("there is no fault {other:?}"),
        };
        Ok(Self { kind, cases: Glob::new(glob)?.compile_matcher() })
    }

    /// Does not return if something is to go wrong with the case `id`.
    #[expect(clippy::print_stderr, reason = "the runner shows it with the crash")]
    pub(crate) fn strike(&self, id: &CaseId) {
        if !self.cases.is_match(id.to_string()) {
            return;
        }
        match self.kind {
            Kind::Crash => {
                eprintln!("{VARIABLE}: crashing in {id}");
                std::process::abort();
            }
            Kind::Hang => loop {
                std::thread::park();
            },
        }
    }
}
