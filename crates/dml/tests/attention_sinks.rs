//! Attention with a sink for each head, as one kernel and as its operators, on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::RefCell;
use std::collections::VecDeque;

use common::graphs::{check, compiled, run};
use common::{on_every_device, on_every_device_as, options};
use dml::core::graph::GraphValue;
use dml::core::operators::{
    ElementWiseDivideDesc, ElementWiseExpDesc, ElementWiseIdentityDesc, ElementWiseMaxDesc,
    ElementWiseSubtractDesc, ElementWiseTanhDesc,
};
use dml::core::{Strategy, Tuning};
use dml::{
    DataType, Device, DeviceOptions, ElementWiseAddDesc, GraphBuilder, GraphDesc, GraphOptions,
    MatrixTransform, Numerics, ReduceDesc, ReduceFunction, TensorDesc,
};
use dml_reference::Random;
use dml_reference::descriptors::gemm;

/// Heads, queries, keys, elements of a query and of a value: one tile of keys, several, and several blocks of weights.
const SIZES: [[u32; 5]; 4] =
    [[1, 2, 2, 1, 1], [2, 65, 129, 17, 64], [2, 7, 515, 32, 128], [2, 5, 300, 8, 33]];

/// Operators on FLOAT32 tensors of four dimensions.
struct Operators(GraphBuilder);

/// A value, and its sizes.
type Sized = (GraphValue, [u32; 4]);

/// An operator on two values, each of which is broadcast where the other one is larger.
macro_rules! binary {
    ($name:ident, $desc:ident) => {
        fn $name(&mut self, a: Sized, b: Sized) -> Sized {
            let sizes = std::array::from_fn(|at| a.1[at].max(b.1[at]));
            let desc = $desc {
                a_tensor: broadcast(a.1, sizes),
                b_tensor: broadcast(b.1, sizes),
                output_tensor: packed(sizes),
            };
            (self.0.operator(desc, &[a.0, b.0]), sizes)
        }
    };
}

/// An operator on a value times a scale.
macro_rules! unary {
    ($name:ident, $desc:ident) => {
        fn $name(&mut self, (value, sizes): Sized, scale: f32) -> Sized {
            let (input_tensor, output_tensor) = (packed(sizes), packed(sizes));
            // A factor of 1 is left out: fast numerics know the exponential of a difference alone.
            let scale_bias = (scale != 1.0).then_some([scale, 0.0]);
            let desc = $desc { input_tensor, output_tensor, scale_bias };
            (self.0.operator(desc, &[value]), sizes)
        }
    };
}

impl Operators {
    binary!(add, ElementWiseAddDesc);
    binary!(subtract, ElementWiseSubtractDesc);
    binary!(divide, ElementWiseDivideDesc);
    binary!(max, ElementWiseMaxDesc);
    unary!(exp, ElementWiseExpDesc);
    unary!(tanh, ElementWiseTanhDesc);
    unary!(identity, ElementWiseIdentityDesc);

    fn reduce(&mut self, function: ReduceFunction, (value, sizes): Sized) -> Sized {
        let rows = [sizes[0], sizes[1], sizes[2], 1];
        let (input_tensor, output_tensor) = (packed(sizes), packed(rows));
        let desc = ReduceDesc { function, input_tensor, output_tensor, axes: vec![3] };
        (self.0.operator(desc, &[value]), rows)
    }

    fn product(&mut self, a: Sized, b: Sized, trans_b: MatrixTransform) -> Sized {
        let columns = if trans_b == MatrixTransform::None { b.1[3] } else { b.1[2] };
        let sizes = [a.1[0], a.1[1], a.1[2], columns];
        let desc = gemm([packed(a.1), packed(b.1), packed(sizes)], trans_b);
        (self.0.operator(desc, &[a.0, b.0]), sizes)
    }
}

fn packed(sizes: [u32; 4]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &sizes)
}

/// A tensor of `from` as one of `to`: where a size is 1, with a stride of 0.
fn broadcast(from: [u32; 4], to: [u32; 4]) -> TensorDesc {
    let mut strides = [0; 4];
    let mut next = 1;
    for at in (0..4).rev() {
        strides[at] = if from[at] == 1 { 0 } else { next };
        next *= from[at];
    }
    packed(to).with_strides(&strides)
}

