//! Programs as callers use them: corner cases of operators, shape arithmetic, and repeated runs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::onnx::{Graph, eye_like, floats, initializer, model, node, number, value};
use common::openvino::{self, EyeInput};
use common::{element, eye, f32s, host, int64, run_on_both, tensors};
use dml::{DeviceOptions, FeatureLevel};
use dml_core::DataType;
use dml_import::program::Step;
use dml_import::{ElementType, Inputs, Model, NodeSupport, Program, Tensor};

const TYPES: [&str; 13] = [
    "bool", "bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64",
];

fn dispatches(program: &Program) -> usize {
    program.steps().iter().filter(|step| matches!(step, Step::Dispatch(_))).count()
}

#[test]
fn every_type_and_diagonal_is_the_formula_s() {
    on_every_device(|device| {
        for name in TYPES {
            let element = element(name);
            let ks = [0, 2, -2, 3, -3, i64::MAX, i64::MIN, 1 << 32, -(1 << 32) - 1];
            for k in ks {
                let model =
                    Model::from_bytes(eye_like(22, element, &[None, None], &[("k", k)])).unwrap();
                for shape in [[3, 4], [0, 4], [3, 0], [1, 1]] {
                    let program = model.bind(&Inputs::new().with_shape("x", shape)).unwrap();
                    let outputs = common::run(device, &program);
                    let expected = eye(element, &shape, k.into());
                    assert_eq!(outputs[0].tensor, expected, "{name} {k} {shape:?}");
                    assert_eq!(tensors(&host::run(&program)), tensors(&outputs));
                    assert_eq!(dispatches(&program), usize::from(!shape.contains(&0)));
                }
            }
        }
    });
}

#[test]
fn bfloat16_needs_opset_22() {
    let of = |opset, attributes: &[(&str, i64)], input: &str| {
        let bytes = eye_like(opset, element(input), &[Some(2), Some(2)], attributes);
        Model::from_bytes(bytes).unwrap().bind(&Inputs::new()).map_err(|error| error.to_string())
    };
    assert!(of(22, &[], "bfloat16").is_ok());
    let error = of(21, &[], "bfloat16").unwrap_err();
    assert!(
        error.contains("EyeLike 'y': input: bfloat16 is the wrong type; accepted: bool"),
        "{error}"
    );
    let error = of(9, &[("dtype", 16)], "float32").unwrap_err();
    assert!(error.contains("attribute dtype: bfloat16 is the wrong type"), "{error}");
    let error = of(8, &[], "float32").unwrap_err();
    assert!(error.contains("ai.onnx 8 is too early; accepted: 9 and later"), "{error}");
}

#[test]
fn a_program_runs_many_times_with_other_values() {
    let inputs = vec![value("x", 6, &[None, None]), value("k", 7, &[])];
    let nodes = vec![node("Trilu", &["x", "k"], &["y"], &[("upper", 0)])];
    let outputs = vec![value("y", 6, &[None, None])];
    let bytes = model(14, Graph { nodes, inputs, outputs, ..Graph::default() });
    let model = Model::from_bytes(bytes).unwrap();
    let k = int64(&[], &[-1]);
    let bound = Inputs::new().with_shape("x", [3, 3]).with_tensor("k", k);
    let program = model.bind(&bound).unwrap();
    let int32 = |values: [i32; 9]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor::new(ElementType::INT32, [3, 3], bytes).unwrap()
    };
    on_every_device(|device| {
        let executable = program.compile(device).unwrap();
        let error = executable.run(&Inputs::new()).unwrap_err().to_string();
        assert_eq!(error, "input 'x': not given, and its values are needed");
        let live = device.vulkan().live_objects();
        let before = live.count();
        for first in 1..=100 {
            let values: [i32; 9] = std::array::from_fn(|it| first + i32::try_from(it).unwrap());
            let outputs = executable.run(&Inputs::new().with_tensor("x", int32(values))).unwrap();
            let expected = int32([0, 0, 0, first + 3, 0, 0, first + 6, first + 7, 0]);
            assert_eq!(outputs[0].tensor, expected);
        }
        // A run creates no pipeline, and leaves no objects behind.
        assert_eq!(live.count(), before);
        let other = Inputs::new().with_tensor("k", int64(&[], &[0]));
        let error = executable.run(&other).unwrap_err().to_string();
        assert!(
            error.contains("cannot be given: shapes depend on the one that was bound"),
            "{error}"
        );
    });
}

