//! `type_of` and `sizes_of`: tensors that are like another one.

use anyhow::Result;
use toml::Spanned;

use super::model::{Field, FieldType, Table, TensorSupport};
use super::source;
use super::support::OperatorContext;

/// Checks what a field says of the tensors that it is like.
pub(crate) fn check(all: &[Spanned<source::Field>], given: &source::Field) -> Result<(), String> {
    let is_tensor = given.field_type.is_tensor();
    let holds_type = given.enumeration.as_deref() == Some("tensor-data-type");
    if given.type_of.is_some() && !is_tensor && !holds_type {
        return Err("type_of is for tensors and the enum tensor-data-type".to_owned());
    }
    if given.sizes_of.is_some() && !is_tensor {
        return Err("sizes_of is for tensors".to_owned());
    }
    let find = |name: &str| all.iter().map(Spanned::get_ref).find(|field| field.name == name);
    let of_another = |key: &str, name: &Option<String>, next: fn(&source::Field) -> bool| {
        let Some(name) = name else { return Ok(()) };
        match find(name) {
            Some(it) if it.field_type == FieldType::Tensor && !next(it) => Ok(()),
            _ => Err(format!("{key}: {name} is not a tensor without {key}")),
        }
    };
    of_another("type_of", &given.type_of, |it| it.type_of.is_some())?;
    of_another("sizes_of", &given.sizes_of, |it| it.sizes_of.is_some())
}

/// Checks that no table accepts for a tensor what it refuses for the one that it is like.
pub(crate) fn check_tables(place: &OperatorContext<'_>, tables: &[Table]) -> Result<()> {
    for table in tables {
        for field in place.fields.iter().filter(|field| field.field_type.is_tensor()) {
            differs(field, &field.type_of, table, |a, b| a.types == b.types)
                .or_else(|| differs(field, &field.sizes_of, table, |a, b| a.ranks == b.ranks))
                .map_or(Ok(()), |problem| Err(place.error(place.header.start, problem)))?;
        }
    }
    Ok(())
}

fn differs(
    field: &Field,
    other: &Option<String>,
    table: &Table,
    is_alike: fn(&TensorSupport, &TensorSupport) -> bool,
) -> Option<String> {
    let other = other.as_ref()?;
    let find = |name: &str| table.tensors.iter().find(|tensor| tensor.field == name);
    let alike = find(&field.name).zip(find(other)).is_some_and(|(a, b)| is_alike(a, b));
    let problem = format!("is like {other}, whose cell differs");
    (!alike).then(|| format!("{}: {} {problem}", table.level, field.name))
}
