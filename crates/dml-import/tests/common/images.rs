//! A convolutional network for images of any size.

use dml_import::{Inputs, Tensor};

use super::f32s;
use super::onnx::{Graph, Message, floats, ints, model, node, value};

const CHANNELS: [i64; 3] = [3, 32, 96];
const CLASSES: i64 = 10;

/// The bytes of the filters and of the matrix.
pub(crate) const WEIGHT_BYTES: u64 = 4 * (9 * (3 * 32 + 32 * 96) + 96 * 10 + 32 + 96);

/// Two convolutions with activations, the mean of each channel, and a matrix product.
pub(crate) fn network() -> Vec<u8> {
    let [colours, narrow, wide] = CHANNELS;
    let weight = |name: &str, shape: &[i64]| {
        let count: i64 = shape.iter().product();
        let values = (0..count).map(|it| f32::from(i8::try_from(it * 37 % 17).unwrap() - 8) / 32.0);
        floats(name, shape, &values.collect::<Vec<f32>>())
    };
    let convolution = |inputs: [&str; 3], output: &str| -> Message {
        node("Conv", &inputs, &[output], &[]).message(5, ints("pads", &[1, 1, 1, 1]))
    };
    let graph = Graph {
        nodes: vec![
            convolution(["x", "w1", "b1"], "c1"),
            node("Relu", &["c1"], &["r1"], &[]),
            convolution(["r1", "w2", "b2"], "c2"),
            node("Relu", &["c2"], &["r2"], &[]),
            node("GlobalAveragePool", &["r2"], &["means"], &[]),
            node("Flatten", &["means"], &["row"], &[]),
            node("MatMul", &["row", "m"], &["y"], &[]),
        ],
        initializers: vec![
            weight("w1", &[narrow, colours, 3, 3]),
            weight("b1", &[narrow]),
            weight("w2", &[wide, narrow, 3, 3]),
            weight("b2", &[wide]),
            weight("m", &[wide, CLASSES]),
        ],
        inputs: vec![value("x", 1, &[Some(1), Some(colours), None, None])],
        outputs: vec![value("y", 1, &[])],
    };
    model(17, graph)
}

/// An image of this size.
pub(crate) fn image(height: u64, width: u64) -> Inputs {
    let count = 3 * height * width;
    let pixels = (0..count).map(|it| f32::from(u8::try_from(it * 7 % 23).unwrap()) / 16.0);
    let tensor: Tensor = f32s(&[1, 3, height, width], &pixels.collect::<Vec<f32>>());
    Inputs::new().with_tensor("x", tensor)
}