#[test]
fn casts_fold_into_what_is_written() {
    let graph = |op: &str, to: i64| {
        let nodes = vec![
            node("ConstantOfShape", &["s"], &["c"], &[]),
            node(op, &["c"], &["m"], &[]),
            node("Cast", &["m"], &["y"], &[("to", to)]),
        ];
        let initializers = vec![initializer("s", &[2], &[2, 3])];
        let outputs = vec![value("y", to, &[])];
        Model::from_bytes(model(14, Graph { nodes, initializers, outputs, ..Graph::default() }))
    };
    for (name, op) in TYPES.iter().flat_map(|name| [(name, "EyeLike"), (name, "Trilu")]) {
        let element = element(name);
        let program = graph(op, number(element)).unwrap().bind(&Inputs::new()).unwrap();
        assert_eq!(dispatches(&program), 1);
        let found = &host::run(&program)[0].tensor;
        // ConstantOfShape's default is 0, and so is every triangle of it.
        let expected = match op {
            "EyeLike" => eye(element, &[2, 3], 0),
            _ => eye(element, &[2, 3], 99),
        };
        assert_eq!(*found, expected, "{name} {op}");
    }
}

/// Products of 16-bit matrices repack constant factors; here one of them is a product itself.
#[test]
fn constant_products_may_be_factors_of_constant_products() {
    let half = number(ElementType::Dml(DataType::Float16));
    let nodes = vec![
        node("Cast", &["w"], &["h"], &[("to", half)]),
        node("MatMul", &["h", "h"], &["square"], &[]),
        node("MatMul", &["square", "h"], &["cube"], &[]),
        node("Add", &["x", "cube"], &["sum"], &[]),
        node("Cast", &["sum"], &["y"], &[("to", 1)]),
    ];
    let initializers = vec![floats("w", &[2, 2], &[1.0, 1.0, 0.0, 1.0])];
    let inputs = vec![value("x", half, &[None, None])];
    let outputs = vec![value("y", 1, &[])];
    let graph = Graph { nodes, initializers, inputs, outputs };
    let model = Model::from_bytes(model(14, graph)).unwrap();
    let zeros = Tensor::new(ElementType::Dml(DataType::Float16), [2, 2], vec![0; 8]).unwrap();
    on_every_device(|device| {
        let given = Inputs::new().with_tensor("x", zeros.clone());
        for found in run_on_both(device, &model, &given).unwrap() {
            assert_eq!(found[0].tensor, f32s(&[2, 2], &[1.0, 3.0, 0.0, 1.0]));
        }
    });
}

#[test]
fn batches_beyond_two_are_folded() {
    let inputs = vec![value("x", 2, &[None, None, None, None, None])];
    let nodes = vec![node("Trilu", &["x"], &["y"], &[])];
    let outputs = vec![value("y", 2, &[])];
    let bytes = model(14, Graph { nodes, inputs, outputs, ..Graph::default() });
    let bytes_of: Vec<u8> = (1..=48).collect();
    let x = Tensor::new(element("uint8"), [2, 2, 3, 2, 2], bytes_of).unwrap();
    let program =
        Model::from_bytes(bytes).unwrap().bind(&Inputs::new().with_tensor("x", x)).unwrap();
    let expected: Vec<u8> = (1..=48).map(|it| if it % 4 == 3 { 0 } else { it }).collect();
    on_every_device(|device| {
        let outputs = common::run(device, &program);
        assert_eq!(outputs[0].tensor.bytes(), expected);
        assert_eq!(outputs[0].tensor.shape(), [2, 2, 3, 2, 2]);
    });
}

