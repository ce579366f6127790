//! `operators/tables.rs` and `operators/tables/*.rs`: the operators' rows.

use std::collections::BTreeMap;

use super::model::{
    Comparison, Field, FieldKind, NamedTypes, Operator, Schema, Table, TensorSupport, TypeSet,
    Variant, VariedSupport,
};
use super::module::{Module, from, modules};
use super::names::DATA_TYPES;

/// The folder of the rows, and the file that lists all of them.
const ROOT: &str = "operators/tables";

/// The files, before formatting and without their headers.
pub(crate) fn render(schema: &Schema) -> Vec<Module> {
    let rows: String =
        schema.operators.iter().map(|operator| row(operator, &schema.types)).collect();
    let all: Vec<String> =
        schema.operators.iter().map(|operator| format!("&{}", operator.name)).collect();
    let mut text = String::from(
        "use crate::schema::OperatorSchema;\nuse crate::types::{DataType, DataTypeSet};\n\n\
         /// Every row, by ascending operator number.\n",
    );
    text += &format!("pub static OPERATORS: &[&OperatorSchema] = &[{}];\n\n", all.join(", "));
    for named in &schema.types {
        let (name, set) = (constant(named), data_types(named.types));
        // The last argument of a cell.
        if rows.contains(&format!(", {name})")) {
            text += &format!("const {name}: DataTypeSet = {set};\n");
        }
    }
    modules(schema, (ROOT, text), &names(schema), |operator| row(operator, &schema.types))
}

/// The names that rows may use, with their paths.
fn names(schema: &Schema) -> BTreeMap<String, String> {
    let of_schema = [
        "Comparison",
        "FastComparison",
        "FieldKind",
        "FieldSchema",
        "FieldType",
        "OperatorSchema",
        "RankSet",
        "Rule",
        "SupportTable",
        "SupportVariant",
        "TensorSupport",
        "VariedSupport",
        "TENSOR_DATA_TYPE",
    ];
    from("crate::operators", ["rules"])
        .chain(from("crate::schema", of_schema))
        .chain(from("crate::schema", schema.enums.iter().map(|it| it.table())))
        .chain(from("crate::types", ["DataType", "DataTypeSet", "FeatureLevel"]))
        .chain(from("super", schema.types.iter().map(constant)))
        .collect()
}

fn row(operator: &Operator, types: &[NamedTypes]) -> String {
    let Operator { name, number, summary, in_place, implemented, fast, .. } = operator;
    let comparisons: String = operator.comparisons.iter().map(|it| comparison(*it)).collect();
    let rule = operator.rule.as_ref().map_or_else(
        || "None".to_owned(),
        |rule| format!("Some(Rule {{ name: {rule:?}, check: rules::{rule} }})"),
    );
    let fields: String = operator.fields.iter().map(|it| field(it) + ",\n").collect();
    let tables = tables(&operator.tables, types);
    let varied = operator
        .varied
        .as_ref()
        .map_or_else(|| "None".to_owned(), |it| format!("Some({})", varied(it, types)));
    let introduced = operator.tables.first().map_or("", |table| table.level);
    format!(
        "/// DML_OPERATOR_{name}, introduced at level {introduced}.\n\
         pub static {name}: OperatorSchema = OperatorSchema {{\n\
         name: {name:?},\n\
         operator_type: {number},\n\
         summary: {summary:?},\n\
         implemented: {implemented},\n\
         in_place: {in_place},\n\
         comparisons: &[{comparisons}],\n\
         fast: FastComparison::{fast:?},\n\
         fields: &[\n{fields}],\n\
         rule: {rule},\n\
         tables: {tables},\n\
         varied: {varied},\n\
         }};\n\n"
    )
}

fn comparison((types, comparison): (TypeSet, Comparison)) -> String {
    let comparison = match comparison {
        Comparison::BitExact => "BitExact".to_owned(),
        Comparison::Ulp(allowed) => format!("Ulp({allowed})"),
    };
    format!("({}, Comparison::{comparison}), ", data_types(types))
}

fn field(field: &Field) -> String {
    let kind = match field.kind {
        FieldKind::Input => "Input",
        FieldKind::Output => "Output",
        FieldKind::Attribute => "Attribute",
    };
    let mut text = format!(
        "FieldSchema::new({:?}, FieldKind::{kind}, FieldType::{:?})",
        field.name, field.field_type
    );
    match field.optional_from {
        Some(level) => text += &format!(".optional_from(FeatureLevel::V{level})"),
        None if field.optional => text += ".optional()",
        None => {}
    }
    if let Some(names) = &field.enumeration {
        text += &format!(".with_enumeration(&{})", names.table());
    }
    if let Some(name) = &field.scalar_type {
        text += &format!(".with_scalar_type({name:?})");
    }
    if let Some(name) = &field.count {
        text += &format!(".with_count({name:?})");
    }
    if let Some(name) = &field.type_of {
        text += &format!(".with_type_of({name:?})");
    }
    if let Some(name) = &field.sizes_of {
        text += &format!(".with_sizes_of({name:?})");
    }
    text
}

fn tables(tables: &[Table], types: &[NamedTypes]) -> String {
    let rows: String = tables.iter().map(|it| table(it, types) + ",\n").collect();
    format!("&[\n{rows}]")
}

fn table(table: &Table, types: &[NamedTypes]) -> String {
    let support = |support: &TensorSupport| {
        let (first, last) = support.ranks;
        let set = named(support.types, types).map_or_else(|| data_types(support.types), constant);
        format!("TensorSupport::new({:?}, RankSet::range({first}, {last}), {set})", support.field)
    };
    let tensors: Vec<String> = table.tensors.iter().map(support).collect();
    format!(
        "SupportTable {{ level: FeatureLevel::V{}, tensors: &[{}] }}",
        table.level,
        tensors.join(", ")
    )
}

fn varied(varied: &VariedSupport, types: &[NamedTypes]) -> String {
    let variant = |variant: &Variant| {
        let tables = tables(&variant.tables, types);
        format!("SupportVariant {{ values: &{:?}, tables: {tables} }},\n", variant.values)
    };
    let variants: String = varied.variants.iter().map(variant).collect();
    format!("VariedSupport {{ field: {:?}, variants: &[\n{variants}] }}", varied.field)
}

fn data_types(types: TypeSet) -> String {
    if types == TypeSet::default() {
        return "DataTypeSet::NONE".to_owned();
    }
    if types == TypeSet::ALL {
        return "DataTypeSet::ALL".to_owned();
    }
    let members = DATA_TYPES.iter().enumerate().filter(|(index, _)| types.0 & (1 << index) != 0);
    let members: Vec<String> = members.map(|(_, (_, it))| format!("DataType::{it}")).collect();
    format!("DataTypeSet::of(&[{}])", members.join(", "))
}

fn named(types: TypeSet, known: &[NamedTypes]) -> Option<&NamedTypes> {
    known.iter().find(|named| named.types == types)
}

fn constant(named: &NamedTypes) -> String {
    named.name.to_ascii_uppercase().replace('-', "_")
}
