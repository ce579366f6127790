//! `operators/descs.rs` and `operators/descs/*.rs`: the typed descriptors.

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};

use super::model::{Field, FieldType, Operator, Schema};
use super::module::{Module, from, modules};

/// The line width that rustfmt uses for comments.
const WIDTH: usize = 100;

/// The files, before formatting and without their headers.
pub(crate) fn render(schema: &Schema) -> Vec<Module> {
    let rows = schema.operators.iter().map(|operator| operator.name.clone());
    let names = from("crate::operators", rows)
        .chain(from("crate::schema::operator", ["AbstractOperator", "FieldValue", "count"]))
        .chain(from("crate::tensor", ["TensorDesc"]))
        .chain(from("crate::types", ["DataType", "ScalarUnion"]))
        .chain(from("crate::types::enums", schema.enums.iter().map(|it| it.rust())))
        .collect();
    let item = |operator: &Operator| format!("{}\n{}\n", structure(operator), conversion(operator));
    modules(schema, ("operators/descs", String::new()), &names, item)
}

/// The name of an operator's typed descriptor.
pub(crate) fn name(operator: &Operator) -> String {
    operator.name.to_upper_camel_case() + "Desc"
}

/// The array whose length a `uint` field has; such a field is not part of the descriptor.
pub(crate) fn counted<'a>(operator: &'a Operator, field: &Field) -> Option<&'a Field> {
    let arrays = || operator.fields.iter().filter(|it| it.count.as_ref() == Some(&field.name));
    // An array that is left out has no length, so required arrays come first.
    arrays().find(|array| !array.optional).or_else(|| arrays().next())
}

fn structure(operator: &Operator) -> String {
    let name = name(operator);
    let mut doc = format!("DML_{}_OPERATOR_DESC: {}.", operator.name, operator.summary);
    if !operator.doc.trim().is_empty() {
        doc += &format!("\n\n{}", operator.doc.trim());
    }
    if !operator.implemented {
        doc += "\n\nThis runtime does not execute it yet.";
    }
    let fields: String = operator
        .fields
        .iter()
        .filter(|field| counted(operator, field).is_none())
        .map(|field| {
            let doc = comment(&field_doc(field), 4);
            format!("{doc}pub {}: {},\n", member(field), rust_type(field))
        })
        .collect();
    let doc = comment(&doc, 0);
    format!("{doc}#[derive(Clone, Debug, PartialEq)]\npub struct {name} {{\n{fields}}}\n")
}

/// The field's doc from the schema, which may be empty for operators that are not implemented.
fn field_doc(field: &Field) -> String {
    if field.doc.trim().is_empty() {
        format!("DirectML's {}.", field.name)
    } else {
        field.doc.clone()
    }
}

/// The name of a field in Rust.
fn member(field: &Field) -> String {
    let name = field.name.to_snake_case();
    // The only keyword among DirectML's names.
    if name == "type" { format!("r#{name}") } else { name }
}

fn rust_type(field: &Field) -> String {
    let (plain, _) = field.field_type.rust_and_c();
    let typed = field.enumeration.as_ref().map(|names| names.rust());
    let plain = typed.unwrap_or_else(|| plain.to_owned());
    // An array that is left out is empty.
    let wrapped = field.optional && !field.field_type.is_array();
    if wrapped { format!("Option<{plain}>") } else { plain }
}

fn conversion(operator: &Operator) -> String {
    let mut counts = String::new();
    for field in &operator.fields {
        if let Some(array) = counted(operator, field) {
            let (name, array) = (field.name.to_snake_case(), array.name.to_snake_case());
            counts += &format!("let {name} = count(&desc.{array});\n");
        }
    }
    let values: String =
        operator.fields.iter().map(|field| value(operator, field) + ",\n").collect();
    format!(
        "impl From<{}> for AbstractOperator {{\n\
         fn from(desc: {0}) -> Self {{\n\
         {counts}Self::from_typed(&{}, vec![\n{values}])\n\
         }}\n}}\n",
        name(operator),
        operator.name
    )
}

fn value(operator: &Operator, field: &Field) -> String {
    let name = member(field);
    let field_type = field.field_type;
    if counted(operator, field).is_some() {
        return format!("FieldValue::{field_type:?}({name})");
    }
    let value = match field_type {
        FieldType::Uint if field.enumeration.is_some() => format!("desc.{name}.dml_value()"),
        FieldType::OperatorDesc if field.optional => format!("desc.{name}.map(Box::new)"),
        FieldType::OperatorDesc => format!("Some(Box::new(desc.{name}))"),
        FieldType::Tensor | FieldType::ScaleBias if !field.optional => format!("Some(desc.{name})"),
        _ => format!("desc.{name}"),
    };
    format!("FieldValue::{field_type:?}({value})")
}

/// `text` as doc comments. Long lines are wrapped; the author's line breaks are kept.
pub(crate) fn comment(text: &str, indent: usize) -> String {
    let mut comment = String::new();
    for line in text.trim().lines() {
        let mut current = String::from("///");
        for word in line.split_whitespace() {
            if indent + current.len() + 1 + word.len() > WIDTH && current != "///" {
                comment += &(current + "\n");
                current = String::from("///");
            }
            current += &format!(" {word}");
        }
        comment += &(current + "\n");
    }
    comment
}
