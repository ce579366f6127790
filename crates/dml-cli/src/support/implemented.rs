//! The table of README: what this runtime has, on any device.

use dml::FeatureLevel;
use dml::core::operators::OPERATORS;
use dml::core::schema::{OperatorSchema, TensorSupport};

/// A table in Markdown with a row for each implemented operator, or for each group of its tensors
/// that take other types or dimension counts.
pub(super) fn table() -> String {
    let implemented: Vec<&OperatorSchema> =
        OPERATORS.iter().copied().filter(|it| it.implemented).collect();
    let highest = FeatureLevel::HIGHEST;
    let mut text = format!(
        "{} of DirectML's {} operators are implemented, at every feature level that has them.\n\n\
         | Operator | From level | Data types at {highest} | Dimensions at {highest} |\n\
         |---|---|---|---|\n",
        implemented.len(),
        OPERATORS.len()
    );
    for schema in implemented {
        let tensors = schema.table_at(highest).map_or(&[][..], |table| table.tensors);
        for (index, support) in distinct(tensors).into_iter().enumerate() {
            let (name, level) = if index == 0 {
                (schema.name, schema.introduced().to_string())
            } else {
                ("", String::new())
            };
            let TensorSupport { ranks, data_types, .. } = support;
            text += &format!("| {name} | {level} | {data_types} | {ranks} |\n");
        }
    }
    text.trim_end().to_owned()
}

/// The first of those that accept the same.
fn distinct(tensors: &[TensorSupport]) -> Vec<&TensorSupport> {
    let mut found: Vec<&TensorSupport> = Vec::new();
    for tensor in tensors {
        let is_known =
            found.iter().any(|it| it.ranks == tensor.ranks && it.data_types == tensor.data_types);
        if !is_known {
            found.push(tensor);
        }
    }
    found
}
