//! The enumerations whose numbers `uint` fields hold, and the code that is generated from them.

use std::collections::BTreeSet;
use std::rc::Rc;

use anyhow::Result;
use heck::ToUpperCamelCase as _;

use super::model::{Enumeration, Schema};
use super::source::{Enums, File};

/// The enumerations of `enums.toml`, in its order.
pub(crate) fn resolve(file: &File) -> Result<Vec<Rc<Enumeration>>> {
    let mut entries: Vec<_> = file.parse::<Enums>()?.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let resolved = entries.into_iter().map(|(key, source)| {
        let start = key.span().start;
        let key = key.into_inner();
        let legal = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
        if !key.starts_with(|it: char| it.is_ascii_lowercase()) || !key.chars().all(legal) {
            let problem =
                format!("{key}: is not a key; accepted: DirectML's name as axis-direction");
            return Err(file.error(start, problem));
        }
        if key == Enumeration::of_data_types().key {
            return Err(file.error(start, format!("{key}: is there already")));
        }
        if source.summary.is_empty() || source.values.is_empty() {
            let problem = format!("{key}: has no summary or no value; accepted: both");
            return Err(file.error(start, problem));
        }
        let mut seen = BTreeSet::new();
        for value in &source.values {
            let name = value.get_ref();
            let legal = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
            if !name.starts_with(|it: char| it.is_ascii_uppercase()) || !name.chars().all(legal) {
                let problem =
                    format!("{key}: {name} is not a value; accepted: DirectML's upper-case name");
                return Err(file.error(value.span().start, problem));
            }
            if !seen.insert(name) {
                let problem = format!("{key}: {name} is there a second time");
                return Err(file.error(value.span().start, problem));
            }
        }
        let values = source.values.iter().map(|value| value.get_ref().clone()).collect();
        Ok(Rc::new(Enumeration { key, summary: source.summary, values }))
    });
    resolved.collect()
}

/// `types/enums.rs`: the Rust types.
pub(crate) fn rust_types(schema: &Schema) -> String {
    let one = |names: &Rc<Enumeration>| {
        let (c, rust) = (names.c(), names.rust());
        let value = |(number, name): (usize, &str)| {
            let variant = name.to_upper_camel_case();
            format!("    /// {c}_{name}\n    {variant} = {number}, {name:?};\n")
        };
        let values: String = names.numbered().map(value).collect();
        format!(
            "\nnamed_enum! {{\n    \
             /// {c}: {summary}.\n    \
             #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n    \
             #[repr(u32)]\n    \
             {rust},\n    \
             /// DirectML's name without `{c}_`.\n    \
             name;\n\
             {values}}}\n\n\
             impl {rust} {{\n\
             /// DirectML's number.\n\
             pub const fn dml_value(self) -> u32 {{ self as u32 }}\n\n\
             /// The value with DirectML's number `value`; `None` for any other number.\n\
             pub fn from_dml_value(value: u32) -> Option<Self> {{\n\
             Self::ALL.into_iter().find(|it| it.dml_value() == value)\n}}\n}}\n",
            summary = names.summary
        )
    };
    let types: String = schema.enums.iter().map(one).collect();
    format!("use super::named_enum::named_enum;\n{types}")
}

/// `schema/enums/tables.rs`: the names and numbers.
pub(crate) fn tables(schema: &Schema) -> String {
    let one = |names: &Rc<Enumeration>| {
        let (c, table) = (names.c(), names.table());
        let values: String =
            names.numbered().map(|(number, name)| format!("({name:?}, {number}), ")).collect();
        format!(
            "\n/// {c}.\npub static {table}: EnumSchema = \
             EnumSchema {{ name: {table:?}, values: &[{values}] }};\n"
        )
    };
    let tables: String = schema.enums.iter().map(one).collect();
    format!("use super::EnumSchema;\n{tables}")
}

/// The enumerations for the C header.
pub(crate) fn c_header(schema: &Schema) -> String {
    let one = |names: &Rc<Enumeration>| {
        let c = names.c();
        let value = |(number, name): (usize, &str)| format!("    {c}_{name} = {number},\n");
        let values: String = names.numbered().map(value).collect();
        format!("typedef enum {c} {{\n{values}}} {c};\n\n")
    };
    schema.enums.iter().map(one).collect()
}
