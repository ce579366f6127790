//! Attention as exporters write it: products, a softmax and products become one kernel on a GPU.

use dml_core::operators::ActivationSoftmax1Desc;

use super::forms::{Form, Sized, packed};
use super::*;

/// Heads, queries, keys and elements.
const SIZES: [[u32; 4]; 4] = [[2, 3, 40, 8], [1, 70, 130, 16], [3, 5, 200, 65], [2, 2, 9, 3]];

/// A GPU that has work groups of any size.
fn card() -> Capabilities {
    let mut card = Capabilities::vulkan_minimum();
    let limits = &mut card.limits;
    limits.max_compute_work_group_invocations = 1024;
    limits.max_compute_work_group_size = [1024; 3];
    limits.max_compute_shared_memory_size = 32 << 10;
    card
}

/// The kernels of a graph on a GPU, whose results are checked against its operators one by one.
fn kernels(mut form: Form, result: Sized, what: &str) -> Vec<&'static str> {
    form.0.output(result.0);
    let graph = valid(&form.0.finish());
    check(&graph, &mut Random::new(what), what);
    let card = card();
    let tuning = Tuning::new().with_shared_tiles();
    let target = Target { capabilities: &card, tuning, transfer: TransferUse::Allowed };
    let (plan, explanation) = compile_graph(&graph, &target, WAYS[0]).unwrap();
    let plans = vec![("for a GPU".to_owned(), plan)];
    graphs::check(&graph, &mut Random::new(what), &card, every_way::lowered, plans).expect(what);
    let kernels = explanation.parts.into_iter().flat_map(|it| it.kernels);
    kernels.map(|(name, _)| name).collect()
}

fn are_one(kernels: &[&str], what: &str) {
    let is_one = matches!(kernels, [it] if it.starts_with("attention_"));
    assert!(is_one, "{what}: {kernels:?}");
}

/// Queries, keys and values.
fn inputs(form: &mut Form, [heads, queries, keys, elements]: [u32; 4]) -> [Sized; 3] {
    [queries, keys, keys].map(|steps| form.input([1, heads, steps, elements]))
}

#[test]
fn decomposed_attention_is_one_kernel_on_a_gpu() {
    for sizes in SIZES {
        let mut form = Form(GraphBuilder::new());
        let [query, key, value] = inputs(&mut form, sizes);
        let scores = form.product(query, key, MatrixTransform::Transpose);
        let scale = form.number(8.0_f32.sqrt().recip());
        let scaled = form.multiply(scores, scale);
        let shares = form.softmax(scaled);
        let result = form.product(shares, value, MatrixTransform::None);
        let what = format!("attention of {sizes:?}");
        are_one(&kernels(form, result, &what), &what);
    }
}

#[test]
fn masks_and_keys_that_are_transposed_already_are_part_of_the_kernel() {
    for sizes in SIZES {
        let [heads, queries, keys, elements] = sizes;
        let mut form = Form(GraphBuilder::new());
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
        let found = kernels(form, result, &what);
        assert!(found.iter().filter(|it| it.starts_with("attention_")).count() == 1, "{found:?}");
        assert!(found.len() <= 2, "{what}: {found:?}");
    }
}

/// Another node reads the scores, so they are written.
#[test]
fn scores_that_are_an_output_are_written() {
    let mut form = Form(GraphBuilder::new());
    let [query, key, value] = inputs(&mut form, SIZES[0]);
    let scores = form.product(query, key, MatrixTransform::Transpose);
    form.0.output(scores.0);
    let shares = form.softmax(scores);
    let result = form.product(shares, value, MatrixTransform::None);
    let found = kernels(form, result, "scores");
    assert!(found.iter().all(|it| !it.starts_with("attention_")), "{found:?}");
}
