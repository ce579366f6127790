//! DxDispatch models: every part of the format, on the host and on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod graphs;
mod models;
mod operators;
mod resources;

use common::device::on_every_device;
use common::run_on_both;
use dml::core::FieldValue;
use dml_import::program::{Output, Step, Work};
use dml_import::{Inputs, Model, NodeSupport, Program};
use serde_json::{Value, json};

fn tensor(sizes: &[u32]) -> Value {
    json!({ "DataType": "FLOAT32", "Sizes": sizes })
}

fn owned(sizes: &[u32]) -> Value {
    json!({ "DataType": "FLOAT32", "Sizes": sizes, "Flags": "OWNED_BY_DML" })
}

fn floats(values: &[f32]) -> Value {
    json!({ "initialValuesDataType": "FLOAT32", "initialValues": values })
}

fn zeros(count: u32) -> Value {
    floats(&vec![0.0; usize::try_from(count).unwrap()])
}

fn dispatch(name: &str, bindings: Value) -> Value {
    json!({ "type": "dispatch", "dispatchable": name, "bindings": bindings })
}

fn print(resource: &str) -> Value {
    json!({ "type": "print", "resource": resource })
}

fn model(resources: Value, dispatchables: Value, commands: &[Value]) -> Model {
    let model = json!({
        "resources": resources, "dispatchables": dispatchables, "commands": commands
    });
    Model::from_bytes(model.to_string()).unwrap()
}

fn bind(model: &Model) -> Program {
    model.bind(&Inputs::new()).unwrap()
}

fn refusal(model: &Model) -> String {
    model.bind(&Inputs::new()).unwrap_err().to_string()
}

fn values(output: &Output) -> Vec<f32> {
    assert_eq!(output.tensor.element_type().to_string(), "float32");
    output.tensor.bytes().as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect()
}

/// Checks what a model prints, on the host and on every device.
fn check(model: &Model, expected: &[&[f32]]) {
    on_every_device(|device| {
        for outputs in run_on_both(device, model, &Inputs::new()).unwrap() {
            assert_eq!(outputs.iter().map(values).collect::<Vec<_>>(), expected);
        }
    });
}

fn sum(a: Value, b: Value, output: Value) -> Value {
    let desc = json!({ "ATensor": a, "BTensor": b, "OutputTensor": output });
    json!({ "type": "DML_OPERATOR_ELEMENT_WISE_ADD", "desc": desc })
}
