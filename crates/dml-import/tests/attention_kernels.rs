//! The dispatches of attention on a GPU: one with soft caps and sinks beside those that append to caches, and few for
//! these and for rotary embeddings.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::cached::{Writer, int32, numbers};
use common::f32s;
use common::llama::Llama;
use common::onnx::{Message, float, node};
use common::single::one_of;
use dml::FeatureLevel;
use dml::core::plan::Step;
use dml::core::{Capabilities, validate, validate_graph};
use dml::ops::graph::{GraphOptions, compile_graph};
use dml::ops::{Target, TransferUse};
use dml_import::program::{self, Work};
use dml_import::{Input, Inputs, Model};

/// A GPU with work groups and shared memory as large as those of most.
fn gpu() -> Capabilities {
    let mut gpu = Capabilities::vulkan_minimum();
    gpu.limits.max_compute_work_group_invocations = 1024;
    gpu.limits.max_compute_work_group_size = [1024; 3];
    gpu.limits.max_compute_shared_memory_size = 32 << 10;
    gpu
}

/// A model of one node, of ONNX or of com.microsoft.
fn one(node: &Message, given: &Inputs, outputs: &[&str]) -> Model {
    let tensors = given.iter().map(|(name, input)| match input {
        Input::Tensor(tensor) => (name, tensor),
        Input::Shape(shape) => panic!("{shape:?}"),
    });
    let inputs: Vec<_> = tensors.collect();
    let opset = Message::default().text(1, "com.microsoft").int(2, 1);
    Model::from_bytes(Message(one_of(24, node, &inputs, outputs)).message(8, opset).0).unwrap()
}

/// The names of the kernels of one run.
fn kernels(model: &Model, inputs: &Inputs) -> Vec<String> {
    let capabilities = gpu();
    let tuning = dml::tuning_for(dml::vk::DeviceType::Discrete);
    let target = Target { capabilities: &capabilities, tuning, transfer: TransferUse::Allowed };
    let program = model.bind(inputs).unwrap();
    let mut kernels = vec![];
    for step in program.steps() {
        let program::Step::Dispatch(dispatch) = step else { continue };
        let plan = match &program.operators()[dispatch.operator].work {
            Work::Graph { desc, .. } => {
                let graph = validate_graph(desc, FeatureLevel::HIGHEST).unwrap();
                compile_graph(&graph, &target, GraphOptions::default()).unwrap().0
            }
            Work::Operator(operator) => {
                let operator = validate(operator, FeatureLevel::HIGHEST).unwrap();
                dml::ops::lower(&operator, &target).unwrap()
            }
        };
        let names = plan.exec.iter().map(|step| match step {
            Step::Dispatch(dispatch) => dispatch.kernel.variant.name.to_string(),
            other => format!("{other:?}"),
        });
        kernels.extend(names);
    }
    kernels
}

/// How scores are limited, and whether heads have sinks.
#[derive(Clone, Copy, Debug)]
struct Scores {
    softcap: Option<f32>,
    has_sinks: bool,
}

const SCORES: [Scores; 4] = [
    Scores { softcap: None, has_sinks: false },
    Scores { softcap: Some(2.0), has_sinks: false },
    Scores { softcap: None, has_sinks: true },
    Scores { softcap: Some(2.0), has_sinks: true },
];

fn with_softcap(node: Message, scores: Scores) -> Message {
    scores.softcap.map_or(node.clone(), |limit| node.message(5, float("softcap", limit)))
}

/// Checks that one kernel of attention has all products, reductions and functions of scores.
fn check_is_one(kernels: &[String], name: &str) {
    let (attentions, others): (Vec<_>, Vec<_>) =
        kernels.iter().partition(|kernel| kernel.starts_with("attention_"));
    assert_eq!(attentions.len(), 1, "{name}: {kernels:#?}");
    let is_of_scores = |kernel: &&String| {
        !kernel.starts_with("element_wise") || kernel.contains("f32.") || kernel.contains("exp")
    };
    assert!(!others.iter().any(is_of_scores), "{name}: {kernels:#?}");
}

