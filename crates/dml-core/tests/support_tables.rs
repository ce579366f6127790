//! The generated rows against DirectML's reference: its enumeration of operators, and the support
//! tables of every page as data (`data/directml_support_tables.json`).
//!
//! The rows are generated from `schema/*.toml` by `dml-schema`. What is read here was taken from the
//! pages apart from those files, and shares no code with the generator on purpose: a mistake in
//! either, or in the way either is read, shows as a difference.
//!
//! A row of the data is `[name, number, introduced, in place, tables]`, a table
//! `[level, values of the attribute or "", cells]`, and a cell `name kind ranks types..`, with `[]`
//! after the kind of arrays, `?` after that of tensors that may be left out, and `?` for types that
//! the page does not state.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dml_core::operators::{OPERATORS, find};
use dml_core::schema::{
    FieldKind, FieldSchema, FieldType, OperatorSchema, REDUCE_FUNCTION, SupportTable, table_at,
};
use dml_core::{DataType, DataTypeSet, FeatureLevel};
use serde_json::Value;

/// A page's table, with the contradictions of the documents decided.
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

/// Every place where the rows differ from the pages: docs/deviations.md gives the reasons.
fn decide(name: &str, pages: &mut Vec<Page>) {
    let mut moved = |from: &str, to: &str| {
        assert_eq!(pages[0].level, from, "{name}");
        to.clone_into(&mut pages[0].level);
    };
    match name {
        "TOP_K" => moved("2_0", "1_0"),
        "MAX_UNPOOLING" => moved("3_0", "2_0"),
        "SCATTER_ELEMENTS" => moved("1_0", "2_0"),
        "JOIN" => more_ranks(pages, "3_0", " 4-5 ", "3_1"),
        "ADAM_OPTIMIZER" => more_ranks(pages, "3_0", " 4 ", "4_0"),
        _ => {}
    }
}

/// Adds a table at `to`: the one at `from` with 1 to 8 dimensions in place of `ranks`.
fn more_ranks(pages: &mut Vec<Page>, from: &str, ranks: &str, to: &str) {
    let index = pages.iter().position(|page| page.level == from).unwrap();
    let cells = pages[index].cells.iter().map(|cell| {
        assert!(cell.contains(ranks), "{cell}");
        cell.replace(ranks, " 1-8 ")
    });
    let page = Page { level: to.to_owned(), values: Vec::new(), cells: cells.collect() };
    pages.insert(index + 1, page);
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
    let data = data();
    assert_eq!(data.len(), OPERATORS.len());
    let mut tables = 0;
    for (row, schema) in data.iter().zip(OPERATORS) {
        let name = row[0].as_str().unwrap();
        assert_eq!((name, row[1].as_u64()), (schema.name, Some(schema.operator_type.into())));
        assert_eq!(row[2], schema.introduced().to_string(), "{name}: introduced");
        assert_eq!(row[3], schema.in_place, "{name}: in place");
        let mut wanted = pages(row);
        decide(name, &mut wanted);
        let lists = schema.every_tables().filter(|(values, _)| {
            // The tables of all values together are in no page.
            values.is_empty() != schema.varied.is_some()
        });
        let found: Vec<Page> = lists
            .flat_map(|(values, tables)| tables.iter().map(|it| page(schema, values, it)))
            .collect();
        assert_eq!(found, wanted, "{name}");
        tables += found.len();
    }
    assert_eq!(tables, 438 + 2);
}

#[test]
fn numbers_are_directml_s_without_gaps() {
    let numbers: Vec<u32> = OPERATORS.iter().map(|schema| schema.operator_type).collect();
    assert_eq!(numbers, (1..=177).collect::<Vec<_>>());
    // Some places in DirectML's enumeration, which SCATTER, an alias, does not move.
    for (number, name) in [
        (1, "ELEMENT_WISE_IDENTITY"),
        (55, "REDUCE"),
        (78, "GRU"),
        (94, "SCATTER_ELEMENTS"),
        (95, "ONE_HOT"),
        (149, "ROI_ALIGN1"),
        (157, "ACTIVATION_GELU"),
        (164, "MULTIHEAD_ATTENTION"),
        (177, "UNFOLD"),
    ] {
        assert_eq!(find(name).map(|schema| schema.operator_type), Some(number), "{name}");
    }
}

/// How many operators each level introduced, and how high their numbers go.
#[test]
fn operators_are_introduced_in_the_order_of_their_numbers() {
    let introduced = FeatureLevel::ALL.map(|level| {
        let numbers = OPERATORS.iter().filter(|schema| schema.introduced() == level);
        let numbers: Vec<u32> = numbers.map(|schema| schema.operator_type).collect();
        (level.to_string(), numbers.len(), numbers.last().copied().unwrap_or_default())
    });
    let expected = [
        ("1_0", 78, 78),
        ("2_0", 18, 96),
        ("2_1", 24, 120),
        ("3_0", 20, 140),
        ("3_1", 6, 146),
        ("4_0", 3, 149),
        ("4_1", 3, 152),
        ("5_0", 4, 156),
        ("5_1", 7, 163),
        ("5_2", 0, 0),
        ("6_0", 0, 0),
        ("6_1", 1, 164),
        ("6_2", 6, 170),
        ("6_3", 4, 174),
        ("6_4", 3, 177),
    ];
    assert_eq!(introduced, expected.map(|(level, count, last)| (level.to_owned(), count, last)));
    assert!(OPERATORS.is_sorted_by_key(|schema| schema.introduced()));
}

