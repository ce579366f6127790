//! Checks the rows against ONNX's own list of its operators.

use super::{ALL, ANY, Row};

/// The list; see its first lines.
const SCHEMAS: &str = include_str!("schemas.txt");

/// Attributes whose values no tensor has, and versions that are not run.
const EXCEPTIONS: [(&str, i64, &str); 1] = [("Constant", 12, "value_strings")];

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

    /// What the rows lack of it; nothing where the operator is not run at all.
    fn missing(&self) -> Option<String> {
        let rows: Vec<&Row> = ALL.into_iter().flatten().collect();
        let mut rows: Vec<&Row> = rows.into_iter().filter(|row| row.domain.is_empty()).collect();
        rows.retain(|row| row.name == self.name);
        if rows.is_empty() {
            return None;
        }
        let row = rows.into_iter().filter(|row| row.since <= self.since).max_by_key(|it| it.since);
        let Some(row) = row else { return Some("no row".to_owned()) };
        for (name, kind) in &self.attributes {
            let is_known =
                row.attributes.iter().any(|(known, own)| known == name && *own as usize == *kind);
            let is_excepted = EXCEPTIONS.iter().any(|(operator, since, attribute)| {
                *operator == self.name && self.since >= *since && attribute == name
            });
            if !is_known && !is_excepted {
                return Some(format!("attribute {name}"));
            }
        }
        let has = |own: &std::ops::RangeInclusive<usize>, [least, most]: [usize; 2]| {
            // What leaves out its last inputs or outputs has fewer.
            *own.start() <= least.max(1) && *own.end() >= most
        };
        let (inputs, outputs) = (has(&row.inputs, self.inputs), has(&row.outputs, self.outputs));
        (!inputs || !outputs).then(|| format!("inputs {inputs}, outputs {outputs}"))
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
