//! Support tables: parses their cells, and checks that they ascend and cover every tensor.

mod varied;

use std::ops::Range;

use anyhow::{Error, Result, anyhow};
use toml::Spanned;

use super::model::{Field, NamedTypes, Table, TensorSupport, TypeSet, VariedSupport};
use super::names::{self, DATA_TYPES, LEVELS, MAX_RANK};
use super::source::{Cell, File, Support, SupportFor, Types};

/// The key for every tensor that a level does not name.
const ALL_OTHERS: &str = "*";

/// Stands in place of data types that the reference does not state.
const UNDOCUMENTED: &str = "undocumented";

/// The sets of `types.toml`.
pub(crate) fn named_types(file: &File) -> Result<Vec<NamedTypes>> {
    let mut entries: Vec<_> = file.parse::<Types>()?.into_iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let mut known = Vec::new();
    for (name, text) in entries {
        let start = name.span().start;
        let name = name.into_inner();
        if name.chars().any(|letter| letter.is_ascii_uppercase()) {
            let problem = format!("{name}: upper case is for data types; accepted: lower case");
            return Err(file.error(start, problem));
        }
        let types = type_set(text.get_ref(), &known)
            .map_err(|problem| file.error(text.span().start, format!("{name}: {problem}")))?;
        known.push(NamedTypes { name, types });
    }
    Ok(known)
}

/// The operator that messages and cells refer to.
pub(crate) struct OperatorContext<'a> {
    pub(crate) file: &'a File,
    /// The position of the operator's name.
    pub(crate) header: Range<usize>,
    pub(crate) operator: &'a str,
    pub(crate) fields: &'a [Field],
    pub(crate) known: &'a [NamedTypes],
}

impl OperatorContext<'_> {
    pub(crate) fn error(&self, offset: usize, problem: impl std::fmt::Display) -> Error {
        self.file.error(offset, format!("{}: {problem}", self.operator))
    }
}

/// The tables of an operator, and those for each value of an attribute.
pub(crate) fn resolve(
    place: &OperatorContext<'_>,
    support: Support,
    by: Option<Spanned<String>>,
    variants: SupportFor,
) -> Result<(Vec<Table>, Option<VariedSupport>)> {
    match by {
        Some(by) if support.is_empty() => {
            varied::resolve(place, &by, variants).map(|(union, varied)| (union, Some(varied)))
        }
        None if variants.is_empty() => Ok((tables(place, support)?, None)),
        _ => {
            let problem = "accepted: support, or support_by with support_for";
            Err(place.error(place.header.start, problem))
        }
    }
}

/// The tables in `support`.
pub(crate) fn tables(place: &OperatorContext<'_>, support: Support) -> Result<Vec<Table>> {
    let mut levels: Vec<_> = support.into_iter().collect();
    levels.sort_by_key(|(level, _)| level.span().start);
    let mut tables: Vec<Table> = Vec::new();
    for (key, cells) in levels {
        let error = |problem: String| place.error(key.span().start, problem);
        let level = names::level(key.get_ref()).map_err(error)?;
        let cells: Vec<_> = cells.into_iter().collect();
        let tensors = row(place, level, &cells).map_err(|failure| match failure {
            Failure::Cell(error) => error,
            Failure::Row(problem) => error(format!("{level}: {problem}")),
        })?;
        let table = Table { level, tensors };
        if let Some(before) = tables.last() {
            ascends(before, &table).map_err(error)?;
        }
        tables.push(table);
    }
    if tables.is_empty() {
        let problem = "support has no table; accepted: one or more levels";
        return Err(place.error(place.header.start, problem));
    }
    Ok(tables)
}

enum Failure {
    Cell(anyhow::Error),
    Row(String),
}

