//! No dispatch of a plan has more work than a device is given at one time. No test here needs a Vulkan device.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

use std::collections::BTreeSet;

use dml::core::plan::{Dispatch, Plan, Step};
use dml::core::{AbstractOperator, validate, validate_graph};
use dml::ops::graph::{GraphOptions, compile_graph};
use dml::ops::lower;
use dml::{
    ActivationSoftmax1Desc, DataType, ElementWiseAddDesc, FeatureLevel, GraphBuilder, GraphDesc,
    MatrixTransform, TensorDesc,
};
use dml_bench::budgets::{Profile, profiles, works};
use dml_reference::descriptors::gemm;

fn dispatches(plan: &Plan) -> impl Iterator<Item = &Dispatch> {
    plan.steps().filter_map(|step| match step {
        Step::Dispatch(dispatch) => Some(dispatch),
        _ => None,
    })
}

/// Checks every dispatch, and returns the kernels of those above the bound, which have one work group each.
fn above(plan: &Plan, bound: u64) -> BTreeSet<String> {
    let above = dispatches(plan).filter(|it| it.cost.as_operations() > bound);
    above
        .map(|dispatch| {
            let name = dispatch.kernel.variant.name.to_string();
            assert_eq!(dispatch.groups, [1; 3], "{name}: {:?}", dispatch.cost);
            name
        })
        .collect()
}

fn check(plan: &Plan, profile: &Profile) {
    let found = above(plan, profile.tuning.dispatch_bound);
    assert!(found.is_empty(), "{} on {}: {found:?}", plan.operator, profile.name);
}

/// `profile` with another bound.
fn bounded(profile: &Profile, dispatch_bound: u64) -> Profile {
    let tuning = profile.tuning.with_dispatch_bound(dispatch_bound);
    Profile { tuning, ..profile.clone() }
}

fn tensor(sizes: [u32; 4]) -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &sizes)
}

#[test]
fn a_product_of_8192_cubed_is_dispatches_below_the_bound() {
    let square = || tensor([1, 1, 8192, 8192]);
    let desc = gemm([square(), square(), square()], MatrixTransform::None);
    let operator = validate(&AbstractOperator::from(desc), FeatureLevel::HIGHEST).unwrap();
    for profile in profiles().unwrap() {
        let plan = lower(&operator, &profile.target()).unwrap();
        check(&plan, &profile);
        let work: u64 = dispatches(&plan).map(|it| it.cost.as_operations()).sum();
        assert!(work >= 2 << 39, "{work}");
        let least = work.div_ceil(profile.tuning.dispatch_bound);
        let found = dispatches(&plan).count() as u64;
        assert!(found >= least && found <= 2 * least, "{}: {found} {least}", profile.name);
        // Nothing is divided where there is no bound, and the work is the same.
        let whole = lower(&operator, &bounded(&profile, u64::MAX).target()).unwrap();
        assert!(dispatches(&whole).count() < 8);
        assert!(dispatches(&whole).any(|it| it.cost.operations == 2 << 39));
    }
}

#[test]
fn no_dispatch_of_a_work_is_above_the_bound() {
    for work in works().unwrap() {
        for profile in profiles().unwrap() {
            let plans = work.plans(&profile).unwrap();
            plans.of_runs.iter().chain(&plans.once).for_each(|plan| check(plan, &profile));
        }
    }
}

/// Products are divided by their depth where a work group of them is above the bound; of other kernels nothing
/// divides a work group.
#[test]
fn with_a_low_bound_only_work_groups_that_nothing_divides_are_above_it() {
    let kernels = |profile: &Profile, bound: u64| {
        let profile = bounded(profile, bound);
        let plans = works().unwrap().into_iter().map(|it| it.plans(&profile).unwrap());
        let plans = plans.flat_map(|plan| plan.of_runs.into_iter().chain(plan.once));
        let names = plans.flat_map(|plan| above(&plan, bound));
        names.filter_map(|name| Some(name.split(' ').next()?.to_owned())).collect::<BTreeSet<_>>()
    };
    // All keys of some queries, a product of 64 words of depth (or of 512, of few rows), and long rows of
    // norms.
    let undivided = [
        "attention_of_64",
        "product_8_whole_f32",
        "product_few_deep_f32",
        "product_tiles_128_whole_f16",
        "product_tiles_128_whole_f32",
        "product_tiles_64_whole_bytes",
        "rows_long_1",
    ];
    for profile in profiles().unwrap() {
        assert_eq!(kernels(&profile, profile.tuning.dispatch_bound / 100), BTreeSet::new());
        assert_eq!(kernels(&profile, 1 << 20), BTreeSet::from(undivided.map(str::to_owned)));
    }
}

/// Layers of a decoder that are given so many tokens at one time: the sizes of SmolLM2 of 135 million weights.
fn decoder(layers: usize, tokens: u32) -> GraphDesc {
    let [heads, of_head, inner] = [9, 64, 1536];
    let width = heads * of_head;
    let all = || tensor([1, 1, tokens, width]);
    // The numbers of a head, where all heads of a token follow each other.
    let by_heads = || tensor([1, heads, tokens, of_head]).with_strides(&[0, of_head, width, 1]);
    let scores = || tensor([1, heads, tokens, tokens]);
    let mut graph = GraphBuilder::new();
    let mut state = graph.input();
    let add = |graph: &mut GraphBuilder, one, other| {
        let [a_tensor, b_tensor, output_tensor] = [all(), all(), all()];
        graph.operator(ElementWiseAddDesc { a_tensor, b_tensor, output_tensor }, &[one, other])
    };
    for _ in 0..layers {
        let by_weights = |graph: &mut GraphBuilder, from, [depth, columns]: [u32; 2]| {
            let tensors = [[tokens, depth], [depth, columns], [tokens, columns]];
            let tensors = tensors.map(|[rows, columns]| tensor([1, 1, rows, columns]));
            let weights = graph.input();
            graph.operator(gemm(tensors, MatrixTransform::None), &[from, weights])
        };
        let [q, k, v] = [(); 3].map(|()| by_weights(&mut graph, state, [width, width]));
        let desc = gemm([by_heads(), by_heads(), scores()], MatrixTransform::Transpose);
        let found = graph.operator(desc, &[q, k]);
        let [input_tensor, output_tensor] = [scores(), scores()];
        let softmax = ActivationSoftmax1Desc { input_tensor, output_tensor, axes: vec![3] };
        let shares = graph.operator(softmax, &[found]);
        let desc = gemm([scores(), by_heads(), by_heads()], MatrixTransform::None);
        let found = graph.operator(desc, &[shares, v]);
        let found = by_weights(&mut graph, found, [width, width]);
        let sum = add(&mut graph, state, found);
        let found = by_weights(&mut graph, sum, [width, inner]);
        let found = by_weights(&mut graph, found, [inner, width]);
        state = add(&mut graph, sum, found);
    }
    graph.output(state);
    graph.finish()
}

#[test]
fn no_dispatch_of_a_decoder_is_above_the_bound() {
    let graph = validate_graph(&decoder(30, 2048), FeatureLevel::HIGHEST).unwrap();
    for profile in profiles().unwrap() {
        let plan = compile_graph(&graph, &profile.target(), GraphOptions::default()).unwrap().0;
        check(&plan, &profile);
        let work: u64 = plan.exec.iter().map(|it| it.cost().as_operations()).sum();
        // More than a batch: of 30 layers products of 7 million weights and 2,048 tokens, and attention.
        assert!(work > 30 * 2 * 2048 * 3_000_000, "{work}");
        assert!(work > 4 * profile.tuning.dispatch_bound);
    }
}
