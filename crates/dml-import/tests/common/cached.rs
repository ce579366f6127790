//! Attention over caches of one size, and what its steps are given.

use dml_import::{ElementType, Inputs, Tensor};

use super::f32s;
use super::onnx::{Graph, Message, model, node, value};

const INT32: i64 = 6;

/// Attention with caches, of which `total` places are in use after the step.
pub(crate) fn decoder() -> Vec<u8> {
    let heads = [("num_heads", 4), ("kv_num_heads", 2)];
    let inputs = ["q", "k", "v", "past_k", "past_v", "lasts", "total"];
    let attention = node("GroupQueryAttention", &inputs, &["y", "present_k", "present_v"], &heads);
    let cache = [Some(1), Some(2), None, Some(4)];
    let graph = Graph {
        nodes: vec![attention.text(7, "com.microsoft")],
        inputs: vec![
            value("q", 1, &[Some(1), None, Some(16)]),
            value("k", 1, &[Some(1), None, Some(8)]),
            value("v", 1, &[Some(1), None, Some(8)]),
            value("past_k", 1, &cache),
            value("past_v", 1, &cache),
            value("lasts", INT32, &[Some(1)]),
            value("total", INT32, &[]),
        ],
        outputs: ["y", "present_k", "present_v"].map(|it| value(it, 1, &[])).into(),
        ..Graph::default()
    };
    let opset = Message::default().text(1, "com.microsoft").int(2, 1);
    Message(model(17, graph)).message(8, opset).0
}

/// The inputs of a step with `count` tokens but for the caches.
pub(crate) fn step(count: u64, total: u8) -> Inputs {
    let int = |shape: &[u64], number: u8| {
        let bytes = i32::from(number).to_le_bytes().to_vec();
        Tensor::new(ElementType::Dml(dml::DataType::Int32), shape, bytes).unwrap()
    };
    Inputs::new()
        .with_tensor("q", numbers(&[1, count, 16], total))
        .with_tensor("k", numbers(&[1, count, 8], total + 1))
        .with_tensor("v", numbers(&[1, count, 8], total + 2))
        .with_tensor("lasts", int(&[1], total - 1))
        .with_tensor("total", int(&[], total))
}

/// A cache with so many places.
pub(crate) fn cache(places: u64, seed: u8) -> Tensor {
    numbers(&[1, 2, places, 4], seed)
}

fn numbers(shape: &[u64], seed: u8) -> Tensor {
    let count: u64 = shape.iter().product();
    let number = |it: u64| f32::from(u8::try_from((it * 7 + u64::from(seed)) % 23).unwrap()) / 8.0;
    f32s(shape, &(0..count).map(number).collect::<Vec<f32>>())
}
