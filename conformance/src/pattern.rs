//! Globs over names, and files that have them.

mod automaton;

use std::str::FromStr;

use anyhow::anyhow;
use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub(crate) use automaton::{Automaton, Position};

/// A glob over names, such as a command line or a file gives it.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(GlobMatcher);

impl Pattern {
    /// Whether it matches all of `name`.
    pub fn is_match(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// The glob as it was given.
    pub fn glob(&self) -> &str {
        self.0.glob().glob()
    }

    /// The regular expression that matches the same names.
    fn regex(&self) -> &str {
        self.0.glob().regex()
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let glob = Glob::new(text)
            .map_err(|error| format!("{error}; accepted: a glob such as '*/int64/*'"))?;
        Ok(Self(glob.compile_matcher()))
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Reads TOML.
///
/// # Errors
/// It is none, or a key is unknown, missing, twice there, or has a wrong value. The message names the
/// line and the key, and the value and what is accepted.
pub fn read_toml<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    let with_line = |error: &toml::de::Error, key: String| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        anyhow!("line {line}: {key}{}", error.message())
    };
    let reader =
        toml::Deserializer::parse(text).map_err(|error| with_line(&error, String::new()))?;
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let is_whole = error.path().iter().next().is_none();
        let key = if is_whole { String::new() } else { format!("{}: ", error.path()) };
        with_line(error.inner(), key)
    })
}
