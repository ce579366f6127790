//! Access to JSON fields, with errors that state the path.

use serde_json::{Map, Value};

use crate::error::{Error, Result, shortened};

/// An object in a model's JSON, and its path.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    pub(super) path: String,
    pub(super) object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(path: impl Into<String>, json: &'a Value) -> Result<Self> {
        let path = path.into();
        match json.as_object() {
            Some(object) => Ok(Self { path, object }),
            None => Err(refused(&path, json, "is not an object", "an object")),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|json| !json.is_null())
    }

    pub(super) fn at(&self, name: &str) -> String {
        format!("{}.{}", self.path, shortened(name))
    }

    pub(super) fn required(&self, name: &str) -> Result<&'a Value> {
        self.get(name).ok_or_else(|| self.refused(name, "is missing", "a value"))
    }

    /// A required object.
    pub(super) fn fields(&self, name: &str) -> Result<Self> {
        Self::of(self.at(name), self.required(name)?)
    }

    /// A required string.
    pub(super) fn text(&self, name: &str) -> Result<&'a str> {
        let json = self.required(name)?;
        json.as_str().ok_or_else(|| self.refused(name, "is not a text", "a text"))
    }

    /// An integer that is not negative; `None` if it is missing.
    pub(super) fn integer(&self, name: &str) -> Result<Option<u64>> {
        let parse = |json: &Value| {
            let accepted = format!("0 to {}", u64::MAX);
            json.as_u64().ok_or_else(|| self.refused(name, "is not an integer", accepted))
        };
        self.get(name).map(parse).transpose()
    }

    /// The error of a field whose value breaks a rule.
    pub(super) fn refused(
        &self,
        name: &str,
        problem: &str,
        accepted: impl std::fmt::Display,
    ) -> Error {
        let json = self.object.get(name).unwrap_or(&Value::Null);
        refused(&self.at(name), json, problem, accepted)
    }
}

/// A list of names in a message.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    shortened(&names.take(20).collect::<Vec<_>>().join(", "))
}

/// The error of a value that breaks a rule.
pub(super) fn refused(
    path: &str,
    json: &Value,
    problem: &str,
    accepted: impl std::fmt::Display,
) -> Error {
    // Avoids formatting a large value only to shorten it.
    let value = match json {
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(fields) => format!("an object of {}", fields.len()),
        other => shortened(&other.to_string()),
    };
    Error::malformed(format!("{path}: {value} {problem}; accepted: {accepted}"))
}
