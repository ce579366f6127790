//! The pages of operators, read from their tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use dml::{DataType, FeatureLevel};
use serde::Deserialize;
use serde_json::Value;

/// An operator's page: a table for each level that changed something, the lowest level first.
pub(super) struct Page(pub(super) Vec<Entry>);

/// A table, the level that it is of, and the choices that it is for; without any it is for all.
pub(super) struct Entry {
    pub(super) level: FeatureLevel,
    pub(super) choices: Vec<String>,
    pub(super) table: Table,
}

/// A table: a row for each tensor field, by the field's name.
pub(super) type Table = BTreeMap<String, TensorLimits>;

/// A row of a table: what one tensor may be.
pub(super) struct TensorLimits {
    pub(super) ranks: RangeInclusive<usize>,
    pub(super) data_types: Vec<DataType>,
}

/// A place where other documents overrule an operator's page.
#[derive(Deserialize)]
pub(super) struct Exception {
    operator: String,
    /// The level of the page's table.
    table: String,
    /// The level from which it applies.
    applies_from: String,
    /// The table applies from its own level too, and from the other with these ranks.
    ranks: Option<String>,
    /// The tensor that has `types` in place of the page's.
    tensor: Option<String>,
    types: Option<String>,
}

/// The page of an operator, and its name.
pub(super) fn page(row: &Value, exceptions: &[Exception]) -> Option<(String, Page)> {
    let name = row.get(0)?.as_str()?;
    let tables = row.get(4)?.as_array()?.iter();
    let mut page = Page(tables.map(table).collect::<Option<_>>()?);
    for exception in exceptions.iter().filter(|exception| exception.operator == name) {
        page.decide(exception)?;
    }
    page.0.sort_by_key(|entry| entry.level);
    Some((name.to_owned(), page))
}

impl Page {
    fn decide(&mut self, exception: &Exception) -> Option<()> {
        let (own, other) = (exception.table.parse().ok()?, exception.applies_from.parse().ok()?);
        let entry = self.0.iter_mut().find(|entry| entry.level == own)?;
        if let (Some(tensor), Some(types)) = (&exception.tensor, &exception.types) {
            let types = types.split_whitespace().map(|word| word.parse().ok());
            entry.table.get_mut(tensor)?.data_types = types.collect::<Option<_>>()?;
            return Some(());
        }
        let Some(ranks) = &exception.ranks else {
            entry.level = other;
            return Some(());
        };
        let ranks = range(ranks)?;
        let with_ranks = |(name, row): (&String, &TensorLimits)| {
            (
                name.clone(),
                TensorLimits { ranks: ranks.clone(), data_types: row.data_types.clone() },
            )
        };
        let table = entry.table.iter().map(with_ranks).collect();
        let choices = entry.choices.clone();
        self.0.push(Entry { level: other, choices, table });
        Some(())
    }
}

/// Reads `2-4`, or `4` alone.
fn range(ranks: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = ranks.split_once('-').unwrap_or((ranks, ranks));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

/// Reads a table, whose title names what it is for: `L1 and SUM_SQUARE`.
fn table(table: &Value) -> Option<Entry> {
    let level = table.get(0)?.as_str()?.parse().ok()?;
    let words = table.get(1)?.as_str()?.split([' ', ',']);
    let choices = words.filter(|word| !matches!(*word, "" | "and"));
    let rows = table.get(2)?.as_array()?.iter();
    Some(Entry {
        level,
        choices: choices.map(str::to_owned).collect(),
        table: rows.map(|cell| named_row(cell.as_str()?)).collect::<Option<_>>()?,
    })
}

/// Reads `InputTensor input? 2-4 FLOAT32 FLOAT16`; types that the page does not state are none.
fn named_row(cell: &str) -> Option<(String, TensorLimits)> {
    let mut words = cell.split_whitespace();
    let (name, _kind) = (words.next()?, words.next()?);
    let ranks = range(words.next()?)?;
    let data_types = words.filter(|word| *word != "?").map(|word| word.parse().ok());
    Some((name.to_owned(), TensorLimits { ranks, data_types: data_types.collect::<Option<_>>()? }))
}
