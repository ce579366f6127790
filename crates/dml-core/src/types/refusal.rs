//! Errors about a single value: an invalid field of a descriptor, or an unknown name.

use std::fmt;

use crate::similar::suggestion;

/// A field that breaks a rule: `Sizes[2]: 0 is too small; accepted: 1 to 4294967295`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {value} {problem}; accepted: {accepted}")]
pub struct InvalidField {
    /// The field's path from the operator, such as `OutputTensor.Sizes[2]`.
    pub path: String,
    /// The value given.
    pub value: String,
    /// Why it is refused.
    pub problem: String,
    /// The accepted values.
    pub accepted: String,
}

impl InvalidField {
    pub(crate) fn new(
        path: impl Into<String>,
        value: impl fmt::Display,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            value: value.to_string(),
            problem: problem.into(),
            accepted: accepted.into(),
        }
    }

    /// This error, with a path that begins at the containing field `outer`.
    pub(crate) fn inside(mut self, outer: &str) -> Self {
        self.path = format!("{outer}.{}", self.path);
        self
    }
}

/// A name that is not the name of any value of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} '{given}'{suggestion}; accepted: {accepted}")]
pub struct UnknownName {
    kind: &'static str,
    given: String,
    /// A question in parentheses, or empty.
    suggestion: String,
    accepted: String,
}

impl UnknownName {
    /// A name that does not have the form `accepted`.
    pub(crate) fn new(kind: &'static str, given: &str, accepted: &str) -> Self {
        let (given, accepted) = (given.to_owned(), accepted.to_owned());
        Self { kind, given, suggestion: String::new(), accepted }
    }

    /// A name that is not in `known`, with a suggestion of a similar one.
    pub(crate) fn among(kind: &'static str, given: &str, known: &[&str]) -> Self {
        let suggestion = suggestion(given, known.iter().copied());
        Self { kind, given: given.to_owned(), suggestion, accepted: known.join(", ") }
    }
}