fn row(
    place: &OperatorContext<'_>,
    level: &str,
    cells: &[(Spanned<String>, Cell)],
) -> Result<Vec<TensorSupport>, Failure> {
    let OperatorContext { file, operator, fields, known, .. } = place;
    let place = format!("{operator} at {level}");
    let tensors: Vec<&Field> = fields.iter().filter(|field| field.field_type.is_tensor()).collect();
    let find = |name: &str| cells.iter().find(|(key, _)| key.get_ref() == name).map(|(_, it)| it);
    for (key, _) in cells {
        let name = key.get_ref();
        if name != ALL_OTHERS && !tensors.iter().any(|field| field.name == *name) {
            let names: Vec<&str> = tensors.iter().map(|field| field.name.as_str()).collect();
            let names = names.join(", ");
            let problem = format!("{place}: {name} is not a tensor; accepted: {names} or \"*\"");
            return Err(Failure::Cell(file.error(key.span().start, problem)));
        }
    }
    if find(ALL_OTHERS).is_some() && cells.len() > tensors.len() {
        return Err(Failure::Row("\"*\" stands for no tensor".to_owned()));
    }
    let support = |field: &&Field| {
        let cell = find(&field.name).or_else(|| find(ALL_OTHERS)).ok_or_else(|| {
            Failure::Row(format!("{} has no support; accepted: an entry, or \"*\"", field.name))
        })?;
        let place = format!("{place}: {}", field.name);
        let in_cell = |text: &Spanned<String>, problem: anyhow::Error| {
            Failure::Cell(file.error(text.span().start, format!("{place}: {problem}")))
        };
        let ranks = ranks(cell.ranks.get_ref()).map_err(|it| in_cell(&cell.ranks, it))?;
        let types = type_set(cell.types.get_ref(), known).map_err(|it| in_cell(&cell.types, it))?;
        Ok(TensorSupport { field: field.name.clone(), ranks, types })
    };
    tensors.iter().map(support).collect()
}

fn ascends(before: &Table, table: &Table) -> Result<(), String> {
    let place = |level: &str| LEVELS.iter().position(|it| *it == level);
    if place(before.level) >= place(table.level) {
        return Err(format!("{} stands below {}; accepted: ascending", table.level, before.level));
    }
    for (old, new) in before.tensors.iter().zip(&table.tensors) {
        let ranks = new.ranks.0 <= old.ranks.0 && new.ranks.1 >= old.ranks.1;
        if !ranks || !new.types.is_superset(old.types) {
            return Err(format!(
                "{}: {} loses what {} accepts; accepted: the same or more",
                table.level, new.field, before.level
            ));
        }
    }
    Ok(())
}

/// Reads `4` or `2-4`.
fn ranks(text: &str) -> Result<(usize, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if 1 <= first && first <= last && last <= MAX_RANK => {
            Ok((first, last))
        }
        _ => {
            Err(anyhow!("'{text}' are not ranks; accepted: such as 4 or 2-4, within 1-{MAX_RANK}"))
        }
    }
}

/// Reads names of data types and of known sets, or [`UNDOCUMENTED`].
pub(crate) fn type_set(text: &str, known: &[NamedTypes]) -> Result<TypeSet> {
    if text == UNDOCUMENTED {
        return Ok(TypeSet::default());
    }
    let mut bits = 0;
    for word in text.split_whitespace() {
        let data_type = DATA_TYPES.iter().position(|(name, _)| *name == word);
        let set = known.iter().find(|set| set.name == word);
        bits |= match (data_type, set) {
            (Some(index), _) => 1 << index,
            (None, Some(set)) => set.types.0,
            (None, None) => {
                let sets = known.iter().map(|set| set.name.as_str());
                let names = sets.chain(DATA_TYPES.map(|(name, _)| name));
                let names = names.collect::<Vec<_>>().join(", ");
                return Err(anyhow!("'{word}' is not a data type; accepted: {names}"));
            }
        };
    }
    if bits == 0 {
        return Err(anyhow!("no data type; accepted: one or more"));
    }
    Ok(TypeSet(bits))
}
