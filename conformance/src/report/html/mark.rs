//! A verdict that is shown by colour, by a symbol and in words.

use crate::results::{Counts, Verdict};

/// A verdict for the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The CSS class for its colour.
    pub(super) class: &'static str,
    /// The symbol that shows it without colour.
    pub(super) symbol: &'static str,
    /// The verdict in words.
    pub(super) verdict: String,
    /// The counts in words.
    pub(super) words: String,
}

impl Mark {
    /// The verdict on these counts; none without cases.
    pub(super) fn of(counts: Counts) -> Self {
        if counts.all() == 0 {
            let words = "no cases".to_owned();
            return Self { class: "none", symbol: "–", verdict: "not run".to_owned(), words };
        }
        let (class, symbol) = match counts.verdict() {
            Verdict::Conformant => ("ok", "✓"),
            Verdict::PlansVerified => ("plan", "P"),
            Verdict::NotExecuted => ("none", "○"),
            Verdict::Incomplete => ("part", "~"),
            Verdict::NotConformant => ("bad", "✗"),
        };
        Self { class, symbol, verdict: counts.verdict().to_string(), words: counts.words() }
    }
}