#[test]
fn shapes_are_computed_on_the_host() {
    // y = eye(rows = max(x.shape[0] * 2 - 1, 1), columns = x.shape[-1] / 2)
    let nodes = vec![
        node("Shape", &["x"], &["s"], &[]),
        node("Slice", &["s", "zero", "one"], &["rows"], &[]),
        node("Mul", &["rows", "two"], &["twice"], &[]),
        node("Sub", &["twice", "one"], &["less"], &[]),
        node("Max", &["less", "one"], &["height"], &[]),
        node("Gather", &["s", "last"], &["columns"], &[]),
        node("Div", &["columns", "two"], &["width"], &[]),
        node("Concat", &["height", "width"], &["shape"], &[("axis", 0)]),
        node("ConstantOfShape", &["shape"], &["c"], &[]),
        node("EyeLike", &["c"], &["y"], &[("dtype", 7)]),
    ];
    let initializers = vec![
        initializer("zero", &[1], &[0]),
        initializer("one", &[1], &[1]),
        initializer("two", &[1], &[2]),
        initializer("last", &[1], &[-1]),
    ];
    let inputs = vec![value("x", 1, &[None, None, None])];
    let outputs = vec![value("y", 7, &[])];
    let bytes = model(14, Graph { nodes, initializers, inputs, outputs });
    let model = Model::from_bytes(bytes).unwrap();
    let shape = |x: [u64; 3]| {
        let program = model.bind(&Inputs::new().with_shape("x", x)).unwrap();
        host::run(&program).remove(0).tensor
    };
    assert_eq!(shape([3, 9, 8]), eye(ElementType::INT64, &[5, 4], 0));
    assert_eq!(shape([0, 9, 1]), eye(ElementType::INT64, &[1, 0], 0));
}

