//! A decoder layer with quantized weights and a cache that grows from run to run.

use dml_import::{Inputs, Tensor};

use super::f32s;
use super::onnx::{Graph, Message, floats, model, node, value};

/// The width of the input's rows, of the cache's rows, and of `z`.
const DEPTH: u64 = 32;
const WIDTH: u64 = 16;
const CLASSES: u64 = 24;

/// `present = past, then x · q'`; `y = softmax(present's last rows · present')`; `z = present · dense`. `q` has
/// 4 bits, and `dense` has 8.
pub(crate) fn decoder() -> Vec<u8> {
    let [depth, width, classes] = [DEPTH, WIDTH, CLASSES].map(|it| i64::try_from(it).unwrap());
    let bytes = |count: u64| -> Vec<u8> {
        (0..count).map(|it| u8::try_from(it * 37 % 251).unwrap()).collect()
    };
    let tensor = |name: &str, shape: &[i64], count| {
        let tensor = shape.iter().fold(Message::default(), |it, size| it.int(1, *size));
        tensor.int(2, 2).text(8, name).bytes(9, &bytes(count))
    };
    let scales: Vec<f32> = (1..=32u8).map(|it| f32::from(it) / 64.0).collect();
    let product = [("K", depth), ("N", width), ("bits", 4), ("block_size", 16)];
    let graph = Graph {
        nodes: vec![
            node("MatMulNBits", &["x", "q", "scales"], &["fed"], &product).text(7, "com.microsoft"),
            node("Concat", &["past", "fed"], &["present"], &[("axis", 0)]),
            node("Transpose", &["present"], &["turned"], &[]),
            node("MatMul", &["fed", "turned"], &["scores"], &[]),
            node("Softmax", &["scores"], &["y"], &[]),
            node("DequantizeLinear", &["w", "scale"], &["dense"], &[]),
            node("MatMul", &["present", "dense"], &["z"], &[]),
        ],
        initializers: vec![
            tensor("q", &[width, 2, 8], WIDTH * 16),
            floats("scales", &[32], &scales),
            tensor("w", &[width, classes], WIDTH * CLASSES),
            floats("scale", &[], &[0.125]),
        ],
        inputs: vec![value("x", 1, &[None, Some(depth)]), value("past", 1, &[None, Some(width)])],
        outputs: ["present", "y", "z"].map(|it| value(it, 1, &[])).into(),
    };
    let opset = Message::default().text(1, "com.microsoft").int(2, 1);
    Message(model(17, graph)).message(8, opset).0
}

/// Inputs of one row, with a cache of `past` rows.
pub(crate) fn inputs(past: u64) -> Inputs {
    let rows = |count: u64, width: u64| -> Tensor {
        let numbers = (0..count * width).map(|it| f32::from(u8::try_from(it % 13).unwrap()) - 6.0);
        f32s(&[count, width], &numbers.map(|number| number / 32.0).collect::<Vec<f32>>())
    };
    Inputs::new().with_tensor("x", rows(1, DEPTH)).with_tensor("past", rows(past, WIDTH))
}
