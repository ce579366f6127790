//! Attention: queries that see no key, masks, windows, limits, and scores as an output.

use dml_import::{Inputs, Model, Tensor};

use crate::common::onnx::{Graph, Message, model, node, number, value};
use crate::common::single::judged_model;
use crate::common::{f32s, int64};

/// Batches, heads of queries, heads of keys, queries, keys, and elements of a head.
#[derive(Clone, Copy)]
struct Sizes {
    batches: usize,
    heads: usize,
    groups: usize,
    queries: usize,
    keys: usize,
    width: usize,
}

const SIZES: Sizes = Sizes { batches: 2, heads: 2, groups: 2, queries: 3, keys: 4, width: 2 };
const HIDDEN: f64 = f64::NEG_INFINITY;

/// Numbers between -1 and 1.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|at| ((at * 37 + seed * 17 + 11) % 23) as f64 / 11.0 - 1.0).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to what is given")]
fn tensor(shape: &[usize], numbers: &[f64]) -> Tensor {
    let shape: Vec<u64> = shape.iter().map(|size| *size as u64).collect();
    f32s(&shape, &numbers.iter().map(|number| *number as f32).collect::<Vec<f32>>())
}

fn truths(shape: &[u64], values: &[u8]) -> Tensor {
    Tensor::new(dml_import::ElementType::Bool, shape, values.to_vec()).unwrap()
}

/// Expected results: the weighted values and the scores of a stage, by batches, heads and queries.
struct Expected {
    found: Vec<f64>,
    scores: [Vec<f64>; 4],
}

/// ONNX's definition, query by query; `bias` is added to the score of a batch, head, query and key.
fn attend(sizes: Sizes, cap: f64, bias: impl Fn([usize; 4]) -> f64) -> Expected {
    let Sizes { batches, heads, groups, queries, keys, width } = sizes;
    let q = numbers(batches * heads * queries * width, 1);
    let k = numbers(batches * groups * keys * width, 2);
    let v = numbers(batches * groups * keys * width, 3);
    let mut expected = Expected { found: vec![], scores: [const { vec![] }; 4] };
    for row in 0..batches * heads * queries {
        let (batch, head, query) = (row / queries / heads, row / queries % heads, row % queries);
        let group = batch * groups + head / (heads / groups);
        let element = |all: &[f64], key: usize, at: usize| all[(group * keys + key) * width + at];
        let product = |key| {
            let products = (0..width).map(|at| q[row * width + at] * element(&k, key, at));
            products.sum::<f64>() / (width as f64).sqrt()
        };
        let products: Vec<f64> = (0..keys).map(product).collect();
        let limit = |it: &f64| if cap > 0.0 { cap * (it / cap).tanh() } else { *it };
        let capped: Vec<f64> = products.iter().map(limit).collect();
        let added: Vec<f64> = (0..keys).map(|key| bias([batch, head, query, key])).collect();
        let masked: Vec<f64> = capped.iter().zip(&added).map(|(a, b)| a + b).collect();
        let powers: Vec<f64> = masked.iter().map(|it| it.exp()).collect();
        let sum: f64 = powers.iter().sum();
        let is_hidden = added.iter().all(|it| *it == HIDDEN);
        let probabilities: Vec<f64> =
            powers.iter().map(|power| if is_hidden { 0.0 } else { power / sum }).collect();
        let weighted =
            |at| (0..keys).map(|key| probabilities[key] * element(&v, key, at)).sum::<f64>();
        expected.found.extend((0..width).map(weighted));
        let stages = [products, capped, masked, probabilities];
        expected.scores.iter_mut().zip(stages).for_each(|(all, row)| all.extend(row));
    }
    expected
}

/// A node with these attributes, and the inputs after queries, keys and values.
fn attention(ints: &[(&str, i64)], softcap: f32, more: &[&str], outputs: &[&str]) -> Message {
    let inputs = [&["q", "k", "v"], more].concat();
    let node = node("Attention", &inputs, outputs, ints);
    let cap = Message::default().text(1, "softcap").float(2, softcap).int(20, 1);
    if softcap > 0.0 { node.message(5, cap) } else { node }
}

