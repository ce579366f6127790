//! Resolves the parsed files: checks them, and makes the model.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use anyhow::Result;
use toml::Spanned;

use super::comparison;
use super::enums;
use super::likeness;
use super::model::{
    Comparison, Enumeration, Field, FieldKind, FieldType, NamedTypes, Operator, Schema, Table,
    TypeSet,
};
use super::names;
use super::source::{self, File, Sources};
use super::support::{self, OperatorContext};

/// The longest summary, so that it fits a line of code.
const MAX_SUMMARY: usize = 80;

/// The definitions that operators refer to.
struct Definitions<'a> {
    types: &'a [NamedTypes],
    /// The enumerations, including that of the data types.
    enums: &'a [Rc<Enumeration>],
    families: &'a BTreeMap<String, Vec<Field>>,
    /// The text of `rules.rs`.
    rules: &'a str,
}

/// Checks every file of the schema.
pub(crate) fn schema(sources: &Sources) -> Result<Schema> {
    let types = support::named_types(&sources.types)?;
    let enums = enums::resolve(&sources.enums)?;
    let mut all_enums = vec![Rc::new(Enumeration::of_data_types())];
    all_enums.extend(enums.iter().cloned());
    let families = families(&sources.families, &all_enums)?;
    let rules = sources.rules.as_str();
    let definitions = Definitions { types: &types, enums: &all_enums, families: &families, rules };
    let mut operators: Vec<Operator> = Vec::new();
    for file in &sources.operators {
        for (header, operator) in self::operators(file, &definitions)? {
            unique(&operators, &operator).map_err(|problem| file.error(header.start, problem))?;
            operators.push(operator);
        }
    }
    operators.sort_by_key(|operator| operator.number);
    Ok(Schema { types, enums, operators })
}

fn unique(before: &[Operator], operator: &Operator) -> Result<(), String> {
    let same = |it: &&Operator| it.number == operator.number || it.name == operator.name;
    before.iter().find(same).map_or(Ok(()), |other| {
        Err(format!(
            "{} with number {} stands beside {} with number {} in {}",
            operator.name, operator.number, other.name, other.number, other.file
        ))
    })
}

/// The operators of one file, in its order, each with the position of its name.
fn operators(file: &File, definitions: &Definitions<'_>) -> Result<Vec<(Range<usize>, Operator)>> {
    let mut entries: Vec<_> = file.parse::<source::Operators>()?.into_iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let resolved = entries.into_iter().map(|(name, source)| {
        let header = name.span();
        Ok((header, operator(file, name, source, definitions)?))
    });
    resolved.collect()
}

fn operator(
    file: &File,
    name: Spanned<String>,
    source: source::Operator,
    definitions: &Definitions<'_>,
) -> Result<Operator> {
    let header = name.span();
    let name = name.into_inner();
    check_operator(file, &header, &name, &source, definitions)?;
    let fields = match &source.family {
        None => fields(file, &name, &source.fields, source.implemented, definitions.enums)?,
        Some(family) => of_family(family.get_ref(), &source, definitions.families)
            .map_err(|problem| file.error(family.span().start, format!("{name}: {problem}")))?,
    };
    let place = OperatorContext {
        file,
        header,
        operator: &name,
        fields: &fields,
        known: definitions.types,
    };
    let (tables, varied) =
        support::resolve(&place, source.support, source.support_by, source.support_for)?;
    likeness::check_tables(&place, &tables)?;
    let comparisons = comparisons(&place, source.comparison.as_ref(), &tables)?;
    Ok(Operator {
        name,
        file: file.name().to_owned(),
        number: source.number.into_inner(),
        summary: source.summary.into_inner(),
        in_place: source.in_place,
        implemented: source.implemented,
        comparisons,
        fast: source.fast,
        rule: source.rule.map(Spanned::into_inner),
        doc: source.doc,
        fields,
        tables,
        varied,
    })
}

fn check_operator(
    file: &File,
    header: &Range<usize>,
    name: &str,
    source: &source::Operator,
    definitions: &Definitions<'_>,
) -> Result<()> {
    let error =
        |offset: usize, problem: &str| Err(file.error(offset, format!("{name}: {problem}")));
    let legal = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    if !name.bytes().all(legal) || !name.starts_with(|it: char| it.is_ascii_uppercase()) {
        return error(header.start, "is not an operator; accepted: DirectML's upper-case name");
    }
    let summary = source.summary.get_ref();
    let length = summary.chars().count();
    if length == 0 || length > MAX_SUMMARY || summary.chars().any(char::is_control) {
        let problem = format!("summary has {length} characters; accepted: 1 to {MAX_SUMMARY}");
        return error(source.summary.span().start, &problem);
    }
    if source.implemented && source.comparison.is_none() {
        return error(
            header.start,
            "is implemented without comparison; accepted: such as bit-exact",
        );
    }
    if source.fields.is_empty() && source.family.is_none() {
        return error(header.start, "has no fields; accepted: fields, or family");
    }
    if let Some(rule) = &source.rule
        && !definitions.rules.contains(&format!("fn {}(", rule.get_ref()))
    {
        let problem = format!("rules.rs has no function {}", rule.get_ref());
        return error(rule.span().start, &problem);
    }
    Ok(())
}