#[test]
fn attention_over_caches_is_one_dispatch_with_soft_caps_and_sinks() {
    let heads = [("num_heads", 4), ("kv_num_heads", 2)];
    for (count, total) in [(1, 9), (24, 24)] {
        for scores in SCORES {
            let caches = ["past_k", "past_v"].into_iter();
            let step = Writer::GroupQueryAttention.step(count, total);
            let mut given = caches.fold(step, |it, name| {
                it.with_tensor(name, Writer::GroupQueryAttention.cache(32, 1))
            });
            let mut inputs = vec!["q", "k", "v", "past_k", "past_v", "lasts", "total"];
            if scores.has_sinks {
                inputs.extend(["", "", "", "", "sinks"]);
                given = given.with_tensor("sinks", f32s(&[4], &[0.5, -1.0, 2.0, 0.0]));
            }
            let outputs = ["y", "present_k", "present_v"];
            let node = node("GroupQueryAttention", &inputs, &outputs, &heads);
            let node = with_softcap(node.text(7, "com.microsoft"), scores);
            let found = kernels(&one(&node, &given, &outputs), &given);
            check_is_one(&found, &format!("{count} {scores:?}"));
        }
    }
}

#[test]
fn attention_of_onnx_is_one_dispatch_with_a_soft_cap() {
    for (queries, keys) in [(2, 50), (40, 40), (130, 200)] {
        for scores in SCORES.into_iter().filter(|it| !it.has_sinks) {
            let numbers = |steps: u64| numbers(&[1, 4, steps, 32], 0);
            let given = Inputs::new()
                .with_tensor("q", numbers(queries))
                .with_tensor("k", numbers(keys))
                .with_tensor("v", numbers(keys));
            let node = node("Attention", &["q", "k", "v"], &["y"], &[("is_causal", 1)]);
            let found = kernels(&one(&with_softcap(node, scores), &given, &["y"]), &given);
            check_is_one(&found, &format!("{queries} {keys} {scores:?}"));
            // A soft cap leaves the heads of a query in an order of their own, which a copy changes.
            assert!(found.len() <= 1 + usize::from(scores.softcap.is_some()), "{found:#?}");
        }
    }
}

/// Positions and masks, which all layers share, are computed once: each further layer adds its own dispatches alone.
#[test]
fn a_layer_of_a_decoder_adds_few_dispatches() {
    let of_layers = |layers| {
        let decoder = Llama { layers, positions: 64 };
        let model = Model::from_bytes(decoder.model()).unwrap();
        kernels(&model, &decoder.step(20)).len()
    };
    assert_eq!(of_layers(3) - of_layers(2), 19);
}

#[test]
fn rotary_embeddings_of_queries_and_keys_are_a_dispatch_each() {
    let given =
        Inputs::new().with_tensor("lasts", int32(&[1], 8)).with_tensor("total", int32(&[], 9));
    let tensors: [(&str, &[u64]); 7] = [
        ("q", &[1, 1, 64]),
        ("k", &[1, 1, 32]),
        ("v", &[1, 1, 32]),
        ("past_k", &[1, 2, 8, 16]),
        ("past_v", &[1, 2, 8, 16]),
        ("cos", &[16, 8]),
        ("sin", &[16, 8]),
    ];
    let given =
        tensors.iter().fold(given, |it, (name, shape)| it.with_tensor(*name, numbers(shape, 0)));
    let of_node = |rotary| {
        let inputs = ["q", "k", "v", "past_k", "past_v", "lasts", "total", "cos", "sin"];
        let heads = [("num_heads", 4), ("kv_num_heads", 2), ("do_rotary", rotary)];
        let outputs = ["y", "present_k", "present_v"];
        let node = node("GroupQueryAttention", &inputs, &outputs, &heads);
        kernels(&one(&node.text(7, "com.microsoft"), &given, &outputs), &given)
    };
    let [with, without] = [1, 0].map(of_node);
    // The cosines and sines of the place, and both rotations, of which that of keys appends them to the cache.
    assert_eq!(with.len(), without.len() + 3, "{with:#?} {without:#?}");
}
