//! The TOML files as they are written.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::model::{Comparison, FieldKind, FieldType};

/// A file of operators, by name.
pub(super) type Operators = BTreeMap<Spanned<String>, Operator>;

/// `types.toml`: sets of data types, by name.
pub(super) type Types = BTreeMap<Spanned<String>, Spanned<String>>;

/// Support by level, then by tensor.
pub(super) type Support = BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Cell>>;

/// Support by the values of an attribute, with blanks between.
pub(super) type SupportFor = BTreeMap<Spanned<String>, Support>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Operator {
    pub(super) number: Spanned<u32>,
    pub(super) summary: Spanned<String>,
    pub(super) in_place: bool,
    #[serde(default)]
    pub(super) implemented: bool,
    pub(super) comparison: Option<Comparison>,
    pub(super) rule: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) doc: String,
    pub(super) fields: Vec<Spanned<Field>>,
    #[serde(default = "yes")]
    pub(super) fields_complete: bool,
    #[serde(default)]
    pub(super) support: Support,
    pub(super) support_by: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) support_for: SupportFor,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Field {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) field_type: FieldType,
    #[serde(default)]
    pub(super) kind: FieldKind,
    #[serde(default)]
    pub(super) optional: bool,
    pub(super) optional_from: Option<String>,
    #[serde(rename = "enum")]
    pub(super) enumeration: Option<String>,
    pub(super) scalar_type: Option<String>,
    pub(super) count: Option<String>,
    #[serde(default)]
    pub(super) doc: String,
}

/// What one level accepts for one tensor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cell {
    pub(super) ranks: Spanned<String>,
    pub(super) types: Spanned<String>,
}

/// A file's name and text, for messages.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    /// The path that a message shows.
    pub(super) path: &'a str,
    pub(super) text: &'a str,
}

impl File<'_> {
    /// `path:line: problem`, for the line of the byte `offset`.
    pub(super) fn error(&self, offset: usize, problem: impl std::fmt::Display) -> anyhow::Error {
        let before = self.text.bytes().take(offset);
        let line = before.filter(|byte| *byte == b'\n').count() + 1;
        anyhow::anyhow!("{}:{line}: {problem}", self.path)
    }

    /// Reads the file as `T`.
    pub(super) fn parse<T: for<'de> Deserialize<'de>>(&self) -> anyhow::Result<T> {
        toml::from_str(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            self.error(offset, error.message())
        })
    }
}