/// The comparison for each type that an output of the operator may have; empty if the row has none.
fn comparisons(
    place: &OperatorContext<'_>,
    source: Option<&Spanned<toml::Value>>,
    tables: &[Table],
) -> Result<Vec<(TypeSet, Comparison)>> {
    let Some(source) = source else { return Ok(vec![]) };
    let error = |problem: String| {
        place.file.error(source.span().start, format!("{}: {problem}", place.operator))
    };
    let resolved = comparison::resolve(source.get_ref(), place.known).map_err(error)?;
    let outputs = place.fields.iter().filter(|field| field.kind == FieldKind::Output);
    let outputs: Vec<&str> = outputs.map(|field| field.name.as_str()).collect();
    match comparison::missing(&resolved, tables, &outputs) {
        None => Ok(resolved),
        Some(types) => Err(error(format!("comparison has nothing for {types}"))),
    }
}

/// The fields of each family, all with a doc.
fn families(file: &File, enums: &[Rc<Enumeration>]) -> Result<BTreeMap<String, Vec<Field>>> {
    let entries = file.parse::<source::Families>()?.into_iter();
    let resolved = entries.map(|(name, given)| {
        let name = name.into_inner();
        let fields = fields(file, &name, &given, true, enums)?;
        Ok((name, fields))
    });
    resolved.collect()
}

fn of_family(
    family: &str,
    source: &source::Operator,
    families: &BTreeMap<String, Vec<Field>>,
) -> Result<Vec<Field>, String> {
    if !source.fields.is_empty() {
        return Err("has fields and a family; accepted: one of them".to_owned());
    }
    families.get(family).cloned().ok_or_else(|| {
        let names: Vec<&str> = families.keys().map(String::as_str).collect();
        format!("{family} is not a family; accepted: {}", names.join(", "))
    })
}

fn fields(
    file: &File,
    operator: &str,
    given: &[Spanned<source::Field>],
    implemented: bool,
    enums: &[Rc<Enumeration>],
) -> Result<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    for spanned in given {
        let source = spanned.get_ref();
        let error = |problem| {
            let problem = format!("{operator}: {}: {problem}", source.name);
            file.error(spanned.span().start, problem)
        };
        check_field(&fields, source, implemented).map_err(error)?;
        fields.push(field(given, source, enums).map_err(error)?);
    }
    Ok(fields)
}

fn field(
    all: &[Spanned<source::Field>],
    given: &source::Field,
    enums: &[Rc<Enumeration>],
) -> Result<Field, String> {
    let enumeration = match &given.enumeration {
        None => None,
        Some(key) if given.field_type == FieldType::Uint => {
            let found = enums.iter().find(|names| names.key == *key).cloned();
            Some(found.ok_or_else(|| {
                let keys: Vec<&str> = enums.iter().map(|names| names.key.as_str()).collect();
                format!("{key} is not an enum; accepted: {}", keys.join(", "))
            })?)
        }
        Some(_) => return Err("enum is for the type uint".to_owned()),
    };
    let optional_from = given.optional_from.as_deref().map(names::level).transpose()?;
    likeness::check(all, given)?;
    let is_scalar = given.field_type == FieldType::ScalarUnion;
    reference(all, "scalar_type", given.scalar_type.as_deref(), is_scalar, true)?;
    reference(all, "count", given.count.as_deref(), given.field_type.is_array(), false)?;
    Ok(Field {
        name: given.name.clone(),
        kind: given.kind,
        field_type: given.field_type,
        optional: given.optional || optional_from.is_some(),
        optional_from,
        enumeration,
        scalar_type: given.scalar_type.clone(),
        count: given.count.clone(),
        type_of: given.type_of.clone(),
        sizes_of: given.sizes_of.clone(),
        doc: given.doc.clone(),
    })
}

fn check_field(before: &[Field], given: &source::Field, implemented: bool) -> Result<(), String> {
    let legal = |name: &str| name.bytes().all(|it| it.is_ascii_alphanumeric());
    if !legal(&given.name) || !given.name.starts_with(|it: char| it.is_ascii_uppercase()) {
        return Err("is not a field name; accepted: DirectML's spelling".to_owned());
    }
    if before.iter().any(|field| field.name == given.name) {
        return Err("is a second field of this name".to_owned());
    }
    if given.field_type.is_tensor() != (given.kind != FieldKind::Attribute) {
        return Err("accepted: kind input or output for tensors, attribute for others".to_owned());
    }
    let level = given.optional_from.is_some();
    if (given.optional || level) && !given.field_type.is_pointer() {
        return Err("is optional, but C passes it by value and cannot leave it out".to_owned());
    }
    if level && (given.optional || given.field_type != FieldType::Tensor) {
        return Err("optional_from is for tensors, in place of optional".to_owned());
    }
    if implemented && given.doc.trim().is_empty() {
        return Err("has no doc; accepted: what it means, in own words".to_owned());
    }
    Ok(())
}

/// Checks a key that names another field: a `uint`, or with `data_type` one that holds a type.
fn reference(
    all: &[Spanned<source::Field>],
    key: &str,
    name: Option<&str>,
    wanted: bool,
    data_type: bool,
) -> Result<(), String> {
    let Some(name) = name else {
        return if wanted { Err(format!("needs the key {key}")) } else { Ok(()) };
    };
    if !wanted {
        return Err(format!("{key} is for other types"));
    }
    let fits = all.iter().map(Spanned::get_ref).any(|field| {
        let holds_type = field.enumeration.as_deref() == Some("tensor-data-type");
        field.name == name && field.field_type == FieldType::Uint && holds_type == data_type
    });
    let holding = if data_type { " that holds the enum tensor-data-type" } else { "" };
    if fits { Ok(()) } else { Err(format!("{key}: {name} is not a uint field{holding}")) }
}
