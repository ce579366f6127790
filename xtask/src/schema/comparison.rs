//! How an operator's results are compared with the reference, for each data type.

use toml::Value;

use super::model::{Comparison, NamedTypes, Table, TypeSet};
use super::names::DATA_TYPES;
use super::support::type_set;

/// The values that `comparison` accepts, for messages.
const ACCEPTED: &str = "bit-exact, ulp and a number, or a table of them by data types";

/// The key for all types that no other key of the table has.
const REST: &str = "*";

/// Reads `"bit-exact"`, or `{ "FLOAT32 FLOAT16" = "ulp 0", "*" = "bit-exact" }`. No type is in two sets.
pub(crate) fn resolve(
    value: &Value,
    known: &[NamedTypes],
) -> Result<Vec<(TypeSet, Comparison)>, String> {
    let entries = match value {
        Value::String(text) => return Ok(vec![(TypeSet::ALL, comparison(text)?)]),
        Value::Table(entries) => entries,
        other => return Err(format!("comparison is {other}; accepted: {ACCEPTED}")),
    };
    let mut resolved: Vec<(TypeSet, Comparison)> = Vec::new();
    let mut named = TypeSet::default();
    for (types, value) in entries.iter().filter(|(types, _)| *types != REST) {
        let set = type_set(types, known).map_err(|error| format!("comparison: {error}"))?;
        if set.0 & named.0 != 0 {
            return Err(format!("comparison: {types}: a type stands in two of the sets"));
        }
        named.0 |= set.0;
        resolved.push((set, of_types(types, value)?));
    }
    if let Some(value) = entries.get(REST) {
        resolved.push((TypeSet(TypeSet::ALL.0 & !named.0), of_types(REST, value)?));
    }
    Ok(resolved)
}

fn of_types(types: &str, value: &Value) -> Result<Comparison, String> {
    let text = value.as_str().ok_or_else(|| format!("comparison: {types}: is not a text"))?;
    comparison(text).map_err(|error| format!("{types}: {error}"))
}

fn comparison(text: &str) -> Result<Comparison, String> {
    if text == "bit-exact" {
        return Ok(Comparison::BitExact);
    }
    let ulp = text.strip_prefix("ulp ").and_then(|number| number.parse().ok());
    let unknown = || format!("comparison {text:?} is unknown; accepted: {ACCEPTED}");
    ulp.map(Comparison::Ulp).ok_or_else(unknown)
}

/// The names of the types that a table has for one of `outputs` and that have no comparison; `None` if every
/// type has one.
pub(crate) fn missing(
    comparisons: &[(TypeSet, Comparison)],
    tables: &[Table],
    outputs: &[&str],
) -> Option<String> {
    let tensors = tables.iter().flat_map(|table| &table.tensors);
    let of_outputs = tensors.filter(|tensor| outputs.contains(&tensor.field.as_str()));
    let wanted = of_outputs.fold(0, |all, tensor| all | tensor.types.0);
    let found = comparisons.iter().fold(0, |all, (types, _)| all | types.0);
    let is_missing = |index: &usize| (wanted & !found) >> index & 1 != 0;
    let names = (0..DATA_TYPES.len()).filter(is_missing).map(|index| DATA_TYPES[index].0);
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}
