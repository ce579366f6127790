//! 4-bit integers and BitCast, on the host and on devices.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::onnx::{Graph, Message, model, node, value};
use common::{host, run_on_both, tensors};
use dml::{DataType, FeatureLevel};
use dml_import::{ElementType, Inputs, Model, NodeSupport, SmallFloat, Tensor};

const INT4: i64 = 22;
const UINT4: i64 = 21;

fn f32s(values: &[f32]) -> Tensor {
    common::f32s(&[values.len() as u64], values)
}

/// A chain of nodes, each with the attribute `to`, from `x` of type `from` to `y`.
fn chain(from: i64, nodes: &[(&str, i64)]) -> Model {
    let mut all = vec![];
    for (index, (op, to)) in nodes.iter().enumerate() {
        let name = |index: usize| match index {
            0 => "x".to_owned(),
            _ if index == nodes.len() => "y".to_owned(),
            _ => format!("v{index}"),
        };
        let to = [("to", *to)];
        let attributes = if matches!(*op, "Cast" | "BitCast") { &to[..] } else { &[] };
        all.push(node(op, &[&name(index)], &[&name(index + 1)], attributes));
    }
    let inputs = vec![value("x", from, &[None])];
    let outputs = vec![value("y", 0, &[])];
    Model::from_bytes(model(26, Graph { nodes: all, inputs, outputs, ..Graph::default() })).unwrap()
}

/// Every byte and many floats, compared with the low 4 bits of the corresponding integer.
#[test]
fn casts_to_4_bits_keep_the_low_ones() {
    let bytes: Vec<u8> = (0..=255).collect();
    let int8 = Tensor::new(ElementType::Dml(DataType::Int8), [256], bytes).unwrap();
    let mut numbers: Vec<f32> = (-300..300).map(|it| it as f32 / 4.0).collect();
    numbers.extend([-0.0, f32::NAN, 70_000.0, -70_001.0, 16_777_216.0, f32::INFINITY]);
    let low = |value: i64, to| {
        let low = u8::try_from(value & 15).unwrap();
        if to == INT4 && low > 7 { low | 0xf0 } else { low }
    };
    on_every_device(|device| {
        for (to, name) in [(INT4, "int4"), (UINT4, "uint4")] {
            let check = |from: i64, x: &Tensor, expected: Vec<u8>| {
                let inputs = Inputs::new().with_tensor("x", x.clone());
                let both = run_on_both(device, &chain(from, &[("Cast", to)]), &inputs).unwrap();
                for found in both.map(|it| tensors(&it).remove(0)) {
                    assert_eq!(found.element_type().to_string(), name);
                    assert_eq!(found.bytes(), expected, "{name} of {from}");
                }
                // Converted and converted back.
                let back = chain(from, &[("Cast", to), ("Cast", 7), ("Cast", to), ("Cast", 1)]);
                let [host, device] = run_on_both(device, &back, &inputs).unwrap();
                assert_eq!(tensors(&host), tensors(&device));
                let signed = |byte: &u8| {
                    if to == INT4 { f32::from(byte.cast_signed()) } else { f32::from(*byte) }
                };
                assert_eq!(
                    tensors(&host),
                    [f32s(&expected.iter().map(signed).collect::<Vec<_>>())]
                );
            };
            let of_bytes = (0..=255u8).map(|it| low(it.cast_signed().into(), to)).collect();
            check(3, &int8, of_bytes);
            #[expect(clippy::cast_possible_truncation, reason = "saturates, as a cast does")]
            let of_numbers =
                numbers.iter().map(|number| low((*number as i32).into(), to)).collect();
            check(1, &f32s(&numbers), of_numbers);
        }
    });
}

#[test]
fn values_of_4_bits_are_moved_and_are_true_where_they_are_not_0() {
    let nodes = vec![
        node("Concat", &["x", "w"], &["c"], &[("axis", 0)]),
        node("Cast", &["c"], &["t"], &[("to", 9)]),
        node("Where", &["t", "c", "w0"], &["y"], &[]),
    ];
    let weight = |name: &str, dims: &[i64], bytes: &[u8]| {
        let tensor = dims.iter().fold(Message::default(), |it, size| it.int(1, *size));
        tensor.int(2, INT4).text(8, name).bytes(9, bytes)
    };
    let graph = Graph {
        nodes,
        initializers: vec![weight("w", &[3], &[0x80, 0x0f]), weight("w0", &[1], &[0x05])],
        inputs: vec![value("x", INT4, &[None])],
        outputs: vec![value("y", INT4, &[])],
    };
    let model = Model::from_bytes(model(25, graph)).unwrap();
    let given = |element, bytes: Vec<u8>| Tensor::new(element, [2], bytes).unwrap();
    let int8 = ElementType::Dml(DataType::Int8);
    on_every_device(|device| {
        // NumPy has no 4-bit type, so int8 is accepted in its place.
        for element in [ElementType::Int4, int8] {
            let inputs = Inputs::new().with_tensor("x", given(element, vec![0xfe, 0]));
            for found in run_on_both(device, &model, &inputs).unwrap() {
                assert_eq!(tensors(&found)[0].bytes(), [0xfe, 5, 5, 0xf8, 0xff]);
            }
        }
    });
    let beyond = model.bind(&Inputs::new().with_tensor("x", given(int8, vec![8, 0])));
    let error = beyond.unwrap_err().to_string();
    assert!(error.contains("input 'x': 8 is not a value of int4; accepted: -8 to 7"), "{error}");
}

