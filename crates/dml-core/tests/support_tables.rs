//! The generated rows against DirectML's reference: its enumeration of operators, and the support
//! tables of every page as data (`data/directml_support_tables.json`).
//!
//! The rows are generated from `schema/*.toml` by `cargo xtask`. The data here were taken from the
//! pages independently of those files, and the test shares no code with the generator: a mistake in
//! either shows as a difference.
//!
//! A row of the data is `[name, number, introduced, in place, tables]`, a table
//! `[level, values of the attribute or "", cells]`, and a cell `name kind ranks types..`, with `[]`
//! after the kind of arrays, `?` after that of tensors that may be left out, and `?` for types that
//! the page does not state.
//!
//! Where the documents contradict each other, `data/directml_support_exceptions.json` has the decision
//! as data: the page's table at `table` applies from another level, with `ranks` once more from there, with
//! these numbers of dimensions, or with these `types` for a tensor. The conformance runner reads both files too.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dml_core::operators::OPERATORS;
use dml_core::schema::{
    FieldKind, FieldSchema, FieldType, OperatorSchema, REDUCE_FUNCTION, SupportTable,
};
use dml_core::{DataType, DataTypeSet, FeatureLevel};
use serde_json::Value;

/// A page's table.
#[derive(Debug, PartialEq)]
struct Page {
    level: String,
    /// The numbers of the attribute's values.
    values: Vec<u32>,
    cells: Vec<String>,
}

fn data() -> Vec<Value> {
    let text = include_str!("data/directml_support_tables.json");
    serde_json::from_str(text).unwrap()
}

fn pages(row: &Value) -> Vec<Page> {
    let page = |table: &Value| {
        let functions = table[1].as_str().unwrap().replace("and ", "").replace(',', "");
        let mut values: Vec<u32> =
            functions.split_whitespace().map(|name| REDUCE_FUNCTION.value(name).unwrap()).collect();
        values.sort_unstable();
        let cells = table[2].as_array().unwrap().iter();
        let cells = cells.map(|cell| cell.as_str().unwrap().to_owned()).collect();
        Page { level: table[0].as_str().unwrap().to_owned(), values, cells }
    };
    row[4].as_array().unwrap().iter().map(page).collect()
}

/// The places where the rows differ from the pages, with their reasons.
fn exceptions() -> Vec<Value> {
    let text = include_str!("data/directml_support_exceptions.json");
    serde_json::from_str(text).unwrap()
}

/// The page's tables with these exceptions.
fn wanted(row: &Value, exceptions: &[&Value]) -> Vec<Page> {
    let mut pages = pages(row);
    for exception in exceptions.iter().filter(|exception| exception["operator"] == row[0]) {
        let table = pages.iter().position(|page| page.level == exception["table"]).unwrap();
        let level = exception["applies_from"].as_str().unwrap().to_owned();
        let text = |key: &str| exception[key].as_str();
        match (text("ranks"), text("tensor").zip(text("types"))) {
            (None, None) => pages[table].level = level,
            (None, Some((tensor, types))) => {
                let mut cells = pages[table].cells.iter_mut();
                let cell = cells.find(|cell| cell.split(' ').next() == Some(tensor)).unwrap();
                *cell = with_types(cell, types);
            }
            (Some(ranks), _) => {
                let cells = pages[table].cells.iter().map(|cell| with_ranks(cell, ranks));
                let page = Page { level, values: Vec::new(), cells: cells.collect() };
                pages.insert(table + 1, page);
            }
        }
    }
    pages
}

/// A cell with other ranks.
fn with_ranks(cell: &str, ranks: &str) -> String {
    let mut words: Vec<&str> = cell.split(' ').collect();
    words[2] = ranks;
    words.join(" ")
}

/// A cell with other types.
fn with_types(cell: &str, types: &str) -> String {
    let words: Vec<&str> = cell.split(' ').take(3).chain([types]).collect();
    words.join(" ")
}

