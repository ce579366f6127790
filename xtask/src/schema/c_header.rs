//! `directml_types.h`: DirectML's descriptors for C.

use super::enums;
use super::model::{Field, Operator, Schema};
use super::names::{DATA_TYPES, LEVELS};

/// Everything that does not depend on the schema, with a marker for what does.
const TEMPLATE: &str = include_str!("c_header/template.h");

/// The file, without its first line.
pub(crate) fn render(schema: &Schema) -> String {
    let data_types = DATA_TYPES.iter().map(|(name, _)| *name).zip(1..);
    let operators =
        schema.operators.iter().map(|operator| (operator.name.as_str(), operator.number));
    let parts = [
        ("FEATURE_LEVELS", LEVELS.map(level).concat()),
        ("DATA_TYPES", values("DML_TENSOR_DATA_TYPE", data_types)),
        ("OPERATOR_TYPES", values("DML_OPERATOR", operators)),
        ("ENUMS", enums::c_header(schema)),
        ("OPERATOR_DESCS", schema.operators.iter().map(structure).collect()),
    ];
    parts
        .iter()
        .fold(TEMPLATE.to_owned(), |text, (name, part)| text.replace(&format!("@{name}@\n"), part))
}

/// `5_1` is 0x5100.
fn level(name: &str) -> String {
    format!("    DML_FEATURE_LEVEL_{name} = 0x{}00,\n", name.replace('_', ""))
}

fn values<'a>(prefix: &str, values: impl Iterator<Item = (&'a str, u32)>) -> String {
    values.map(|(name, number)| format!("    {prefix}_{name} = {number},\n")).collect()
}

fn structure(operator: &Operator) -> String {
    let name = format!("DML_{}_OPERATOR_DESC", operator.name);
    let line = |field: &Field| {
        let optional = field.optional && field.field_type.is_pointer();
        let comment = if optional { " /* may be null */" } else { "" };
        format!("    {}{};{comment}\n", c_type(field), field.name)
    };
    let fields: String = operator.fields.iter().map(line).collect();
    format!("{}typedef struct {name} {{\n{fields}}} {name};\n\n", operator.origin())
}

/// The type of a field, with what stands between it and the name.
fn c_type(field: &Field) -> String {
    match &field.enumeration {
        Some(names) => format!("{} ", names.c()),
        None => field.field_type.rust_and_c().1.to_owned(),
    }
}
