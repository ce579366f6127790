//! A recurrent model, and its runs with states that pass through the host.

use dml_import::{Inputs, Session, Tensor};

use super::onnx::{Graph, floats, initializer, model, node, value};
use super::{f32s, tensors};

/// The width of the state.
pub(crate) const WIDTH: u64 = 5;
/// The width of an input row.
pub(crate) const DEPTH: u64 = 3;

/// `next = softsign(sum of x's rows · w + h · r)`, and a second state, `seen`, with the last two values of
/// `next`. `y = x · next'`.
pub(crate) fn recurrent() -> Vec<u8> {
    let weights = |count: u64, step: i16| -> Vec<f32> {
        let numbers = (0..).map(|it: i16| f32::from(it * step % 17 - 8) / 8.0);
        numbers.take(usize::try_from(count).unwrap()).collect()
    };
    let [depth, width] = [DEPTH, WIDTH].map(|it| i64::try_from(it).unwrap());
    let graph = Graph {
        nodes: vec![
            node("ReduceSum", &["x", "rows"], &["sum"], &[("keepdims", 1)]),
            node("MatMul", &["sum", "w"], &["fed"], &[]),
            node("MatMul", &["h", "r"], &["kept"], &[]),
            node("Add", &["fed", "kept"], &["both"], &[]),
            node("Softsign", &["both"], &["next"], &[]),
            node("Slice", &["seen", "one", "two", "rows"], &["last"], &[]),
            node("Concat", &["last", "next"], &["seen_next"], &[("axis", 0)]),
            node("MatMul", &["x", "w"], &["wide"], &[]),
            node("Mul", &["wide", "next"], &["y"], &[]),
        ],
        initializers: vec![
            floats("w", &[depth, width], &weights(DEPTH * WIDTH, 5)),
            floats("r", &[width, width], &weights(WIDTH * WIDTH, 7)),
            initializer("rows", &[1], &[0]),
            initializer("one", &[1], &[1]),
            initializer("two", &[1], &[2]),
        ],
        inputs: vec![
            value("x", 1, &[None, Some(depth)]),
            value("h", 1, &[Some(1), Some(width)]),
            value("seen", 1, &[Some(2), Some(width)]),
        ],
        outputs: ["y", "next", "seen_next"].map(|it| value(it, 1, &[])).into(),
    };
    model(13, graph)
}

/// An input of `count` rows that depends on `seed`.
pub(crate) fn rows(count: u64, seed: u8) -> Tensor {
    let numbers = (0..).map(|it: u8| f32::from(it.wrapping_mul(37).wrapping_add(seed * 11)) / 64.0);
    let all = usize::try_from(count * DEPTH).unwrap();
    f32s(&[count, DEPTH], &numbers.take(all).collect::<Vec<f32>>())
}

/// The initial values of the states `h` and `seen`.
pub(crate) fn initial() -> [Tensor; 2] {
    [1, 2].map(|rows| f32s(&[rows, WIDTH], &vec![0.25; usize::try_from(rows * WIDTH).unwrap()]))
}

/// The outputs of each run, with states that pass through the host.
pub(crate) fn round_trips(session: &Session, inputs: &[Tensor]) -> Vec<Vec<Tensor>> {
    let [mut h, mut seen] = initial();
    let run = |x: &Tensor| {
        let inputs = Inputs::new().with_tensor("x", x.clone());
        let inputs = inputs.with_tensor("h", h.clone()).with_tensor("seen", seen.clone());
        let outputs = tensors(&session.run(&inputs).unwrap());
        [h, seen] = [outputs[1].clone(), outputs[2].clone()];
        outputs
    };
    inputs.iter().map(run).collect()
}