#[test]
fn casts_to_4_bits_are_accepted_from_3_0_on() {
    for to in [INT4, UINT4] {
        let inputs = Inputs::new().with_shape("x", [5]);
        let report = chain(1, &[("Cast", to)]).inspect(&inputs).unwrap();
        let support = &report.nodes[0].support;
        let NodeSupport::Operators { level, .. } = support else { panic!("{support:?}") };
        assert_eq!(*level, FeatureLevel::V3_0);
    }
}

#[test]
fn what_adds_numbers_takes_none_of_4_bits() {
    let nodes = vec![node("Add", &["x", "x"], &["y"], &[])];
    let inputs = vec![value("x", UINT4, &[Some(1)])];
    let outputs = vec![value("y", UINT4, &[])];
    let bytes = model(25, Graph { nodes, inputs, outputs, ..Graph::default() });
    let program = Model::from_bytes(bytes).unwrap().bind(&Inputs::new());
    let error = program.unwrap_err().to_string();
    assert!(
        error.contains("inputs: uint4 is the wrong type; accepted: types of 8 bits and more"),
        "{error}"
    );
}

/// BitCast between device operators: the graph is divided there.
#[test]
fn bits_are_seen_as_another_type_anywhere() {
    let x = f32s(&[1.5, 2.0, 0.5, f32::MAX]);
    let inputs = Inputs::new().with_tensor("x", x);
    // No result is NaN.
    let nodes = [("Relu", 0), ("BitCast", 12), ("BitwiseNot", 0), ("BitCast", 1), ("Abs", 0)];
    let expected = [1.5f32, 2.0, 0.5, f32::MAX].map(|it| f32::from_bits(!it.to_bits()).abs());
    on_every_device(|device| {
        let model = chain(1, &nodes);
        let program = model.bind(&inputs).unwrap();
        assert_eq!(program.operators().len(), 3);
        for found in run_on_both(device, &model, &inputs).unwrap() {
            assert_eq!(tensors(&found), [f32s(&expected)]);
        }
        // An input that is read as two types.
        let graph = Graph {
            nodes: vec![
                node("BitCast", &["x"], &["bits"], &[("to", 6)]),
                node("Abs", &["bits"], &["whole"], &[]),
                node("Cast", &["whole"], &["number"], &[("to", 1)]),
                node("Add", &["number", "x"], &["y"], &[]),
            ],
            inputs: vec![value("x", 1, &[None])],
            outputs: vec![value("y", 1, &[]), value("bits", 6, &[])],
            ..Graph::default()
        };
        let both = Model::from_bytes(common::onnx::model(26, graph)).unwrap();
        let given = [-2.0f32, 1.0];
        let inputs = Inputs::new().with_tensor("x", f32s(&given));
        for found in run_on_both(device, &both, &inputs).unwrap() {
            let whole = |it: f32| it.to_bits().cast_signed().unsigned_abs() as f32;
            let found = tensors(&found);
            assert_eq!(found[0], f32s(&given.map(|it| whole(it) + it)));
            assert_eq!(found[1].element_type(), ElementType::INT32);
            assert_eq!(found[1].bytes(), f32s(&given).bytes());
        }
    });
}

#[test]
fn bits_are_as_many_as_before() {
    let refused = |from: i64, to: i64, shape: &[u64], message: &str| {
        let bound = chain(from, &[("BitCast", to)]).bind(&Inputs::new().with_shape("x", shape));
        let error = bound.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    refused(
        1,
        7,
        &[1],
        "attribute to: int64 is another width; accepted: a type as wide as float32",
    );
    refused(3, INT4, &[1], "attribute to: int4 is another width");
    refused(1, 14, &[1], "complex64 has no counterpart");
    let bind = |bytes: &[u8], to: i64, from: i64| {
        let element =
            if from == INT4 { ElementType::Int4 } else { ElementType::Dml(DataType::Uint8) };
        let x = Tensor::new(element, [2], bytes.to_vec()).unwrap();
        chain(from, &[("BitCast", to)]).bind(&Inputs::new().with_tensor("x", x))
    };
    // Truth values must be 0 or 1.
    assert_eq!(host::run(&bind(&[1, 0], 9, 2).unwrap())[0].tensor.bytes(), [1, 0]);
    let error = bind(&[1, 2], 9, 2).unwrap_err().to_string();
    assert!(error.contains("2 is not a value of bool; accepted: 0 to 1"), "{error}");
    assert_eq!(host::run(&bind(&[0xff, 7], UINT4, INT4).unwrap())[0].tensor.bytes(), [15, 7]);
}

/// DirectML's error names the integer type that carries the model's type.
#[test]
fn a_type_that_an_operator_lacks_is_named_as_the_model_names_it() {
    let refused = |op: &str, names: &[&str], expected: &str| {
        let inputs = names.iter().map(|name| value(name, 19, &[Some(2), Some(2)])).collect();
        let (nodes, outputs) = (vec![node(op, names, &["y"], &[])], vec![value("y", 0, &[])]);
        let graph = Graph { nodes, inputs, outputs, ..Graph::default() };
        let model = Model::from_bytes(model(13, graph)).unwrap();
        let small = ElementType::Small(SmallFloat::E5m2);
        let bits = Tensor::new(small, [2, 2], vec![0; 4]).unwrap();
        let given = |all: Inputs, name: &&str| all.with_tensor(*name, bits.clone());
        for inputs in [Inputs::new(), names.iter().fold(Inputs::new(), given)] {
            let error = model.bind(&inputs).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    };
    let product =
        "MatMul 'y': not supported: DirectML's GEMM does not support float8e5m2; accepted: float32";
    refused("MatMul", &["a", "b"], product);
    refused(
        "Softmax",
        &["a"],
        "DirectML's ACTIVATION_SOFTMAX does not support float8e5m2; accepted: float32",
    );
}
