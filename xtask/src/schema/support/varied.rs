//! Support that depends on an attribute.

use anyhow::Result;
use toml::Spanned;

use super::{OperatorContext, tables};
use crate::schema::model::{Table, TensorSupport, TypeSet, Variant, VariedSupport};
use crate::schema::names::LEVELS;
use crate::schema::source::SupportFor;

/// The tables for each value of the attribute `by`, and those of all values together.
pub(crate) fn resolve(
    place: &OperatorContext<'_>,
    by: &Spanned<String>,
    variants: SupportFor,
) -> Result<(Vec<Table>, VariedSupport)> {
    let field = by.get_ref();
    let names = place
        .fields
        .iter()
        .find(|it| it.name == *field)
        .and_then(|it| it.enumeration.as_ref())
        .filter(|it| !it.values.is_empty())
        .ok_or_else(|| {
            let problem =
                format!("support_by: {field} is not a field with an enum of known values");
            place.error(by.span().start, problem)
        })?;
    let mut missing: Vec<&str> = names.values.iter().map(String::as_str).collect();
    let mut resolved: Vec<Variant> = Vec::new();
    for (key, support) in variants {
        let mut values = Vec::new();
        for word in key.get_ref().split_whitespace() {
            let Some(index) = missing.iter().position(|name| *name == word) else {
                let accepted = missing.join(", ");
                let problem =
                    format!("{word} is not a value, or a second time; accepted: {accepted}");
                return Err(place.error(key.span().start, problem));
            };
            missing.remove(index);
            values.extend(names.values.iter().position(|name| name == word));
        }
        values.sort_unstable();
        resolved.push(Variant { values, tables: tables(place, support)? });
    }
    if !missing.is_empty() {
        let problem = format!("support_for has no {}", missing.join(", "));
        return Err(place.error(by.span().start, problem));
    }
    resolved.sort_by_key(|variant| variant.values.first().copied());
    let tables = union(&resolved).map_err(|it| place.error(by.span().start, it))?;
    Ok((tables, VariedSupport { field: field.clone(), variants: resolved }))
}

/// At each level at which some variant has a table: what at least one of them accepts.
fn union(variants: &[Variant]) -> Result<Vec<Table>, String> {
    let place = |level: &str| LEVELS.iter().position(|it| *it == level);
    let mut tables = Vec::new();
    for level in LEVELS {
        let all = || variants.iter().flat_map(|variant| &variant.tables);
        if !all().any(|table| table.level == level) {
            continue;
        }
        let at_level = variants.iter().filter_map(|variant| {
            variant.tables.iter().rfind(|table| place(table.level) <= place(level))
        });
        let mut tensors: Vec<TensorSupport> = Vec::new();
        for table in at_level {
            for (index, tensor) in table.tensors.iter().enumerate() {
                match tensors.get_mut(index) {
                    Some(joined) => join(joined, tensor)?,
                    None => tensors.push(tensor.clone()),
                }
            }
        }
        tables.push(Table { level, tensors });
    }
    Ok(tables)
}

fn join(joined: &mut TensorSupport, tensor: &TensorSupport) -> Result<(), String> {
    let (first, last) = joined.ranks;
    let (other_first, other_last) = tensor.ranks;
    if other_first > last + 1 || first > other_last + 1 {
        return Err(format!("{}: the variants' ranks leave a gap", tensor.field));
    }
    joined.ranks = (first.min(other_first), last.max(other_last));
    joined.types = TypeSet(joined.types.0 | tensor.types.0);
    Ok(())
}
