//! QuantizeLinear and DequantizeLinear: accepted scales and zero points, and their types.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::onnx::{Graph, Message, floats, model, node, value};
use common::{f32s, host};
use dml_core::{Capabilities, FeatureLevel, Tuning, validate_graph};
use dml_import::program::Work;
use dml_import::{Inputs, Model, Program, Tensor};
use dml_ops::graph::compile_graph;
use dml_ops::{Target, TransferUse};

fn result(program: &Program) -> Tensor {
    host::run(program).remove(0).tensor
}

#[test]
fn there_is_one_scale_or_one_for_each_place_along_the_axis() {
    let quantized = |scale: Tensor, attributes: &[(&str, i64)]| {
        let nodes = vec![node("QuantizeLinear", &["x", "scale"], &["y"], attributes)];
        let inputs =
            vec![value("x", 1, &[None, None]), value("scale", 1, &vec![None; scale.shape().len()])];
        let outputs = vec![value("y", 2, &[])];
        let graph = Graph { nodes, inputs, outputs, ..Graph::default() };
        let model = Model::from_bytes(model(13, graph)).unwrap();
        let x = f32s(&[2, 3], &[0.5, 1.5, 300.0, 3.0, -1.0, 5.0]);
        let bound = model.bind(&Inputs::new().with_tensor("x", x).with_tensor("scale", scale));
        bound.map(|bound| result(&bound).bytes().to_vec()).map_err(|error| error.to_string())
    };
    let by_row = f32s(&[2], &[1.0, 2.0]);
    assert_eq!(quantized(by_row.clone(), &[("axis", 0)]).unwrap(), [0, 2, 255, 2, 0, 2]);
    let by_column = f32s(&[3], &[0.5, 1.0, 100.0]);
    assert_eq!(quantized(by_column.clone(), &[]).unwrap(), [1, 2, 3, 6, 0, 0]);
    assert_eq!(quantized(f32s(&[], &[0.5]), &[]).unwrap(), [1, 3, 255, 6, 0, 10]);
    for (scale, axis, message) in [
        (by_row, 1, "scale: [2] is the wrong shape; accepted: [3]"),
        (by_column, 2, "attribute axis: 2 is not a dimension"),
        (f32s(&[2, 3], &[1.0; 6]), 0, "scale: [2, 3] is the wrong shape; accepted: [2]"),
    ] {
        let error = quantized(scale, &[("axis", axis)]).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

/// -1 to 6 quantized to a type with a zero point of 1, and dequantized, with a scale for each pair in a row.
#[test]
fn blocks_along_an_axis_have_a_scale_each() {
    let there_and_back = |data_type: i64, block: i64| {
        let attributes = [("axis", 1), ("block_size", block)];
        let ones: &[u8] = match data_type {
            21 | 22 => &[0x11; 2],
            4 | 5 => &[1, 0, 1, 0, 1, 0, 1, 0],
            _ => &[1; 4],
        };
        let zero_point = Message::default().int(1, 2).int(1, 2).int(2, data_type);
        let zero_point = zero_point.text(8, "zero").bytes(9, ones);
        let nodes = vec![
            node("QuantizeLinear", &["x", "scale", "zero"], &["y"], &attributes),
            node("DequantizeLinear", &["y", "scale", "zero"], &["z"], &attributes),
        ];
        let (inputs, outputs) = (
            vec![value("x", 1, &[None, None]), value("scale", 1, &[None, None])],
            vec![value("z", 1, &[])],
        );
        let graph = Graph { nodes, initializers: vec![zero_point], inputs, outputs };
        let model = Model::from_bytes(model(21, graph)).unwrap();
        let x = f32s(&[2, 4], &[-1.0, 0.0, 10.0, 20.0, 3.0, 4.0, 100.0, 1e9]);
        let scale = f32s(&[2, 2], &[1.0, 10.0, 0.5, 100.0]);
        let bound = model.bind(&Inputs::new().with_tensor("x", x).with_tensor("scale", scale));
        bound.map(|bound| result(&bound)).map_err(|error| error.to_string())
    };
    let whole = [-1.0, 0.0, 10.0, 20.0, 3.0, 4.0, 100.0];
    for (data_type, greatest) in
        [(2, 255.0), (3, 127.0), (4, 65535.0), (5, 32767.0), (21, 15.0), (22, 7.0)]
    {
        let mut expected = whole.to_vec();
        // 4 / 0.5 is out of the range of signed 4-bit integers.
        expected[5] = f32::min(4.0, (greatest - 1.0) / 2.0);
        expected[4] = f32::min(3.0, (greatest - 1.0) / 2.0);
        expected.push((greatest - 1.0) * 100.0);
        assert_eq!(there_and_back(data_type, 2).unwrap(), f32s(&[2, 4], &expected), "{data_type}");
    }
    // There are scales for two blocks where four are needed.
    assert!(there_and_back(2, 1).is_err());
}

/// 16-bit and 4-bit integers: ties to even, and saturation at both ends.
#[test]
fn types_that_directml_does_not_quantize_to_are_made_of_what_it_has() {
    let quantized = |output: i64, numbers: &[f32]| {
        let nodes =
            vec![node("QuantizeLinear", &["x", "scale"], &["y"], &[("output_dtype", output)])];
        let inputs = vec![value("x", 1, &[None]), value("scale", 1, &[])];
        let graph =
            Graph { nodes, inputs, outputs: vec![value("y", output, &[])], ..Graph::default() };
        let model = Model::from_bytes(model(21, graph)).unwrap();
        let x = f32s(&[numbers.len() as u64], numbers);
        let inputs = Inputs::new().with_tensor("x", x).with_tensor("scale", f32s(&[], &[2.0]));
        result(&model.bind(&inputs).unwrap()).bytes().to_vec()
    };
    let numbers = [1e9, -1e9, 5.0, -7.0, f32::NAN];
    let words = |words: [u16; 5]| words.map(u16::to_le_bytes).concat();
    assert_eq!(quantized(4, &numbers), words([0xffff, 0, 2, 0, 0]));
    assert_eq!(quantized(5, &numbers), words([0x7fff, 0x8000, 2, 0xfffc, 0]));
    assert_eq!(quantized(21, &numbers), [15, 0, 2, 0, 0]);
    assert_eq!(quantized(22, &numbers), [7, 0xf8, 2, 0xfc, 0]);
}

/// Bytes of intermediate results of two rows multiplied by `count` matrices of 64 x 64 4-bit integers, one
/// after the other.
fn bytes_between_products(count: usize) -> u64 {
    const SIZE: i64 = 64;
    let product = [("K", SIZE), ("N", SIZE), ("bits", 4), ("block_size", 16)];
    let names: Vec<String> = (0..=count).map(|it| format!("x{it}")).collect();
    let nodes = names.windows(2).map(|pair| {
        let [from, to] = [&pair[0], &pair[1]];
        node("MatMulNBits", &[from, "q", "scales"], &[to], &product).text(7, "com.microsoft")
    });
    let bytes = Message::default().int(1, SIZE).int(1, 4).int(1, 8);
    let graph = Graph {
        nodes: nodes.collect(),
        initializers: vec![
            bytes.int(2, 2).text(8, "q").bytes(9, &[0x5a; 64 * 4 * 8]),
            floats("scales", &[64 * 4], &[0.25; 64 * 4]),
        ],
        inputs: vec![value("x0", 1, &[Some(2), Some(SIZE)])],
        outputs: vec![value(&names[count], 1, &[])],
    };
    let opset = Message::default().text(1, "com.microsoft").int(2, 1);
    let model = Model::from_bytes(Message(model(17, graph)).message(8, opset).0).unwrap();
    let program = model.bind(&Inputs::new().with_shape("x0", [2, 64])).unwrap();
    let capabilities = &Capabilities::vulkan_minimum();
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let temporary = program.operators().iter().map(|operator| {
        let Work::Graph { desc, .. } = &operator.work else { return 0 };
        let graph = validate_graph(desc, FeatureLevel::HIGHEST).unwrap();
        compile_graph(&graph, &target, Default::default()).unwrap().0.temporary_size
    });
    temporary.sum()
}

#[test]
fn what_is_made_of_weights_in_each_run_shares_memory() {
    let [few, many] = [2, 9].map(bytes_between_products);
    let of_a_matrix = 64 * 64 * 4;
    assert!(few >= of_a_matrix && many < 2 * of_a_matrix, "{few} {many}");
}
