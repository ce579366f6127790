//! Tests the rows against ONNX's own list of operators.

use std::ops::RangeInclusive;

use super::{ALL, ANY, OperatorVersion};

/// The list of operators; its first lines describe it.
const SCHEMAS: &str = include_str!("schemas.txt");

/// Known gaps: from this version of an operator on, its rows lack this.
const EXCEPTIONS: [(&str, i64, &str); 4] = [
    // Tensors cannot hold strings.
    ("Constant", 12, "attribute value_strings"),
    ("Attention", 25, "attribute left_window_size"),
    ("Attention", 25, "attribute right_window_size"),
    ("Upsample", 1, "row"),
];

/// One version of an operator in the list.
struct Schema<'a> {
    name: &'a str,
    since: i64,
    inputs: [usize; 2],
    outputs: [usize; 2],
    attributes: Vec<(&'a str, usize)>,
}

impl<'a> Schema<'a> {
    /// Parses a line such as `Name 13 1..2 1..1 axis=2`.
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

    /// A difference between the list and the rows that is not a known gap; `None` if the operator is not
    /// supported at all.
    fn missing(&self) -> Option<String> {
        let rows = ALL.into_iter().flatten().filter(|row| row.domain.is_empty());
        let rows: Vec<&OperatorVersion> = rows.filter(|row| row.name == self.name).collect();
        if rows.is_empty() {
            return None;
        }
        let row =
            rows.into_iter().filter(|row| row.since <= self.since).max_by_key(|row| row.since);
        let Some(row) = row else { return self.unless_excepted("row") };
        let unknown = self.attributes.iter().filter(|(name, kind)| {
            !row.attributes.iter().any(|(known, own)| known == name && *own as usize == *kind)
        });
        let mut unknown = unknown.map(|(name, _)| format!("attribute {name}"));
        if let Some(unknown) = unknown.find_map(|name| self.unless_excepted(&name)) {
            return Some(unknown);
        }
        // A node may leave out its last inputs and outputs.
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
