//! What is wrong with one value: with a field of a descriptor, or with a name.

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
    /// What would be accepted.
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

    /// The same, seen from the field that contains it.
    pub(crate) fn inside(mut self, outer: &str) -> Self {
        self.path = format!("{outer}.{}", self.path);
        self
    }
}

/// A name that stands for none of the values that a type has.
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
    /// A name that has not the form that `accepted` states.
    pub(crate) fn new(kind: &'static str, given: &str, accepted: &str) -> Self {
        let (given, accepted) = (given.to_owned(), accepted.to_owned());
        Self { kind, given, suggestion: String::new(), accepted }
    }

    /// A name that is none of `known`.
    pub(crate) fn among(kind: &'static str, given: &str, known: &[&str]) -> Self {
        let suggestion = suggestion(given, known.iter().copied());
        Self { kind, given: given.to_owned(), suggestion, accepted: known.join(", ") }
    }
}
