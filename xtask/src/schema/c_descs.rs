//! `c_layout/descs.rs` and `c_layout/descs/*.rs`: DirectML's structs.

use heck::ToSnakeCase as _;

use super::descs::{self, comment, counted};
use super::model::{Field, Operator, Schema};
use super::module::{Module, from, modules};

/// The files, before formatting and without their headers.
pub(crate) fn render(schema: &Schema) -> Vec<Module> {
    let plain = [
        "BOOL",
        "DML_OPERATOR_DESC",
        "DML_SCALAR_UNION",
        "DML_SCALE_BIAS",
        "DML_SIZE_2D",
        "DML_TENSOR_DATA_TYPE",
        "DML_TENSOR_DESC",
    ];
    let names = from("crate::c_layout", plain)
        .chain(from("crate::c_layout", schema.enums.iter().map(|it| it.c())))
        .collect();
    modules(schema, ("c_layout/descs", String::new()), &names, structure)
}

/// The type of a field in Rust.
pub(crate) fn c_type(field: &Field) -> String {
    let typed = field.enumeration.as_ref().map(|names| names.c());
    typed.unwrap_or_else(|| field.field_type.rust_and_c().1.to_owned())
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
        "{doc}#[repr(C)]\n#[derive(Clone, Copy, Debug)]\n\
         pub struct DML_{name}_OPERATOR_DESC {{\n{fields}}}\n\n"
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
