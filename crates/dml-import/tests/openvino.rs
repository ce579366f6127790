//! Layers of OpenVINO IR that are a row of a table, compared with results computed by hand.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::{f32s, int64, run, tensors};
use dml_import::{ElementType, Inputs, Model, Tensor};

/// A model of one layer whose inputs are parameters of open shapes.
fn model(kind: &str, opset: u32, data: &str, inputs: &[&Tensor]) -> Model {
    let (mut layers, mut ports, mut edges) = (String::new(), String::new(), String::new());
    for (index, tensor) in inputs.iter().enumerate() {
        let element = match tensor.element_type() {
            ElementType::Bool => "boolean".to_owned(),
            ElementType::INT64 => "i64".to_owned(),
            _ => "f32".to_owned(),
        };
        layers += &format!(
            "<layer id=\"{index}\" name=\"x{index}\" type=\"Parameter\" version=\"opset1\">\
             <data element_type=\"{element}\" shape=\"...\"/><output><port id=\"0\"/></output></layer>"
        );
        ports += &format!("<port id=\"{index}\"/>");
        edges += &format!(
            "<edge from-layer=\"{index}\" from-port=\"0\" to-layer=\"90\" to-port=\"{index}\"/>"
        );
    }
    let xml = format!(
        "<net name=\"one\" version=\"11\"><layers>{layers}\
         <layer id=\"90\" name=\"y\" type=\"{kind}\" version=\"opset{opset}\"><data {data}/>\
         <input>{ports}</input><output><port id=\"9\"/></output></layer>\
         <layer id=\"91\" name=\"r\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\
         </layers><edges>{edges}\
         <edge from-layer=\"90\" from-port=\"9\" to-layer=\"91\" to-port=\"0\"/></edges></net>"
    );
    Model::from_bytes(xml).unwrap()
}

fn given(inputs: &[&Tensor]) -> Inputs {
    let add = |all: Inputs, (index, tensor): (usize, &&Tensor)| {
        all.with_tensor(format!("x{index}"), (*tensor).clone())
    };
    inputs.iter().enumerate().fold(Inputs::new(), add)
}

#[track_caller]
fn check(kind: &str, opset: u32, data: &str, inputs: &[&Tensor], expected: &Tensor) {
    let floats = |it: &Tensor| -> Vec<f32> {
        it.bytes().chunks_exact(4).map(|it| f32::from_le_bytes(it.try_into().unwrap())).collect()
    };
    on_every_device(|device| {
        let model = model(kind, opset, data, inputs);
        let found = tensors(&run(device, &model.bind(&given(inputs)).unwrap())).remove(0);
        assert_eq!(found.shape(), expected.shape(), "{kind}");
        assert_eq!(found.element_type(), expected.element_type(), "{kind}");
        if found.element_type() != ElementType::FLOAT32 {
            assert_eq!(&found, expected, "{kind}");
            return;
        }
        for (found, expected) in floats(&found).into_iter().zip(floats(expected)) {
            let is_near = (found - expected).abs() <= 1e-5 * expected.abs().max(1.0);
            assert!(is_near, "{kind}: {found} for {expected}");
        }
    });
}

fn truths(values: &[u8]) -> Tensor {
    Tensor::new(ElementType::Bool, [values.len() as u64], values.to_vec()).unwrap()
}

#[test]
fn functions_of_one_number_have_their_values() {
    let one = |kind, opset, data, x: f32, y: f32| {
        check(kind, opset, data, &[&f32s(&[1], &[x])], &f32s(&[1], &[y]));
    };
    one("Sigmoid", 1, "", 0.0, 0.5);
    one("Exp", 1, "", 1.0, std::f32::consts::E);
    one("Log", 1, "", std::f32::consts::E, 1.0);
    one("Sqrt", 1, "", 9.0, 3.0);
    one("Sign", 1, "", -7.0, -1.0);
    one("Erf", 1, "", 1.0, 0.842_700_8);
    one("Sin", 1, "", std::f32::consts::FRAC_PI_6, 0.5);
    one("Cos", 1, "", 0.0, 1.0);
    one("Tan", 1, "", std::f32::consts::FRAC_PI_4, 1.0);
    one("Asin", 1, "", 1.0, std::f32::consts::FRAC_PI_2);
    one("Acos", 1, "", 1.0, 0.0);
    one("Atan", 1, "", 1.0, std::f32::consts::FRAC_PI_4);
    one("Sinh", 1, "", 1.0, 1.175_201_2);
    one("Cosh", 1, "", 1.0, 1.543_080_6);
    one("Tanh", 1, "", 1.0, 0.761_594_2);
    one("Asinh", 4, "", 1.0, 0.881_373_6);
    one("Acosh", 4, "", 2.0, 1.316_958);
    one("Atanh", 4, "", 0.5, 0.549_306_1);
    one("Ceiling", 1, "", 1.2, 2.0);
    one("Floor", 1, "", -1.2, -2.0);
    one("SoftSign", 9, "", -3.0, -0.75);
    one("SoftPlus", 4, "", 0.0, std::f32::consts::LN_2);
    one("Swish", 4, "", 1.0, 0.731_058_6);
    one("Mish", 4, "", 1.0, 0.865_098_4);
    one("HSwish", 4, "", 1.0, 2.0 / 3.0);
    one("HSigmoid", 5, "", 1.0, 2.0 / 3.0);
    one("Gelu", 2, "", 1.0, 0.841_344_7);
    one("Gelu", 7, "approximation_mode=\"TANH\"", 1.0, 0.841_192);
    one("Elu", 1, "alpha=\"2\"", -1.0, -1.264_241_1);
    one("Clamp", 1, "min=\"-1.5\" max=\"2\"", -7.0, -1.5);
    one("Round", 5, "mode=\"half_to_even\"", 2.5, 2.0);
}