#[test]
fn inputs_are_held_against_their_declarations() {
    let bytes = eye_like(13, ElementType::FLOAT32, &[Some(3), None], &[]);
    let model = Model::from_bytes(bytes).unwrap();
    let refused = |inputs: &Inputs, message: &str| {
        let error = model.bind(inputs).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    refused(&Inputs::new(), "input 'x': not given, and its shape is needed");
    let message = "input 'x': [4, 3] is not the declared shape; accepted: [3, ?]";
    refused(&Inputs::new().with_shape("x", [4, 3]), message);
    refused(&Inputs::new().with_shape("x", [3]), "[3] is not the declared rank");
    refused(&Inputs::new().with_shape("z", [3]), "unknown input 'z'; the model's inputs are: x");
    let inputs = Inputs::new().with_tensor("x", int64(&[3, 1], &[0, 0, 0]));
    refused(&inputs, "int64 [3, 1] is not of the declared type; accepted: float32");
}

#[test]
fn a_level_that_is_too_low_is_named() {
    let bytes = eye_like(13, ElementType::INT64, &[Some(2), Some(2)], &[]);
    let model = Model::from_bytes(bytes).unwrap();
    let report = model.inspect(&Inputs::new()).unwrap();
    let level = FeatureLevel::V5_1;
    assert_eq!(
        report.nodes[0].support,
        NodeSupport::Operator { operator: "DIAGONAL_MATRIX", level }
    );
    let program = model.bind(&Inputs::new()).unwrap();
    let options = DeviceOptions { feature_level: FeatureLevel::V4_0, ..DeviceOptions::default() };
    let device = dml::Device::open_with(&options).unwrap();
    let error = program.compile(&device).unwrap_err().to_string();
    assert!(
        error.contains("EyeLike 'y': DIAGONAL_MATRIX: OutputTensor.DataType: INT64 needs"),
        "{error}"
    );
}

/// Zero rows, zero columns or a batch of 0 give an empty result of the right shape, without a dispatch.
#[test]
fn empty_matrices_need_no_dispatch() {
    let check = |model: &Model, inputs: &Inputs, shape: &[u64], element: ElementType| {
        let program = model.bind(inputs).unwrap();
        assert_eq!(dispatches(&program), 0);
        assert!(!program.needs_device() && program.buffers().is_empty());
        let expected = Tensor::new(element, shape, vec![]).unwrap();
        assert_eq!(program.run_on_host(&Inputs::new()).unwrap()[0].tensor, expected);
    };
    let eye_like =
        Model::from_bytes(eye_like(22, ElementType::Bfloat16, &[None, None], &[])).unwrap();
    for shape in [[0, 4], [4, 0], [0, 0]] {
        check(&eye_like, &Inputs::new().with_shape("x", shape), &shape, ElementType::Bfloat16);
    }
    let one = |value| int64(&[], &[value]);
    let operands = [
        EyeInput::parameter("i64", ""),
        EyeInput::parameter("i64", ""),
        EyeInput::parameter("i64", ""),
        EyeInput::parameter("i64", "?"),
    ];
    let (xml, _) = openvino::eye("u8", &operands);
    let eye = Model::from_bytes(xml).unwrap();
    for (batch, rows, columns) in [
        (&[0][..], 2, 3),
        (&[2, 0, 3], 2, 3),
        (&[i64::MAX, 0, i64::MAX], 2, 3),
        (&[2], 0, 3),
        (&[2], 3, 0),
        (&[], 0, 0),
    ] {
        let inputs = Inputs::new().with_tensor("rows", one(rows)).with_tensor("cols", one(columns));
        let inputs = inputs.with_tensor("k", one(i64::MIN));
        let inputs = inputs.with_tensor("batch", int64(&[batch.len() as u64], batch));
        let shape: Vec<u64> =
            batch.iter().chain(&[rows, columns]).map(|it| u64::try_from(*it).unwrap()).collect();
        check(&eye, &inputs, &shape, element("uint8"));
    }
    // In contrast, an empty batch shape means one matrix.
    let inputs = Inputs::new().with_tensor("rows", one(1)).with_tensor("cols", one(1));
    let inputs = inputs.with_tensor("k", one(0)).with_tensor("batch", int64(&[0], &[]));
    assert_eq!(dispatches(&eye.bind(&inputs).unwrap()), 1);
}

/// Inputs that are OWNED_BY_DML are kept by the first dispatch; each run begins anew.
#[test]
fn scripts_keep_what_is_owned_from_the_first_dispatch_on() {
    let tensor = r#""DataType": "INT32", "Sizes": [2, 3]"#;
    let buffer = |name: &str, values: &str| {
        format!(r#""{name}": {{ "initialValuesDataType": "INT32", "initialValues": {values} }}"#)
    };
    let script = format!(
        r#"{{ "resources": {{ {}, {}, {} }},
            "dispatchables": {{
                "tri": {{ "type": "DIAGONAL_MATRIX1", "desc": {{
                    "InputTensor": {{ {tensor}, "Flags": "OWNED_BY_DML" }},
                    "OutputTensor": {{ {tensor} }}, "ValueDataType": "INT32", "Value": 0,
                    "DiagonalFillBegin": 1, "DiagonalFillEnd": 9 }} }},
                "fill": {{ "type": "FILL_VALUE_CONSTANT", "desc": {{
                    "OutputTensor": {{ {tensor} }}, "ValueDataType": "INT32", "Value": 7 }} }} }},
            "commands": [
                {{ "type": "dispatch", "dispatchable": "tri",
                   "bindings": {{ "InputTensor": "In", "OutputTensor": "A" }} }},
                {{ "type": "dispatch", "dispatchable": "fill", "bindings": {{ "OutputTensor": "In" }} }},
                {{ "type": "print", "resource": "In" }},
                {{ "type": "dispatch", "dispatchable": "tri",
                   "bindings": {{ "InputTensor": "In", "OutputTensor": "B" }} }},
                {{ "type": "print", "resource": "A" }},
                {{ "type": "print", "resource": "B" }} ] }}"#,
        buffer("In", r#"{ "valueCount": 6, "valueStart": 1, "valueDelta": 1 }"#),
        buffer("A", r#"{ "valueCount": 6, "value": -1 }"#),
        buffer("B", r#"{ "valueCount": 6, "value": -1 }"#),
    );
    let program = Model::from_bytes(script).unwrap().bind(&Inputs::new()).unwrap();
    let bytes =
        |values: [i32; 6]| values.into_iter().flat_map(i32::to_le_bytes).collect::<Vec<u8>>();
    let kept = bytes([1, 0, 0, 4, 5, 0]);
    let expected = [bytes([7; 6]), kept.clone(), kept];
    on_every_device(|device| {
        let executable = program.compile(device).unwrap();
        for _ in 0..2 {
            let outputs = executable.run(&Inputs::new()).unwrap();
            let found: Vec<&[u8]> = outputs.iter().map(|output| output.tensor.bytes()).collect();
            assert_eq!(found, expected);
        }
    });
}
