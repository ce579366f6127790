//! What can be wrong with a profile.

use crate::files;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a profile was refused. Messages name the file, the key, the value and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read profile {file}: {problem}")]
    Read {
        /// The file.
        file: String,
        /// Why not.
        problem: String,
    },
    /// The file is no TOML, or has a key twice.
    #[error("{file}: {problem}")]
    Syntax {
        /// The file.
        file: String,
        /// What is wrong, with its line.
        problem: String,
    },
    /// A key or its value.
    #[error("{file}: {key}")]
    Key {
        /// The file.
        file: String,
        /// What is wrong with the key.
        key: InvalidKey,
    },
    /// No profile, or several, are meant.
    #[error("no profile is called '{given}'; accepted: {accepted}")]
    Unknown {
        /// The name given.
        given: String,
        /// What could be meant.
        accepted: String,
    },
}

impl Error {
    pub(crate) fn unknown(given: &str, mut matching: Vec<&str>) -> Self {
        const MOST: usize = 12;
        let mut accepted = if matching.is_empty() {
            matching.extend(files::extremes().map(|(name, _)| name));
            let count = files::devices().count();
            let first = files::devices().next().map_or("", |(name, _)| name);
            format!("the path of a .toml file, one of {count} devices (such as {first}), or ")
        } else {
            "one name only, of ".to_owned()
        };
        let more = matching.len().saturating_sub(MOST);
        matching.truncate(MOST);
        accepted.push_str(&matching.join(", "));
        if more > 0 {
            accepted.push_str(&format!(" and {more} more"));
        }
        Self::Unknown { given: given.to_owned(), accepted }
    }
}

/// What is wrong with a key: `limits.maxBufferSize: "big" is no integer; accepted: 1 and more`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}; accepted: {accepted}")]
pub struct InvalidKey {
    /// The key with its table, such as `limits.maxBufferSize`.
    pub key: String,
    /// The value given and why it is refused.
    pub problem: String,
    /// What would be accepted.
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