fn inputs(sizes: Sizes) -> Vec<(&'static str, Tensor)> {
    let Sizes { batches, heads, groups, queries, keys, width } = sizes;
    let of = |heads, steps, seed| {
        tensor(&[batches, heads, steps, width], &numbers(batches * heads * steps * width, seed))
    };
    vec![("q", of(heads, queries, 1)), ("k", of(groups, keys, 2)), ("v", of(groups, keys, 3))]
}

fn program(opset: i64, node: &Message, inputs: &[(&str, Tensor)], outputs: &[&str]) -> Vec<u8> {
    let open = |(name, tensor): &(&str, Tensor)| {
        value(name, number(tensor.element_type()), &vec![None; tensor.shape().len()])
    };
    let graph = Graph {
        nodes: vec![node.clone()],
        inputs: inputs.iter().map(open).collect(),
        outputs: outputs.iter().map(|name| value(name, 0, &[])).collect(),
        ..Graph::default()
    };
    model(opset, graph)
}

fn given(inputs: &[(&str, Tensor)]) -> Inputs {
    let add = |all: Inputs, (name, tensor): &(&str, Tensor)| all.with_tensor(*name, tensor.clone());
    inputs.iter().fold(Inputs::new(), add)
}

/// Runs the node in a model of this version on the host and on a device, and compares the last output.
fn check(
    opset: i64,
    node: &Message,
    inputs: &[(&str, Tensor)],
    outputs: &[&str],
    expected: &[f64],
) {
    judged_model(program(opset, node, inputs, outputs), &given(inputs), |found| {
        let floats = found.last().unwrap().bytes().chunks_exact(4);
        let floats: Vec<f32> =
            floats.map(|float| f32::from_le_bytes(float.try_into().unwrap())).collect();
        assert_eq!(floats.len(), expected.len());
        for (found, expected) in floats.iter().zip(expected) {
            let is_near =
                f64::from(*found) == *expected || (f64::from(*found) - expected).abs() <= 2e-6;
            assert!(is_near, "{floats:?} for {expected:?}");
        }
    });
}

fn refusal(opset: i64, node: &Message, inputs: &[(&str, Tensor)]) -> String {
    let model = Model::from_bytes(program(opset, node, inputs, &["y"])).unwrap();
    model.bind(&given(inputs)).unwrap_err().to_string()
}

/// The shape of a mask, its elements, and the index of the element for a batch, head, query and key.
type SeenKeys<'a> = (&'a [u64], &'a [u8], fn([usize; 4]) -> usize);

/// Masks of each rank, of booleans and of numbers: the second query of the second head sees no key.
#[test]
fn a_query_that_sees_no_key_finds_zeros() {
    let flat = [1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1];
    let by_head = [vec![1; 12], flat.to_vec()].concat();
    let by_batch = [vec![1; 24], by_head.clone()].concat();
    let masks: [SeenKeys<'_>; 3] = [
        (&[3, 4], &flat, |[_, _, query, key]| query * 4 + key),
        (&[2, 3, 4], &by_head, |[_, head, query, key]| head * 12 + query * 4 + key),
        (&[2, 2, 3, 4], &by_batch, |[batch, head, query, key]| {
            batch * 24 + head * 12 + query * 4 + key
        }),
    ];
    for (shape, mask, at) in masks {
        let bias = |place| if mask[at(place)] == 1 { 0.0 } else { HIDDEN };
        let floats: Vec<f32> = mask.iter().map(|it| (f32::from(*it)).ln()).collect();
        for mask in [truths(shape, mask), f32s(shape, &floats)] {
            let inputs = [inputs(SIZES), vec![("mask", mask)]].concat();
            for opset in [23, 24] {
                let node = attention(&[], 0.0, &["mask"], &["y"]);
                check(opset, &node, &inputs, &["y"], &attend(SIZES, 0.0, bias).found);
            }
            let causal = |place: [usize; 4]| if place[3] > place[2] { HIDDEN } else { bias(place) };
            let node = attention(&[("is_causal", 1)], 0.0, &["mask"], &["y"]);
            check(23, &node, &inputs, &["y"], &attend(SIZES, 0.0, causal).found);
        }
    }
}

