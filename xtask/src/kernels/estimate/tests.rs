use std::collections::BTreeMap;

use super::super::assembly::{Loop, Section};
use super::super::compiled::Compiled;
use super::*;

fn navi31() -> &'static Card {
    Card::of_family("navi31").unwrap()
}

fn compiled(kernel: &str, sections: &[Section]) -> (String, Code) {
    let (kernel, loops) = (kernel.to_owned(), Vec::new());
    let compiled = Compiled {
        kernel: kernel.clone(),
        vgprs: 24,
        spills: 0,
        scratch: 0,
        lds: 0,
        waves: 32,
        loops,
    };
    (kernel, Code::new(&compiled, sections))
}

fn section(parent: Option<usize>, own: Loop) -> Section {
    Section { own, fused: 0, parent }
}

fn loads(kind: &str) -> BTreeMap<String, u32> {
    BTreeMap::from([(kind.to_owned(), 1)])
}

/// An addition, a sum of rows and a product, of few instructions.
fn kernels() -> Kernels {
    let add = Loop { instructions: 20, float: 4, memory: loads("load.b128"), ..Loop::default() };
    let sum = Loop { instructions: 50, float: 28, memory: loads("load.b128"), ..Loop::default() };
    let product = Loop { instructions: 128, float: 128, ..Loop::default() };
    let around = || section(None, Loop::default());
    [
        compiled(
            "element_wise_0 f32.add (b32 whole, b32 whole) b32 whole [64]",
            &[section(None, add)],
        ),
        compiled(
            "reduce_1 copy, sum_f32, copy (b32 whole) b32 ragged [64]",
            &[around(), section(Some(0), sum)],
        ),
        compiled("product_8_f32 []", &[around(), section(Some(0), product)]),
    ]
    .into()
}

fn dispatch(start: &str, invocations: u64, operations: u64, bytes: u64) -> Dispatch {
    let kernel = kernels().into_keys().find(|into_key| into_key.starts_with(start)).unwrap();
    Dispatch { kernel, invocations, operations, bytes, microseconds: None }
}

fn estimate(card: &Card, dispatches: &[Dispatch]) -> Estimate {
    card.stage(dispatches, &kernels()).unwrap()
}

fn is_near(actual: f64, expected: f64) -> bool {
    (actual - expected).abs() < expected * 0.01
}

#[test]
fn large_additions_take_what_their_bytes_take() {
    let bytes = 3 * 4 * 4096 * 4096;
    let found = estimate(navi31(), &[dispatch("element_wise", 4 << 20, 16 << 20, bytes)]);
    assert_eq!(found.limit, Limit::Bandwidth);
    // 201 MB at 960 GB/s, and a start after a barrier.
    assert!(is_near(found.microseconds, 6.0 + 209.7), "{found:?}");
}

#[test]
fn small_dispatches_take_what_starting_takes() {
    let one = dispatch("element_wise", 64, 256, 3072);
    let found = estimate(navi31(), std::slice::from_ref(&one));
    assert_eq!(found.limit, Limit::Starting);
    let two = estimate(navi31(), &[one.clone(), one]);
    assert!(is_near(two.microseconds - found.microseconds, 4.0), "{two:?}");
}

#[test]
fn few_rows_wait_for_memory() {
    // 64 waves on 192 SIMDs: more rows of the same length take no longer.
    let rows = |count: u64| dispatch("reduce", count, count * 4096, count * 4096 * 4);
    let found = estimate(navi31(), &[rows(4096)]);
    assert_eq!(found.limit, Limit::Waiting);
    // An eighth of 1024 turns reads a new line from memory: (800 + 7 x 300) / 8 clocks, and 50 instructions.
    let turn = (800.0 + 7.0 * 300.0) / 8.0 + 50.0 * 2.0;
    assert!(is_near(found.microseconds, 6.0 + 1024.0 * turn / 2300.0), "{found:?}");
    assert_eq!(estimate(navi31(), &[rows(8192)]), found);
}

