//! `c_layout/descs.rs`: DirectML's structs of implemented operators.

use std::collections::BTreeSet;

use heck::ToSnakeCase as _;

use crate::descs::{self, comment, counted};
use crate::model::{Field, Operator, Schema};

/// The file, before formatting and without its header.
pub(crate) fn render(schema: &Schema) -> String {
    let fields = || schema.implemented().flat_map(|operator| &operator.fields);
    let names = fields().map(|field| {
        let name = c_type(field);
        name.strip_prefix("*const ").unwrap_or(name)
    });
    let is_ours = |name: &&str| name.chars().all(|it| it.is_ascii_uppercase() || "_2".contains(it));
    let names: BTreeSet<&str> = names.filter(is_ours).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut text = format!("use super::{{{}}};\n", names.join(", "));
    for operator in schema.implemented() {
        text += &structure(operator);
    }
    text
}

/// The type of a field in Rust.
pub(crate) fn c_type(field: &Field) -> &'static str {
    let typed = field.enumeration.and_then(|names| names.typed.as_ref());
    typed.map_or(field.field_type.rust_and_c().1, |typed| typed.c)
}

fn structure(operator: &Operator) -> String {
    let typed = descs::name(operator);
    let fields: String = operator
        .fields
        .iter()
        .map(|field| {
            let doc = comment(&field_doc(operator, &typed, field), 4);
            format!("{doc}pub {}: {},\n", field.name, c_type(field))
        })
        .collect();
    let name = &operator.name;
    let doc = comment(&format!("DirectML's form of [`crate::operators::{typed}`]."), 0);
    format!(
        "\n{}{doc}#[repr(C)]\n#[derive(Clone, Copy, Debug)]\n\
         pub struct DML_{name}_OPERATOR_DESC {{\n{fields}}}\n",
        operator.origin()
    )
}

fn field_doc(operator: &Operator, typed: &str, field: &Field) -> String {
    if let Some(array) = counted(operator, field) {
        return format!("The number of elements of `{}`.", array.name);
    }
    let name = field.name.to_snake_case();
    let null = if field.optional { "; null where it is left out" } else { "" };
    format!("[`{name}`](crate::operators::{typed}::{name}){null}.")
}