#[test]
fn a_sequence_without_keys_finds_zeros() {
    let inputs = [inputs(SIZES), vec![("lengths", int64(&[2], &[0, 2]))]].concat();
    let lengths = [0, 2];
    let more = ["", "", "", "lengths"];
    let padded = |[batch, _, _, key]: [usize; 4]| if key < lengths[batch] { 0.0 } else { HIDDEN };
    let node = attention(&[], 0.0, &more, &["y"]);
    check(24, &node, &inputs, &["y"], &attend(SIZES, 0.0, padded).found);
    // The queries are the last ones of their sequence: the first of three sees neither of two keys.
    let causal = |[batch, _, query, key]: [usize; 4]| {
        if key + 3 <= query + lengths[batch] && key < lengths[batch] { 0.0 } else { HIDDEN }
    };
    let node = attention(&[("is_causal", 1)], 0.0, &more, &["y"]);
    check(24, &node, &inputs, &["y"], &attend(SIZES, 0.0, causal).found);
}

#[test]
fn keys_that_a_mask_does_not_have_are_hidden() {
    for width in [1, 3] {
        let mask: Vec<f64> = numbers(3 * width, 7);
        let bias = |[_, _, query, key]: [usize; 4]| match key < width {
            true => mask[query * width + key],
            false => HIDDEN,
        };
        let mask = tensor(&[3, width], &mask);
        let inputs = [inputs(SIZES), vec![("mask", mask)]].concat();
        let node = attention(&[], 0.0, &["mask"], &["y"]);
        check(24, &node, &inputs, &["y"], &attend(SIZES, 0.0, bias).found);
    }
    let inputs = [inputs(SIZES), vec![("mask", tensor(&[5, 4], &numbers(20, 7)))]].concat();
    let found = refusal(24, &attention(&[], 0.0, &["mask"], &["y"]), &inputs);
    let expected = "attn_mask: [5, 4] does not fit the scores; accepted: what is repeated to";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn windows_hide_keys_on_both_sides() {
    let sizes = Sizes { queries: 6, ..SIZES };
    for (left, right, is_causal) in [(1, 1, 0), (0, -1, 0), (-1, 0, 0), (2, 2, 1), (0, 0, 1)] {
        let bias = |[_, _, query, key]: [usize; 4]| {
            let distance = i64::try_from(key).unwrap() - i64::try_from(query).unwrap();
            let is_seen = (left < 0 || -distance <= left)
                && (right < 0 || distance <= right)
                && (is_causal == 0 || distance <= 0);
            if is_seen { 0.0 } else { HIDDEN }
        };
        let ints =
            [("left_window_size", left), ("right_window_size", right), ("is_causal", is_causal)];
        let node = attention(&ints, 0.0, &[], &["y"]);
        check(25, &node, &inputs(sizes), &["y"], &attend(sizes, 0.0, bias).found);
    }
    let found =
        refusal(24, &attention(&[("left_window_size", 1)], 0.0, &[], &["y"]), &inputs(SIZES));
    let expected = "left_window_size is not an attribute of Attention before ai.onnx 25";
    assert!(found.contains(expected), "{found}");
    let found =
        refusal(25, &attention(&[("left_window_size", -2)], 0.0, &[], &["y"]), &inputs(SIZES));
    assert!(found.contains("attribute left_window_size: -2 is not a number of keys"), "{found}");
}

/// With heads that share keys, a soft cap and a mask.
#[test]
fn scores_are_an_output_of_every_stage() {
    let sizes = Sizes { heads: 4, ..SIZES };
    let mask = [0.5, HIDDEN, 0.0, -1.0, HIDDEN, HIDDEN, HIDDEN, HIDDEN, 0.0, 0.25, HIDDEN, 0.0];
    let inputs = [inputs(sizes), vec![("mask", tensor(&[3, 4], &mask))]].concat();
    for cap in [0.0_f32, 0.75] {
        let expected = attend(sizes, cap.into(), |[_, _, query, key]| mask[query * 4 + key]);
        let node = attention(&[], cap, &["mask"], &["y"]);
        check(23, &node, &inputs, &["y"], &expected.found);
        for (mode, scores) in (0..).zip(&expected.scores) {
            let node =
                attention(&[("qk_matmul_output_mode", mode)], cap, &["mask"], &["y", "", "", "s"]);
            check(23, &node, &inputs, &["y", "s"], scores);
        }
    }
    let node = attention(&[("qk_matmul_output_mode", 4)], 0.0, &["mask"], &["y"]);
    let found = refusal(23, &node, &inputs);
    assert!(found.contains("attribute qk_matmul_output_mode: 4 is unknown"), "{found}");
}

#[test]
fn the_past_comes_before_keys_that_are_composed() {
    let whole = Sizes { queries: 2, ..SIZES };
    let all = inputs(whole);
    let part = |tensor: &Tensor, steps: std::ops::Range<usize>| {
        let bytes: Vec<u8> = (0..4)
            .flat_map(|head| {
                tensor.bytes()[head * 32 + steps.start * 8..][..steps.len() * 8].to_vec()
            })
            .collect();
        Tensor::new(tensor.element_type(), [2, 2, steps.len() as u64, 2], bytes).unwrap()
    };
    let inputs = vec![
        all[0].clone(),
        ("k", part(&all[1].1, 2..4)),
        ("v", part(&all[2].1, 2..4)),
        ("pk", part(&all[1].1, 0..2)),
        ("pv", part(&all[2].1, 0..2)),
    ];
    let causal = |place: [usize; 4]| if place[3] > place[2] + 2 { HIDDEN } else { 0.0 };
    let expected = attend(whole, 0.5, causal);
    for (outputs, expected) in [
        (vec!["y"], expected.found),
        (vec!["y", "pk2"], numbers(2 * 2 * 4 * 2, 2)),
        (vec!["y", "pk2", "pv2"], numbers(2 * 2 * 4 * 2, 3)),
    ] {
        let node = attention(&[("is_causal", 1)], 0.5, &["", "pk", "pv"], &outputs);
        check(23, &node, &inputs, &outputs, &expected);
    }
    let node = attention(&[], 0.0, &["", "pk"], &["y"]);
    let found = refusal(23, &node, &inputs[..4]);
    assert!(found.contains("past_key alone is half of the past"), "{found}");
}

/// In FLOAT16, a mask of numbers hides a whole row.
#[test]
fn a_query_of_16_bits_that_sees_no_key_finds_zeros() {
    let half = |shape: &[u64], bits: u16| {
        let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
        Tensor::new(dml_import::ElementType::FLOAT16, shape, bits.to_le_bytes().repeat(count))
            .unwrap()
    };
    let one = || half(&[1, 1, 2, 2], 0x3c00);
    let hidden =
        [0xfc00_u16, 0xfc00, 0, 0].iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let mask = Tensor::new(dml_import::ElementType::FLOAT16, [2, 2], hidden).unwrap();
    let inputs = [("q", one()), ("k", one()), ("v", one()), ("mask", mask)];
    for cap in [0.0, 2.0] {
        let node = attention(&[], cap, &["mask"], &["y"]);
        judged_model(program(23, &node, &inputs, &["y"]), &given(&inputs), |found| {
            let halves = [0_u16, 0, 0x3c00, 0x3c00].map(u16::to_le_bytes).concat();
            assert_eq!(found[0].bytes(), halves);
        });
    }
}