#[test]
fn many_products_are_limited_by_their_instructions() {
    let operations = 1 << 36;
    let found = estimate(navi31(), &[dispatch("product", 1 << 20, operations, 1 << 20)]);
    assert_eq!(found.limit, Limit::Instructions);
    // 16384 waves, 86 for the busiest SIMD; two clocks for each operation of a wave.
    let clocks = 86.0 * (operations >> 20) as f64 * 2.0;
    assert!(is_near(found.microseconds, 6.0 + clocks / 2300.0), "{found:?}");
    // Half of its SIMDs would do for one of these; two of them share the card.
    let half = dispatch("product", 96 * 64, 96 * 64 * 1_280_000, 1 << 20);
    let (one, two) = (
        estimate(navi31(), std::slice::from_ref(&half)),
        estimate(navi31(), &[half.clone(), half]),
    );
    assert!(is_near(two.microseconds - one.microseconds, 4.0), "{one:?} {two:?}");
}

#[test]
fn a_kernel_that_was_not_compiled_is_named() {
    let missing = Dispatch { kernel: "fill_words []".to_owned(), ..dispatch("product", 1, 1, 1) };
    let error = navi31().stage(&[missing], &kernels()).unwrap_err();
    assert_eq!(error.to_string(), "fill_words [] was not compiled");
}

#[test]
fn a_run_is_the_sum_of_its_stages() {
    let stages = vec![
        vec![dispatch("reduce", 4096, 4096 * 4096, 64 << 20)],
        vec![dispatch("element_wise", 1 << 20, 4 << 20, 48 << 20)],
    ];
    let alone: f64 = stages.iter().map(|stage| estimate(navi31(), stage).microseconds).sum();
    let run = Run { work: "norm".to_owned(), least_bytes: 1, microseconds: None, stages };
    let found = CompiledRun { run, kernels: kernels() }.estimate(navi31()).unwrap();
    assert!(is_near(found.microseconds, alone), "{found:?}");
    assert_eq!(found.limit, Limit::Waiting);
}

#[test]
fn reads_that_fit_the_cache_arrive_sooner() {
    let card = Card::measured("NVIDIA H100 80GB HBM3").unwrap();
    let rows = |bytes| dispatch("reduce", 64, 64 * 4096, bytes);
    let [cached, far] = [1 << 20, 60_000_000].map(|bytes| estimate(card, &[rows(bytes)]));
    assert_eq!([cached.limit, far.limit], [Limit::Waiting; 2]);
    assert!(far.microseconds > 1.3 * cached.microseconds, "{cached:?} {far:?}");
}

/// The checked-in measurements.
fn measured() -> Runs {
    include_str!("../../../../docs/benchmarks/data/works-h100.tsv").parse().unwrap()
}

#[test]
fn the_measurements_are_of_a_known_card_and_have_all_times() {
    let runs = measured();
    assert!(Card::measured(&runs.device).is_some(), "{}", runs.device);
    assert_eq!(runs.runs.len(), 48);
    for run in &runs.runs {
        let is_timed = run.dispatches().all(|dispatch| dispatch.microseconds.is_some());
        assert!(run.microseconds.is_some() && is_timed, "{}", run.work);
    }
}

#[test]
fn a_work_whose_plan_has_changed_is_left_out_by_name() {
    let mut runs = measured();
    runs.runs.retain(|run| run.work == "add-f32");
    let card = Card::measured(&runs.device).unwrap();
    let kernel = runs.runs[0].dispatches().next().unwrap().kernel.clone();
    let (_, code) = kernels().into_iter().next().unwrap();
    let planned = CompiledRun { run: runs.runs[0].clone(), kernels: [(kernel, code)].into() };
    let text = report::calibration(card, std::slice::from_ref(&planned), &runs);
    assert!(!text.contains("its plan is not the one that was measured"), "{text}");
    runs.runs[0].stages[0][0].bytes += 4;
    let text = report::calibration(card, &[planned], &runs);
    assert!(text.contains("its plan is not the one that was measured"), "{text}");
}

#[test]
fn every_family_of_the_table_has_a_card() {
    for family in super::super::FAMILIES {
        assert_eq!(Card::of_family(family).map(|card| card.family), Some(family));
    }
}