/// How scores are bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scores {
    Any,
    /// By a hyperbolic tangent, between this number and its negative.
    Capped(f32),
}

const SCORES: [Scores; 2] = [Scores::Any, Scores::Capped(2.0)];

/// Products, and a softmax with a sink for each head, before the products with values.
fn attention([heads, queries, keys, elements, of_value]: [u32; 5], bounded: Scores) -> GraphDesc {
    let mut graph = Operators(GraphBuilder::new());
    let shapes = [
        [1, heads, queries, elements],
        [1, heads, keys, elements],
        [1, heads, keys, of_value],
        [1, heads, 1, 1],
    ];
    let [query, key, value, sink] = shapes.map(|sizes| (graph.0.input(), sizes));
    let mut scores = graph.product(query, key, MatrixTransform::Transpose);
    if let Scores::Capped(most) = bounded {
        scores = graph.tanh(scores, 1.0 / most);
        scores = graph.identity(scores, most);
    }
    let greatest = graph.reduce(ReduceFunction::Max, scores);
    let greatest = graph.max(greatest, sink);
    let below = graph.subtract(scores, greatest);
    let powers = graph.exp(below, 1.0);
    let sum = graph.reduce(ReduceFunction::Sum, powers);
    let below = graph.subtract(sink, greatest);
    let of_sink = graph.exp(below, 1.0);
    let all = graph.add(sum, of_sink);
    let shares = graph.divide(powers, all);
    let result = graph.product(shares, value, MatrixTransform::None);
    graph.0.output(result.0);
    graph.0.finish()
}

/// All sizes, with scores of each kind.
fn cases() -> impl Iterator<Item = ([u32; 5], Scores)> {
    SIZES.into_iter().flat_map(|sizes| SCORES.map(|scores| (sizes, scores)))
}

#[test]
fn attention_with_sinks_has_the_results_of_its_operators() {
    check(
        cases().map(|(sizes, scores)| (format!("{sizes:?} {scores:?}"), attention(sizes, scores))),
    );
}

/// The results for all cases, by one kernel each.
fn found(device: &Device) -> Vec<Vec<f32>> {
    let device = device.with_tuning(Tuning::new().with_strategy(Strategy::RowGroups));
    let of = |(sizes, scores)| {
        let compiled = compiled(&device, &attention(sizes, scores), GraphOptions::default());
        let parts = &compiled.explanation().unwrap().parts;
        let kernels: Vec<&str> =
            parts.iter().flat_map(|part| &part.kernels).map(|(name, _)| name.as_str()).collect();
        // Only a single pass is fast.
        let is_online = device.numerics() == Numerics::Fast;
        let is_expected =
            |it: &str| it.starts_with("attention_") && it.contains(" online ") == is_online;
        let is_one = matches!(kernels.as_slice(), [kernel] if is_expected(kernel));
        assert!(is_one, "{scores:?}: {kernels:?}");
        let mut random = Random::new("sinks");
        // From -1 to 1: some sinks are above all scores, others are not.
        let mut number = || f32::from(u8::try_from(random.word() >> 24).unwrap()) / 128.0 - 1.0;
        let mut bytes =
            |size: u64| (0..size / 4).flat_map(|_| number().to_le_bytes()).collect::<Vec<u8>>();
        let places = 0..compiled.vulkan().inputs().len();
        let inputs: Vec<_> = places.map(|at| Some(bytes(compiled.input_size(at)))).collect();
        let bytes = run(&device, &compiled, &inputs).remove(0);
        bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect()
    };
    cases().map(of).collect()
}

#[test]
fn fast_numerics_find_the_same_but_for_rounding() {
    // Only its creator chooses a device's numerics. The devices come in the same order.
    let exact = RefCell::new(VecDeque::new());
    on_every_device(|device| exact.borrow_mut().push_back(found(device)));
    let options = DeviceOptions { numerics: Numerics::Fast, ..options() };
    on_every_device_as(&options, |device| {
        let exact = exact.borrow_mut().pop_front().unwrap();
        let [fast, again] = [(); 2].map(|()| found(device));
        assert_eq!(fast, again, "bits differ from run to run");
        assert_ne!(fast, exact, "no bits of a single pass are its own");
        for (exact, fast) in exact.iter().flatten().zip(fast.iter().flatten()) {
            assert!((exact - fast).abs() < 4e-6, "{exact} {fast}");
        }
    });
}
