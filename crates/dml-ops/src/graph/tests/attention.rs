//! Attention as exporters write it: products, a softmax and products become one kernel on a GPU.

use dml_core::operators::{ActivationSoftmax1Desc, MultiheadAttentionDesc};
use dml_core::{MultiheadAttentionMaskType, Numerics};

use super::forms::{Sized, TestGraph, packed};
use super::*;

/// Heads, queries, keys and elements.
const SIZES: [[u32; 4]; 4] = [[2, 3, 40, 8], [1, 70, 130, 16], [3, 5, 200, 65], [2, 2, 9, 3]];

/// The kernels of a graph on a GPU, whose results are checked against its operators one by one.
fn kernels(form: TestGraph, result: Sized, what: &str) -> Vec<String> {
    exact_and_fast(form, result, what).0
}

/// [`kernels`], and how many of them have one pass over the keys with fast numerics.
fn exact_and_fast(mut form: TestGraph, result: Sized, what: &str) -> (Vec<String>, usize) {
    form.0.output(result.0);
    let graph = valid(&form.0.finish());
    check(&graph, &mut Random::new(what), what);
    let card = Capabilities::vulkan_minimum();
    let tuning = Tuning::new().with_shared_tiles();
    let target = Target { capabilities: &card, tuning, transfer: TransferUse::Allowed };
    let (plan, explanation) = compile_graph(&graph, &target, WAYS[0]).unwrap();
    let plans = vec![("for a GPU".to_owned(), plan)];
    graphs::check(&graph, &mut Random::new(what), &card, every_way::lowered, plans).expect(what);
    let kernels = explanation.parts.into_iter().flat_map(|part| part.kernels);
    let kernels: Vec<String> = kernels.map(|(name, _)| name).collect();
    let fast = Target { tuning: tuning.with_numerics(Numerics::Fast), ..target };
    let (_, explanation) = compile_graph(&graph, &fast, WAYS[0]).unwrap();
    let names = explanation.parts.into_iter().flat_map(|part| part.kernels).map(|(name, _)| name);
    let online = names.filter(|name| name.contains(" online ")).count();
    assert!(kernels.iter().all(|kernel| !kernel.contains(" online ")), "{what}: {kernels:?}");
    (kernels, online)
}

fn are_one(kernels: &[String], what: &str) {
    let is_one = matches!(kernels, [it] if it.starts_with("attention_"));
    assert!(is_one, "{what}: {kernels:?}");
}

/// Queries, keys and values.
fn inputs(form: &mut TestGraph, [heads, queries, keys, elements]: [u32; 4]) -> [Sized; 3] {
    [queries, keys, keys].map(|steps| form.input([1, heads, steps, elements]))
}

#[test]
fn decomposed_attention_is_one_kernel_on_a_gpu() {
    for sizes in SIZES {
        let mut form = TestGraph(GraphBuilder::new());
        let [query, key, value] = inputs(&mut form, sizes);
        let scores = form.product(query, key, MatrixTransform::Transpose);
        let scale = form.number(8.0_f32.sqrt().recip());
        let scaled = form.multiply(scores, scale);
        let shares = form.softmax(scaled);
        let result = form.product(shares, value, MatrixTransform::None);
        let what = format!("attention of {sizes:?}");
        let (kernels, online) = exact_and_fast(form, result, &what);
        are_one(&kernels, &what);
        assert_eq!(online, 1, "{what}: passes with fast numerics");
    }
}

#[test]
fn masks_and_keys_that_are_transposed_already_are_part_of_the_kernel() {
    for sizes in SIZES {
        let [heads, queries, keys, elements] = sizes;
        let mut form = TestGraph(GraphBuilder::new());
        let [query, _, value] = inputs(&mut form, sizes);
        let key = form.input([1, heads, elements, keys]);
        let mask = form.input([1, 1, queries, keys]);
        let scale = form.number(0.125);
        let scaled = form.multiply(query, scale);
        let scores = form.product(scaled, key, MatrixTransform::None);
        let masked = form.add(scores, mask);
        let tensor = || packed(masked.1);
        let softmax = ActivationSoftmax1Desc {
            input_tensor: tensor(),
            output_tensor: tensor(),
            axes: vec![3],
        };
        let shares = (form.0.operator(softmax, &[masked.0]), masked.1);
        let result = form.product(shares, value, MatrixTransform::None);
        let residual = form.input(result.1);
        let result = form.add(result, residual);
        let what = format!("masked attention of {sizes:?}");
        let (found, online) = exact_and_fast(form, result, &what);
        assert_eq!(online, 1, "{what}: passes with fast numerics");
        assert!(found.iter().filter(|it| it.starts_with("attention_")).count() == 1, "{found:?}");
        assert!(found.len() <= 2, "{what}: {found:?}");
    }
}

/// Another node reads the scores, so they are written.
#[test]
fn scores_that_are_an_output_are_written() {
    let mut form = TestGraph(GraphBuilder::new());
    let [query, key, value] = inputs(&mut form, SIZES[0]);
    let scores = form.product(query, key, MatrixTransform::Transpose);
    form.0.output(scores.0);
    let shares = form.softmax(scores);
    let result = form.product(shares, value, MatrixTransform::None);
    let found = kernels(form, result, "scores");
    assert!(found.iter().all(|it| !it.starts_with("attention_")), "{found:?}");
}

