//! Dispatchables of type `onnx`: ONNX models beside the script.

use std::path::Path;

use dml_import::{Inputs, Model};
use serde_json::{Value, json};

use crate::common::device::on_every_device;
use crate::common::onnx::{Graph, Message, floats, model, node, value};
use crate::common::run_on_both;
use crate::{dispatch, floats as resource, print, values, zeros};

/// A model with the outputs `y = relu(x) + w` of shape [N, 2], the input itself, and a constant.
fn onnx() -> Vec<u8> {
    let size = Message::default().text(2, "N");
    let shape = Message::default().message(1, size).message(1, Message::default().int(1, 2));
    let tensor = Message::default().int(1, 1).message(2, shape);
    let input = Message::default().text(1, "x").message(2, Message::default().message(1, tensor));
    let nodes = vec![
        node("Relu", &["x"], &["r"], &[]),
        node("Add", &["r", "w"], &["y"], &[]),
        node("Identity", &["x"], &["same"], &[]),
        node("Identity", &["w"], &["constant"], &[]),
    ];
    let outputs = ["y", "same", "constant"].map(|name| value(name, 1, &[])).into();
    let initializers = vec![floats("w", &[2], &[10.0, 20.0])];
    model(20, Graph { nodes, inputs: vec![input], outputs, initializers })
}

fn script(dispatchable: &Value, commands: &[Value]) -> Value {
    json!({
        "resources": {
            "a": resource(&[1.0, -2.0, -3.0, 4.0]), "b": resource(&[-5.0, 6.0, 7.0, -8.0]),
            "sum": zeros(4), "other": { "initialValues": "deferred" }, "two": zeros(2)
        },
        "dispatchables": { "model": dispatchable },
        "commands": commands
    })
}

fn read(folder: &Path, script: &Value) -> Model {
    std::fs::write(folder.join("model.onnx"), onnx()).unwrap();
    std::fs::write(folder.join("script.json"), script.to_string()).unwrap();
    Model::read(folder.join("script.json")).unwrap()
}

fn of_two_rows() -> Value {
    let sizes = json!({ "N": 2 });
    json!({ "type": "onnx", "sourcePath": "model.onnx", "freeDimensionNameOverrides": sizes })
}

#[test]
fn a_model_is_dispatched_with_resources_for_its_inputs_and_outputs() {
    let commands = [
        dispatch("model", json!({ "x": "a", "y": "sum", "constant": "two" })),
        print("sum"),
        print("two"),
        dispatch("model", json!({ "x": "b", "y": "sum", "same": "other" })),
        print("sum"),
        print("other"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let script = read(folder.path(), &script(&of_two_rows(), &commands));
    on_every_device(|device| {
        for outputs in run_on_both(device, &script, &Inputs::new()).unwrap() {
            let found: Vec<Vec<f32>> = outputs.iter().map(values).collect();
            let expected = [
                vec![11.0, 20.0, 10.0, 24.0],
                vec![10.0, 20.0],
                vec![10.0, 26.0, 17.0, 20.0],
                vec![-5.0, 6.0, 7.0, -8.0],
            ];
            assert_eq!(found, expected);
        }
    });
}

#[test]
fn what_is_wrong_with_a_model_is_said_with_its_place() {
    let refused = |dispatchable: Value, bindings: Value| {
        let folder = tempfile::tempdir().unwrap();
        let script = script(&dispatchable, &[dispatch("model", bindings)]);
        let model = read(folder.path(), &script);
        model.bind(&Inputs::new()).unwrap_err().to_string()
    };
    let bound = || json!({ "x": "a", "y": "sum" });
    let at = |path: &str| json!({ "type": "onnx", "sourcePath": path });
    for (dispatchable, bindings, problem) in [
        (at("model.onnx"), bound(), "dispatchables.model.sourcePath: "),
        (at("../model.onnx"), bound(), "dispatchables.model.sourcePath: "),
        (at("none.onnx"), bound(), "dispatchables.model.sourcePath: "),
        (json!({ "type": "onnx" }), bound(), "dispatchables.model.sourcePath: null is missing"),
        (of_two_rows(), json!({ "y": "sum" }), "bindings.x: null is missing"),
        (of_two_rows(), json!({ "x": "a", "z": "sum" }), "bindings.z: "),
    ] {
        let message = refused(dispatchable, bindings);
        assert!(message.contains(problem), "{message}");
    }
}