/// The schema's tables, as the pages have them.
fn found(schema: &OperatorSchema) -> Vec<Page> {
    let lists = schema.every_tables().filter(|(values, _)| {
        // The tables of all values together are in no page.
        values.is_empty() != schema.varied.is_some()
    });
    lists
        .flat_map(|(values, tables)| tables.iter().map(|table| page(schema, values, table)))
        .collect()
}

fn field<'a>(schema: &'a OperatorSchema, name: &str) -> &'a FieldSchema {
    schema.fields.iter().find(|field| field.name == name).unwrap()
}

/// A table of the schema as the data write it.
fn page(schema: &OperatorSchema, values: &[u32], table: &SupportTable) -> Page {
    let cells = table.tensors.iter().map(|cell| {
        let field = field(schema, cell.field);
        let kind = if field.kind == FieldKind::Input { "input" } else { "output" };
        let array = if field.field_type == FieldType::TensorArray { "[]" } else { "" };
        let from = field.optional_from.unwrap_or(FeatureLevel::V1_0);
        let optional = if field.optional && table.level >= from { "?" } else { "" };
        let ranks: Vec<usize> = cell.ranks.iter().collect();
        let (first, last) = (ranks[0], ranks[ranks.len() - 1]);
        let ranks = if first == last { first.to_string() } else { format!("{first}-{last}") };
        format!("{} {kind}{array}{optional} {ranks} {}", cell.field, types(cell.data_types))
    });
    Page { level: table.level.to_string(), values: values.to_vec(), cells: cells.collect() }
}

/// The types in the pages' order: floats, signed, unsigned, each from wide to narrow.
fn types(set: DataTypeSet) -> String {
    const ORDER: [&str; 13] = [
        "FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "INT4", "UINT64",
        "UINT32", "UINT16", "UINT8", "UINT4",
    ];
    let has = |name: &&str| set.contains(name.parse::<DataType>().unwrap());
    let names: Vec<&str> = ORDER.into_iter().filter(has).collect();
    if names.is_empty() { "?".to_owned() } else { names.join(" ") }
}

#[test]
fn every_row_is_the_page_s_but_for_the_decided_contradictions() {
    let (data, exceptions) = (data(), exceptions());
    assert_eq!(data.len(), OPERATORS.len());
    let mut tables = 0;
    for (row, schema) in data.iter().zip(OPERATORS) {
        let name = row[0].as_str().unwrap();
        assert_eq!((name, row[1].as_u64()), (schema.name, Some(schema.operator_type.into())));
        assert_eq!(row[2], schema.introduced().to_string(), "{name}: introduced");
        assert_eq!(row[3], schema.in_place, "{name}: in place");
        let found = found(schema);
        assert_eq!(found, wanted(row, &exceptions.iter().collect::<Vec<_>>()), "{name}");
        tables += found.len();
    }
    assert_eq!(tables, 438 + 2);
}

#[test]
fn every_exception_is_needed_and_says_why() {
    let (data, exceptions) = (data(), exceptions());
    for (index, exception) in exceptions.iter().enumerate() {
        let name = exception["operator"].as_str().unwrap();
        let at = data.iter().position(|row| row[0] == name).unwrap();
        let others = exceptions.iter().enumerate().filter(|(other, _)| *other != index);
        let others: Vec<&Value> = others.map(|(_, other)| other).collect();
        assert_ne!(found(OPERATORS[at]), wanted(&data[at], &others), "{name}");
        for words in ["reason", "sources"] {
            assert!(
                exception[words].as_str().is_some_and(|as_str| as_str.len() > 20),
                "{name}: {words}"
            );
        }
    }
}

#[test]
fn summaries_are_parts_of_sentences() {
    for schema in OPERATORS {
        let summary = schema.summary;
        assert!(!summary.ends_with('.') && !summary.is_empty(), "{}", schema.name);
    }
}