#[test]
fn functions_of_two_numbers_repeat_dimensions_of_size_1() {
    let (a, b) = (f32s(&[2, 1], &[3.0, -2.0]), f32s(&[2], &[2.0, 4.0]));
    check("Power", 1, "", &[&a, &b], &f32s(&[2, 2], &[9.0, 81.0, 4.0, 16.0]));
    let squares = f32s(&[2, 2], &[1.0, 1.0, 16.0, 36.0]);
    check("SquaredDifference", 1, "", &[&a, &b], &squares);
    let (a, b) = (f32s(&[3], &[1.0, 2.0, 3.0]), f32s(&[1], &[2.0]));
    check("Greater", 1, "", &[&a, &b], &truths(&[0, 0, 1]));
    check("GreaterEqual", 1, "", &[&a, &b], &truths(&[0, 1, 1]));
    check("LessEqual", 1, "", &[&a, &b], &truths(&[1, 1, 0]));
    check("Equal", 1, "", &[&a, &b], &truths(&[0, 1, 0]));
    let (p, q) = (truths(&[0, 0, 1, 1]), truths(&[0, 1, 0, 1]));
    check("LogicalAnd", 1, "", &[&p, &q], &truths(&[0, 0, 0, 1]));
    check("LogicalOr", 1, "", &[&p, &q], &truths(&[0, 1, 1, 1]));
    check("LogicalXor", 1, "", &[&p, &q], &truths(&[0, 1, 1, 0]));
    check("LogicalNot", 1, "", &[&p], &truths(&[1, 1, 0, 0]));
}

#[test]
fn rows_are_normalized_and_reduced_along_the_axes_that_are_given() {
    let x = f32s(&[2, 2], &[0.0, 0.0, 1.0, 1.0]);
    check("SoftMax", 8, "axis=\"-1\"", &[&x], &f32s(&[2, 2], &[0.5; 4]));
    let ln2 = -std::f32::consts::LN_2;
    check("LogSoftmax", 5, "axis=\"1\"", &[&x], &f32s(&[2, 2], &[ln2; 4]));
    let (x, axis) = (f32s(&[2, 2], &[3.0, -4.0, 1.0, 2.0]), int64(&[1], &[1]));
    let reduced = |kind, opset, expected: [f32; 2]| {
        check(kind, opset, "keep_dims=\"true\"", &[&x, &axis], &f32s(&[2, 1], &expected));
        check(kind, opset, "", &[&x, &axis], &f32s(&[2], &expected));
    };
    reduced("ReduceSum", 1, [-1.0, 3.0]);
    reduced("ReduceMean", 1, [-0.5, 1.5]);
    reduced("ReduceProd", 1, [-12.0, 2.0]);
    reduced("ReduceMin", 1, [-4.0, 1.0]);
    reduced("ReduceMax", 1, [3.0, 2.0]);
    reduced("ReduceL1", 4, [7.0, 3.0]);
    reduced("ReduceL2", 4, [5.0, 5f32.sqrt()]);
    // An empty list of axes reduces nothing.
    check("ReduceSum", 1, "", &[&x, &int64(&[0], &[])], &x);
}

#[test]
fn elements_are_moved_as_the_layer_says() {
    let x = f32s(&[1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let turned = f32s(&[3, 1, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    check("Transpose", 1, "", &[&x, &int64(&[3], &[2, 0, 1])], &turned);
    let reversed = f32s(&[3, 2, 1], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    check("Transpose", 1, "", &[&x, &int64(&[0], &[])], &reversed);
    let (pair, twice) = (f32s(&[1, 2], &[1.0, 2.0]), f32s(&[2, 2], &[1.0, 2.0, 1.0, 2.0]));
    check("Tile", 1, "", &[&pair, &int64(&[2], &[2, 1])], &twice);
    check("Identity", 16, "", &[&pair], &pair);
    let channels: Vec<f32> = (0u8..8).map(f32::from).collect();
    let x = f32s(&[1, 8, 1, 1], &channels);
    let data = |mode: &str| format!("block_size=\"2\" mode=\"{mode}\"");
    // Channel c of a block is the c-th group of two channels, or every fourth channel.
    let first = f32s(&[1, 2, 2, 2], &[0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]);
    let depth = f32s(&[1, 2, 2, 2], &channels);
    check("DepthToSpace", 1, &data("blocks_first"), &[&x], &first);
    check("DepthToSpace", 1, &data("depth_first"), &[&x], &depth);
    check("SpaceToDepth", 1, &data("blocks_first"), &[&first], &x);
}

#[test]
fn a_layer_that_is_not_read_is_refused_with_all_that_are() {
    let x = f32s(&[1], &[1.0]);
    let refused = |kind, opset, data| {
        model(kind, opset, data, &[&x]).bind(&given(&[&x])).unwrap_err().to_string()
    };
    let said = refused("Convolution", 1, "");
    let reads = "Convolution 'y': not supported: the OpenVINO reader does not read this type of layer; it reads: \
                 Abs, Acos, ";
    assert!(said.contains(reads) && said.contains(", Sigmoid, "), "{said}");
    let said = refused("Sigmoid", 0, "");
    assert!(said.contains("opset0 is too early; accepted: opset1 and later"), "{said}");
    let said = refused("Elu", 1, "alpha=\"x\"");
    assert!(said.contains("attribute alpha: x is not a number"), "{said}");
    let said = refused("SpaceToDepth", 1, "block_size=\"2\" mode=\"depth_first\"");
    assert!(said.contains("its mode is depth_first"), "{said}");
    let said = refused("Round", 5, "mode=\"half_away_from_zero\"");
    assert!(said.contains("its mode is half_away_from_zero"), "{said}");
}
