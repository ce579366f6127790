//! The TOML files as they are parsed.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::model::{FastComparison, FieldKind, FieldType};

/// A file of operators, by name.
pub(crate) type Operators = BTreeMap<Spanned<String>, Operator>;

/// `types.toml`: sets of data types, by name.
pub(crate) type Types = BTreeMap<Spanned<String>, Spanned<String>>;

/// `enums.toml`: enumerations, by the value of the key `enum`.
pub(crate) type Enums = BTreeMap<Spanned<String>, Enumeration>;

/// `families.toml`: the fields that many operators share, by the value of the key `family`.
pub(crate) type Families = BTreeMap<Spanned<String>, Vec<Spanned<Field>>>;

/// Support by level, then by tensor.
pub(crate) type Support = BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Cell>>;

/// Support by the values of an attribute, separated by spaces.
pub(crate) type SupportFor = BTreeMap<Spanned<String>, Support>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Operator {
    pub(crate) number: Spanned<u32>,
    pub(crate) summary: Spanned<String>,
    pub(crate) in_place: bool,
    #[serde(default)]
    pub(crate) implemented: bool,
    pub(crate) comparison: Option<Spanned<toml::Value>>,
    #[serde(default)]
    pub(crate) fast: FastComparison,
    pub(crate) rule: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) doc: String,
    #[serde(default)]
    pub(crate) fields: Vec<Spanned<Field>>,
    pub(crate) family: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) support: Support,
    pub(crate) support_by: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) support_for: SupportFor,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Field {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) field_type: FieldType,
    #[serde(default)]
    pub(crate) kind: FieldKind,
    #[serde(default)]
    pub(crate) optional: bool,
    pub(crate) optional_from: Option<String>,
    #[serde(rename = "enum")]
    pub(crate) enumeration: Option<String>,
    pub(crate) scalar_type: Option<String>,
    pub(crate) count: Option<String>,
    pub(crate) type_of: Option<String>,
    pub(crate) sizes_of: Option<String>,
    #[serde(default)]
    pub(crate) doc: String,
}

/// An enumeration: its values, from 0.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Enumeration {
    pub(crate) summary: String,
    pub(crate) values: Vec<Spanned<String>>,
}

/// The ranks and types that one level accepts for one tensor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cell {
    pub(crate) ranks: Spanned<String>,
    pub(crate) types: Spanned<String>,
}

/// A text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// The path from the root, with `/`, for messages.
    pub(crate) path: String,
    /// The contents, or the expected contents.
    pub(crate) text: String,
}

/// The source files of the generated ones.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// `types.toml`: the named sets of data types.
    pub(crate) types: File,
    /// `enums.toml`: the enumerations.
    pub(crate) enums: File,
    /// `families.toml`: the fields that many operators share.
    pub(crate) families: File,
    /// The other files of the schema, each with some operators.
    pub(crate) operators: Vec<File>,
    /// The text of the module of `dml-core` with the functions that `rule` may name.
    pub(crate) rules: String,
}

impl File {
    /// The path without its folders.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// An error `path:line: problem`, for the line with the byte `offset`.
    pub(crate) fn error(&self, offset: usize, problem: impl std::fmt::Display) -> anyhow::Error {
        let before = self.text.bytes().take(offset);
        let line = before.filter(|byte| *byte == b'\n').count() + 1;
        anyhow::anyhow!("{}:{line}: {problem}", self.path)
    }

    /// Reads the file as `T`.
    pub(crate) fn parse<T: for<'de> Deserialize<'de>>(&self) -> anyhow::Result<T> {
        toml::from_str(&self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            self.error(offset, error.message())
        })
    }
}