/// A mask of probabilities, such as one of heads, is a part of the division.
#[test]
fn probabilities_may_be_multiplied_by_a_mask() {
    for sizes in SIZES {
        let mut form = TestGraph(GraphBuilder::new());
        let [query, key, value] = inputs(&mut form, sizes);
        let scores = form.product(query, key, MatrixTransform::Transpose);
        let shares = form.softmax(scores);
        let mask = form.input([1, sizes[0], 1, 1]);
        let masked = form.multiply(shares, mask);
        let result = form.product(masked, value, MatrixTransform::None);
        let what = format!("masked probabilities of {sizes:?}");
        are_one(&kernels(form, result, &what), &what);
    }
}

/// The kernel has no probabilities to read as values.
#[test]
fn probabilities_may_be_multiplied_by_themselves() {
    let mut form = TestGraph(GraphBuilder::new());
    let [query, key, _] = inputs(&mut form, [2, 20, 20, 8]);
    let scores = form.product(query, key, MatrixTransform::Transpose);
    let shares = form.softmax(scores);
    let result = form.product(shares, shares, MatrixTransform::None);
    let (found, online) = exact_and_fast(form, result, "squared probabilities");
    assert_eq!(online, 0, "squares of weights do not scale as weights do");
    assert!(found.iter().all(|it| !it.starts_with("attention_")), "{found:?}");
}

/// Queries, keys and values in one tensor that a Map writes begin at different elements.
#[test]
fn stacked_factors_of_a_map_are_told_apart() {
    let (heads, steps, elements) = (2, 9, 8);
    let stacked = || TensorDesc::packed(DataType::Float32, &[1, steps, heads, 3, elements]);
    let mut graph = GraphBuilder::new();
    let input = graph.input();
    let scaled =
        ElementWiseAddDesc { a_tensor: stacked(), b_tensor: stacked(), output_tensor: stacked() };
    let scaled = graph.operator(scaled, &[input, input]);
    let desc = MultiheadAttentionDesc {
        query_tensor: None,
        key_tensor: None,
        value_tensor: None,
        stacked_query_key_tensor: None,
        stacked_key_value_tensor: None,
        stacked_query_key_value_tensor: Some(stacked()),
        bias_tensor: None,
        mask_tensor: None,
        relative_position_bias_tensor: None,
        past_key_tensor: None,
        past_value_tensor: None,
        output_tensor: TensorDesc::packed(DataType::Float32, &[1, steps, heads * elements]),
        output_present_key_tensor: None,
        output_present_value_tensor: None,
        scale: 0.25,
        mask_filter_value: 0.0,
        head_count: heads,
        mask_type: MultiheadAttentionMaskType::None,
    };
    let result = graph.operator(desc, &[scaled]);
    let what = "stacked factors";
    let found = kernels(TestGraph(graph), (result, [1, 1, steps, heads * elements]), what);
    assert!(matches!(found.as_slice(), [_, it] if it.starts_with("attention_")), "{found:?}");
}

/// A soft cap of scores is a part of the kernel.
#[test]
fn capped_scores_are_part_of_the_kernel() {
    for sizes in SIZES {
        let mut form = TestGraph(GraphBuilder::new());
        let [query, key, value] = inputs(&mut form, sizes);
        let scores = form.product(query, key, MatrixTransform::Transpose);
        let limit = form.number(30.0);
        let relative = form.divide(scores, limit);
        let bent = form.tanh(relative);
        let capped = form.multiply(bent, limit);
        let mask = form.input([1, 1, sizes[1], sizes[2]]);
        let masked = form.add(capped, mask);
        let shares = form.softmax(masked);
        let result = form.product(shares, value, MatrixTransform::None);
        let what = format!("capped attention of {sizes:?}");
        let (found, online) = exact_and_fast(form, result, &what);
        are_one(&found, &what);
        assert_eq!(online, 1, "{what}: passes with fast numerics");
    }
}

/// A sink takes part in the softmax of each row, and has no value.
#[test]
fn sinks_are_part_of_the_kernel() {
    for sizes in SIZES {
        let mut form = TestGraph(GraphBuilder::new());
        let [query, key, value] = inputs(&mut form, sizes);
        let scores = form.product(query, key, MatrixTransform::Transpose);
        let sink = form.input([1, sizes[0], 1, 1]);
        let greatest = form.reduce(ReduceFunction::Max, scores);
        let greatest = form.max(greatest, sink);
        let less = form.subtract(scores, greatest);
        let powers = form.exp(less);
        let sum = form.reduce(ReduceFunction::Sum, powers);
        let less = form.subtract(sink, greatest);
        let of_sink = form.exp(less);
        let sum = form.add(sum, of_sink);
        let shares = form.divide(powers, sum);
        let result = form.product(shares, value, MatrixTransform::None);
        let what = format!("attention of {sizes:?} with sinks");
        let (found, online) = exact_and_fast(form, result, &what);
        are_one(&found, &what);
        assert_eq!(online, 1, "{what}: passes with fast numerics");
    }
}
