//! Errors of profiles.

use std::collections::BTreeSet;

use dml_core::suggestion;

use super::files;

/// The result of this module's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a profile. Messages name the file, the key, the value and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read profile {file}: {problem}")]
    Read {
        /// The file.
        file: String,
        /// Why the file cannot be read.
        problem: String,
    },
    /// The file is not TOML, or has a key twice.
    #[error("{file}: {problem}")]
    Syntax {
        /// The file.
        file: String,
        /// The parser's message, with the line.
        problem: String,
    },
    /// A key is missing or unknown, or its value is invalid.
    #[error("{file}: {key}")]
    Key {
        /// The file.
        file: String,
        /// The key, and why it is refused.
        key: InvalidKey,
    },
    /// No profile has the name, nor contains it.
    #[error("no profile is called '{given}'{suggestion}; accepted: {accepted}")]
    Unknown {
        /// The name given.
        given: String,
        /// A question with similar names, in parentheses; empty if no name is similar.
        suggestion: String,
        /// Names, and parts of names, of profiles.
        accepted: String,
    },
    /// Several profiles contain the name.
    #[error("'{given}' is in the names of several profiles; accepted: one of {accepted}")]
    Ambiguous {
        /// The name given.
        given: String,
        /// The names that contain the given one.
        accepted: String,
    },
}

impl Error {
    pub(crate) fn unknown(given: &str) -> Self {
        let makers: BTreeSet<&str> = files::devices().filter_map(|(name, _)| maker(name)).collect();
        let makers: Vec<&str> = makers.into_iter().collect();
        let devices: Vec<&str> = files::devices().map(|(name, _)| name).collect();
        let extremes: Vec<&str> = files::extremes().map(|(name, _)| name).collect();
        let accepted = format!(
            "the path of a .toml file, one of {} devices (by part of the name: {}, such as {}), or {}",
            devices.len(),
            makers.join(", "),
            devices.first().copied().unwrap_or_default(),
            listed(extremes.clone()),
        );
        let suggestion = suggestion(given, extremes.into_iter().chain(devices));
        Self::Unknown { given: given.to_owned(), suggestion, accepted }
    }

    pub(crate) fn ambiguous(given: &str, matching: Vec<&str>) -> Self {
        Self::Ambiguous { given: given.to_owned(), accepted: listed(matching) }
    }
}

/// The first word of a device's name.
fn maker(name: &str) -> Option<&str> {
    name.split('-').next()
}

/// Up to twelve names, and how many more there are.
fn listed(mut names: Vec<&str>) -> String {
    const MOST: usize = 12;
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let mut text = names.join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// A key that is refused, and why: `limits.maxBufferSize: "big" is no integer; accepted: 1 and more`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}; accepted: {accepted}")]
pub struct InvalidKey {
    /// The key with its table, such as `limits.maxBufferSize`.
    pub key: String,
    /// The given value, and why it is refused.
    pub problem: String,
    /// The accepted values.
    pub accepted: String,
}

impl InvalidKey {
    pub(crate) fn new(
        key: impl Into<String>,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), problem: problem.into(), accepted: accepted.into() }
    }
}
