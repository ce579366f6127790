//! Dispatchables: operators under the names that commands call them by.

use dml_core::AbstractOperator;
use serde_json::Value;

use crate::error::{Error, NodeName, Result};

/// An operator, or why it cannot be one.
#[derive(Debug)]
pub(super) struct Dispatchable {
    pub(super) name: String,
    pub(super) node: NodeName,
    pub(super) operator: Result<AbstractOperator>,
}

/// Kinds of dispatchables that are no DirectML operators.
const OTHER_KINDS: [&str; 3] = ["hlsl", "onnx", "dmlserializedgraph"];

impl Dispatchable {
    pub(super) fn read(name: &str, json: &Value) -> Self {
        let kind = json.get("type").or(json.get("Type")).and_then(Value::as_str);
        let kind = kind.unwrap_or("no type");
        let node = NodeName::new(kind.strip_prefix("DML_OPERATOR_").unwrap_or(kind), name);
        let plain = kind.to_ascii_lowercase().replace('_', "");
        let operator = if OTHER_KINDS.contains(&plain.as_str()) {
            Err(node.not_supported("it is no DirectML operator"))
        } else {
            dml_core::json::operator(json)
                .map_err(|error| Error::Operator { node: node.clone(), error: Box::new(error) })
        };
        Self { name: name.to_owned(), node, operator }
    }
}
