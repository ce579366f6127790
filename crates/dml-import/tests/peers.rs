//! The test cases of other projects.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::openvino::EyeInput;
use common::{data, element, eye, int64, onnx, openvino, run_on_both};
use dml::Device;
use dml_import::{Inputs, Model, Tensor};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Case {
    id: String,
    format: String,
    shape: Vec<u64>,
    #[serde(default)]
    k: i64,
    element: Option<String>,
    input_element: Option<String>,
    /// Whether the operator has a batch shape, which may be empty.
    #[serde(default)]
    batch: bool,
    /// Whether EyeLike has the attribute `dtype`.
    #[serde(default)]
    dtype: bool,
    value: Option<f64>,
    begin: Option<i64>,
    end: Option<i64>,
    input: Option<Vec<f64>>,
    /// Expected values in multiples of 1; `None` for the formula's values.
    expect: Option<Vec<f64>>,
}

/// A model, its inputs, and the folder of its constants, which are read later.
type ModelWithInputs = (Model, Inputs, Option<tempfile::TempDir>);

fn run_all(device: &Device) -> usize {
    let cases = std::fs::read(data("cases/peers.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_slice(&cases).unwrap();
    for case in &cases {
        let (model, inputs, _folder) = match case.format.as_str() {
            "onnx" => onnx_model(case),
            "openvino" => openvino_model(case),
            _ => (script(case), Inputs::new(), None),
        };
        for outputs in run_on_both(device, &model, &inputs).unwrap() {
            let found = &outputs[0].tensor;
            assert_eq!(found.shape().iter().product::<u64>(), case.shape.iter().product::<u64>());
            if case.begin.is_none() && case.value.is_none_or(|value| value == 1.0) {
                let element = element(case.element.as_deref().unwrap_or("FLOAT32"));
                let expected = eye(element, &case.shape, case.k.into());
                assert_eq!(found.bytes(), expected.bytes(), "{}", case.id);
                assert_eq!(found.element_type(), element, "{}", case.id);
            }
            if let Some(expected) = &case.expect {
                let found = if case.format == "dxdispatch" { floats(found) } else { ones(found) };
                assert_eq!(&found, expected, "{}", case.id);
            }
        }
    }
    cases.len()
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    let (chunks, _) = tensor.bytes().as_chunks::<4>();
    chunks.iter().map(|chunk| f32::from_le_bytes(*chunk).into()).collect()
}

/// 1 where any bit is set; the expected bits are compared with the formula.
fn ones(tensor: &Tensor) -> Vec<f64> {
    let width = usize::try_from(tensor.element_type().size().unwrap()).unwrap();
    let set = |chunk: &[u8]| chunk.iter().any(|byte| *byte != 0);
    tensor.bytes().chunks(width).map(|it| f64::from(u8::from(set(it)))).collect()
}

fn onnx_model(case: &Case) -> ModelWithInputs {
    let output = element(case.element.as_ref().unwrap());
    let input = case.input_element.as_ref().map_or(output, |name| element(name));
    let mut attributes = vec![("k", case.k)];
    if case.dtype {
        attributes.push(("dtype", onnx::number(output)));
    }
    let bytes = onnx::eye_like(9, input, &[None, None], &attributes);
    let inputs = Inputs::new().with_shape("x", case.shape.as_slice());
    (Model::from_bytes(bytes).unwrap(), inputs, None)
}

/// Rows and columns are constants, and the diagonal and the batch shape are parameters.
fn openvino_model(case: &Case) -> ModelWithInputs {
    let index = case.input_element.as_deref().unwrap_or("i64");
    let (batch, matrix) = case.shape.split_at(case.shape.len() - 2);
    let constant = |value: u64| EyeInput {
        element: index.to_owned(),
        shape: "1",
        values: Some(vec![i64::try_from(value).unwrap()]),
    };
    let mut operands = vec![constant(matrix[0]), constant(matrix[1])];
    operands.push(EyeInput::parameter(index, ""));
    let typed = |shape: &[u64], values: &[i64]| {
        let width = if index == "i32" { 4 } else { 8 };
        let bytes = values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(width));
        Tensor::new(element(index), shape, bytes.collect::<Vec<u8>>()).unwrap()
    };
    let mut inputs = Inputs::new().with_tensor("k", typed(&[], &[case.k]));
    if case.batch {
        operands.push(EyeInput::parameter(index, "?"));
        let sizes: Vec<i64> = batch.iter().map(|size| i64::try_from(*size).unwrap()).collect();
        inputs = inputs.with_tensor("batch", typed(&[sizes.len() as u64], &sizes));
    }
    let folder = tempfile::tempdir().unwrap();
    let files = openvino::eye(case.element.as_ref().unwrap(), &operands);
    let path = openvino::write(folder.path(), files);
    let model = Model::read(path).unwrap();
    (model, inputs, Some(folder))
}

fn script(case: &Case) -> Model {
    let tensor = json!({ "DataType": "FLOAT32", "Sizes": case.shape });
    let count: u64 = case.shape.iter().product();
    let buffer = |values| json!({ "initialValuesDataType": "FLOAT32", "initialValues": values });
    let mut resources = json!({ "Out": buffer(json!({ "valueCount": count, "value": "nan" })) });
    let mut bindings = json!({ "OutputTensor": "Out" });
    let (kind, mut desc) = match case.begin {
        None => ("DML_OPERATOR_DIAGONAL_MATRIX", json!({ "Offset": case.k, "Value": case.value })),
        Some(begin) => (
            "DIAGONAL_MATRIX1",
            json!({
                "ValueDataType": "DML_TENSOR_DATA_TYPE_FLOAT32", "Value": case.value,
                "DiagonalFillBegin": begin, "DiagonalFillEnd": case.end
            }),
        ),
    };
    desc["OutputTensor"] = tensor.clone();
    if let Some(input) = &case.input {
        desc["InputTensor"] = tensor;
        resources["In"] = buffer(json!(input));
        bindings["InputTensor"] = json!("In");
    }
    let model = json!({
        "resources": resources,
        "dispatchables": { "op": { "type": kind, "desc": desc } },
        "commands": [
            { "type": "dispatch", "dispatchable": "op", "bindings": bindings },
            { "type": "print", "resource": "Out" }
        ]
    });
    Model::from_bytes(model.to_string()).unwrap()
}

#[test]
fn every_case_gives_what_its_source_says_on_every_device() {
    on_every_device(|device| assert_eq!(run_all(device), 479));
}

/// The tensor of a .pb file, as the fields of TensorProto.
fn protobuf(bytes: &[u8]) -> Tensor {
    let nodes = vec![
        onnx::node("Constant", &[], &["y"], &[])
            .message(5, onnx::Message::default().text(1, "value").bytes(5, bytes).int(20, 4)),
    ];
    let outputs = vec![onnx::value("y", 1, &[])];
    let model = onnx::model(13, onnx::Graph { nodes, outputs, ..Default::default() });
    let program = Model::from_bytes(model).unwrap().bind(&Inputs::new()).unwrap();
    program.run_on_host(&Inputs::new()).unwrap().remove(0).tensor
}

fn run_backend_cases(device: &Device) -> usize {
    let mut cases = 0;
    for entry in std::fs::read_dir(data("onnx-backend")).unwrap() {
        let folder = entry.unwrap().path();
        let set = folder.join("test_data_set_0");
        if !set.is_dir() {
            continue;
        }
        let read = |name: &str| std::fs::read(set.join(name)).map(|it| protobuf(&it));
        let mut inputs = Inputs::new().with_tensor("x", read("input_0.pb").unwrap());
        if let Ok(k) = read("input_1.pb") {
            inputs = inputs.with_tensor("k", k);
        }
        let model = Model::read(folder.join("model.onnx")).unwrap();
        let expected = read("output_0.pb").unwrap();
        for outputs in run_on_both(device, &model, &inputs).unwrap() {
            assert_eq!(outputs[0].tensor, expected, "{}", folder.display());
        }
        cases += 1;
    }
    cases
}

#[test]
fn the_onnx_project_s_own_cases_pass_on_every_device() {
    on_every_device(|device| assert_eq!(run_backend_cases(device), 21));
}

#[test]
fn openvino_s_own_refusals_are_refused() {
    let scalar = || EyeInput::parameter("i64", "");
    let refused = |operands: Vec<EyeInput>, inputs: Inputs, message: &str| {
        let (xml, _) = openvino::eye("i32", &operands);
        let inputs = operands.iter().zip(["rows", "cols", "k", "batch"]).fold(
            inputs,
            |inputs, (operand, name)| match inputs.get(name) {
                None if operand.shape.is_empty() => inputs.with_tensor(name, int64(&[], &[2])),
                _ => inputs,
            },
        );
        let model = Model::from_bytes(xml).unwrap();
        let error = model.bind(&inputs).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    let none = Inputs::new;
    let negative = none().with_tensor("cols", int64(&[], &[-6]));
    refused(vec![scalar(), scalar(), scalar()], negative, "num_columns: -6 is not a size");
    let floats = none().with_shape("rows", []);
    let operands = vec![EyeInput::parameter("bf16", ""), scalar(), scalar()];
    refused(operands, floats, "num_rows: bfloat16 is the wrong type; accepted: int32, int64");
    let three = none().with_tensor("cols", int64(&[3], &[1, 1, 1]));
    let operands = vec![scalar(), EyeInput::parameter("i64", "3"), scalar()];
    refused(operands, three, "num_columns: [3] is the wrong shape");
    let nested = none().with_tensor("k", int64(&[1, 1], &[1]));
    let operands = vec![scalar(), scalar(), EyeInput::parameter("i64", "1,1")];
    refused(operands, nested, "diagonal_index: [1, 1] is the wrong shape");
    refused(vec![scalar()], none(), "inputs: 1 is the wrong number; accepted: 3 to 4");
}
