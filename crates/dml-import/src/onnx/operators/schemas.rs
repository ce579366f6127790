//! Checks the rows against ONNX's own list of its operators.

use std::ops::RangeInclusive;

use super::{ALL, ANY, Row};

/// The list; see its first lines.
const SCHEMAS: &str = include_str!("schemas.txt");

/// What is refused of operators: of the versions from a number on what their rows lack.
const EXCEPTIONS: [(&str, i64, &str); 4] = [
    // No tensor has texts.
    ("Constant", 12, "attribute value_strings"),
    ("Attention", 25, "attribute left_window_size"),
    ("Attention", 25, "attribute right_window_size"),
    ("Upsample", 1, "row"),
];

/// A version of an operator.
struct Schema<'a> {
    name: &'a str,
    since: i64,
    inputs: [usize; 2],
    outputs: [usize; 2],
    attributes: Vec<(&'a str, usize)>,
}

impl<'a> Schema<'a> {
    /// Reads `Name 13 1..2 1..1 axis=2`.
    fn read(line: &'a str) -> Self {
        let number = |text: &str| if text == "*" { ANY } else { text.parse().unwrap() };
        let range = |text: &str| {
            let (least, most) = text.split_once("..").unwrap();
            [number(least), number(most)]
        };
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap();
        let (name, since) = (next(), next().parse().unwrap());
        let (inputs, outputs) = (range(next()), range(next()));
        let attributes = words.map(|word| {
            let (name, kind) = word.split_once('=').unwrap();
            (name, number(kind))
        });
        Self { name, since, inputs, outputs, attributes: attributes.collect() }
    }

    /// What the rows lack of it that is no exception; nothing where the operator is not run at all.
    fn missing(&self) -> Option<String> {
        let rows = ALL.into_iter().flatten().filter(|row| row.domain.is_empty());
        let rows: Vec<&Row> = rows.filter(|row| row.name == self.name).collect();
        if rows.is_empty() {
            return None;
        }
        let row = rows.into_iter().filter(|row| row.since <= self.since).max_by_key(|it| it.since);
        let Some(row) = row else { return self.unless_excepted("row") };
        let unknown = self.attributes.iter().filter(|(name, kind)| {
            !row.attributes.iter().any(|(known, own)| known == name && *own as usize == *kind)
        });
        let mut unknown = unknown.map(|(name, _)| format!("attribute {name}"));
        if let Some(unknown) = unknown.find_map(|name| self.unless_excepted(&name)) {
            return Some(unknown);
        }
        // A node that leaves out its last inputs or outputs has fewer.
        let has = |own: &RangeInclusive<usize>, [least, most]: [usize; 2]| {
            *own.start() <= least.max(1) && *own.end() >= most
        };
        if !has(&row.inputs, self.inputs) {
            return self.unless_excepted("inputs");
        }
        if has(&row.outputs, self.outputs) { None } else { self.unless_excepted("outputs") }
    }

    fn unless_excepted(&self, missing: &str) -> Option<String> {
        let is_excepted = EXCEPTIONS.iter().any(|(operator, since, excepted)| {
            *operator == self.name && self.since >= *since && *excepted == missing
        });
        (!is_excepted).then(|| missing.to_owned())
    }
}

#[test]
fn every_version_of_an_operator_that_is_run_has_a_row_with_its_attributes() {
    let lines = SCHEMAS.lines().filter(|line| !line.starts_with('#'));
    let missing = lines.map(Schema::read).filter_map(|schema| {
        let missing = schema.missing()?;
        Some(format!("{} {}: {missing}", schema.name, schema.since))
    });
    let missing: Vec<String> = missing.collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