#[track_caller]
fn accepts(name: &str, level: FeatureLevel, tensor: &str, ranks: &str, data_types: &str) {
    let table = find(name).unwrap().table_at(level).unwrap();
    let cell = table.tensor(tensor).unwrap();
    assert_eq!(cell.ranks.to_string(), ranks, "{name} {level} {tensor}");
    assert_eq!(types(cell.data_types), data_types, "{name} {level} {tensor}");
}

#[test]
fn expansions_of_the_level_history_are_there() {
    use FeatureLevel as Level;
    let floats = "FLOAT32 FLOAT16";
    let no_double = "FLOAT32 FLOAT16 INT64 INT32 INT16 INT8 UINT64 UINT32 UINT16 UINT8";
    let to_32 = "FLOAT32 FLOAT16 INT32 INT16 INT8 UINT32 UINT16 UINT8";
    let to_64 = "FLOAT64 FLOAT32 FLOAT16 INT64 INT32 INT16 INT8 UINT64 UINT32 UINT16 UINT8";
    accepts("CAST", Level::V2_1, "InputTensor", "4", "FLOAT32 FLOAT16 INT16 INT8 UINT16 UINT8");
    accepts("CAST", Level::V3_0, "OutputTensor", "4", no_double);
    accepts("CAST", Level::V4_0, "InputTensor", "1 to 8", no_double);
    accepts("CAST", Level::V6_4, "InputTensor", "1 to 8", to_64);
    accepts("TOP_K", Level::V1_0, "InputTensor", "4", floats);
    accepts("TOP_K", Level::V3_0, "OutputValueTensor", "4", to_32);
    accepts("TOP_K", Level::V4_1, "OutputIndexTensor", "1 to 8", "UINT32");
    accepts("TOP_K", Level::V5_0, "OutputIndexTensor", "1 to 8", "UINT64 UINT32");
    accepts("JOIN", Level::V3_0, "InputTensors", "4 to 5", to_32);
    accepts("JOIN", Level::V4_0, "InputTensors", "1 to 8", to_32);
    accepts("JOIN", Level::V4_1, "OutputTensor", "1 to 8", to_64);
    accepts("GEMM", Level::V3_1, "CTensor", "4", floats);
    accepts("GEMM", Level::V4_0, "CTensor", "2 to 4", floats);
    let add = "ELEMENT_WISE_ADD";
    let to_4_1 = "FLOAT32 FLOAT16 INT64 INT32 UINT64 UINT32";
    accepts(add, Level::V2_0, "BTensor", "4 to 5", floats);
    accepts(add, Level::V5_0, "BTensor", "1 to 8", to_4_1);
    accepts(add, Level::V5_1, "BTensor", "1 to 8", no_double);
    accepts("RESAMPLE", Level::V5_2, "InputTensor", "1 to 4", floats);
    accepts("RESAMPLE", Level::V6_2, "InputTensor", "1 to 4", "FLOAT32 FLOAT16 INT8 UINT8");
    accepts("ADAM_OPTIMIZER", Level::V3_1, "GradientTensor", "4", floats);
    accepts("ADAM_OPTIMIZER", Level::V4_0, "GradientTensor", "1 to 8", floats);
    accepts("TILE", Level::V4_0, "InputTensor", "1 to 8", to_32);
    accepts("ARGMAX", Level::V4_0, "InputTensor", "1 to 8", to_32);
    accepts("FOLD", Level::V6_4, "InputTensor", "3 to 8", "?");
    assert!(find("FOLD").unwrap().table_at(Level::V6_3).is_none());
}

#[test]
fn a_reduction_s_tables_depend_on_its_function() {
    let reduce = find("REDUCE").unwrap();
    let types_of = |function: &str, level| {
        let tables = reduce.tables_where(REDUCE_FUNCTION.value(function).unwrap());
        let table = table_at(tables, level).unwrap();
        ["InputTensor", "OutputTensor"].map(|it| types(table.tensor(it).unwrap().data_types))
    };
    let floats = "FLOAT32 FLOAT16";
    for level in FeatureLevel::ALL {
        assert_eq!(types_of("AVERAGE", level), [floats, floats]);
    }
    assert_eq!(types_of("ARGMIN", FeatureLevel::V1_0), [floats, "UINT32"]);
    let sum = "FLOAT32 FLOAT16 INT64 INT32 UINT64 UINT32";
    assert_eq!(types_of("SUM", FeatureLevel::V5_0), [sum, sum]);
    assert_eq!(reduce.tables_where(12), reduce.tables, "no function has this number");
}

/// What is not described cannot be executed, and what is executed must be described.
#[test]
fn incomplete_rows_have_tensors_and_what_those_depend_on() {
    for schema in OPERATORS {
        let summary = schema.summary;
        assert!(!summary.ends_with('.') && !summary.is_empty(), "{}", schema.name);
        assert!(schema.fields_complete || !schema.implemented, "{}", schema.name);
        if schema.fields_complete {
            continue;
        }
        for field in schema.fields.iter().filter(|field| field.kind == FieldKind::Attribute) {
            let counts = schema.fields.iter().any(|other| other.count == Some(field.name));
            let decides = schema.varied.as_ref().is_some_and(|it| it.field == field.name);
            let operators = field.field_type == FieldType::OperatorDescArray;
            assert!(counts || decides || operators, "{} {}", schema.name, field.name);
        }
    }
}
