//! Graphs on every device: compiled in every way, with memory of their own and in place, several at once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::graphs::{buffer, compiled, run};
use common::on_every_device;
use dml::core::{Capabilities, validate_graph};
use dml::{
    ActivationReluDesc, Buffer, BufferBinding, DataType, ElementWiseAddDesc, GraphBuilder,
    GraphDesc, TensorDesc, TensorFlags,
};
use dml_ops::graph::every_way::{WAYS, lowered};
use dml_reference::Random;
use dml_reference::graphs::{input_bytes, node_by_node, output_elements, random_graph};

#[test]
fn random_graphs_have_the_results_of_their_operators() {
    let mut graphs = vec![];
    for seed in 0..60 {
        let mut random = Random::new(&format!("graph {seed}"));
        let nodes = 1 + random.below(12);
        let desc = random_graph(&mut random, nodes);
        let graph = validate_graph(&desc, dml::FeatureLevel::HIGHEST).unwrap();
        let inputs = input_bytes(&graph, &mut random);
        let least = &Capabilities::vulkan_minimum();
        let (outputs, has_subnormals) = node_by_node(&graph, &inputs, least, lowered).unwrap();
        if !has_subnormals {
            let expected = output_elements(&graph, &outputs, true);
            graphs.push((desc, graph, inputs, expected));
        }
    }
    assert!(graphs.len() > 20, "{} graphs have no subnormal numbers", graphs.len());
    on_every_device(|device| {
        for (at, (desc, graph, inputs, expected)) in graphs.iter().enumerate() {
            for options in WAYS {
                let outputs = run(device, &compiled(device, desc, options), inputs);
                let found = output_elements(graph, &outputs, true);
                assert_eq!(&found, expected, "graph {at} {options:?}");
            }
        }
    });
}

fn tensor() -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[33])
}

fn add(a_tensor: TensorDesc) -> ElementWiseAddDesc {
    ElementWiseAddDesc { a_tensor, b_tensor: tensor(), output_tensor: tensor() }
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// `x + 1 + 1 + ..`.
fn chain(length: usize) -> GraphDesc {
    let mut graph = GraphBuilder::new();
    let [mut value, one] = [graph.input(), graph.input()];
    for _ in 0..length {
        value = graph.operator(add(tensor()), &[value, one]);
    }
    graph.output(value);
    graph.finish()
}

#[test]
fn a_thousand_operators_are_one_submission() {
    let inputs = [(0..33).map(|it| it as f32).collect::<Vec<_>>(), vec![1.0; 33]];
    let inputs: Vec<_> = inputs.into_iter().map(|input| Some(floats(input))).collect();
    let expected = floats((1000..1033).map(|it| it as f32));
    on_every_device(|device| {
        for options in WAYS {
            let graph = compiled(device, &chain(1000), options);
            let steps: usize =
                graph.explanation().unwrap().parts.iter().map(|part| part.steps).sum();
            assert_eq!(steps == 1000, !options.fuse, "{steps} steps");
            // If a step writes the bytes that it has just read, one buffer is enough.
            assert!(graph.binding_properties().temporary_resource_size <= 256);
            assert_eq!(run(device, &graph, &inputs), [&expected[..]]);
        }
    });
}

#[test]
fn a_graph_is_executed_with_several_bindings_at_once() {
    on_every_device(|device| {
        let graph = compiled(device, &chain(100), WAYS[1]);
        let one = buffer(device, &floats(vec![1.0; 33]));
        let make = |at: u16| buffer(device, &floats(vec![f32::from(at); 33]));
        let values: Vec<Buffer> = (0..4).map(make).collect();
        // In place, and all in flight.
        let submissions: Vec<_> = values
            .iter()
            .map(|value| {
                let [value, one] = [value, &one].map(|it| Some(BufferBinding::whole(it)));
                device.submit(&graph, &[value, one], &[value]).unwrap()
            })
            .collect();
        submissions.into_iter().for_each(|submission| submission.wait().unwrap());
        for (at, value) in values.iter().enumerate() {
            assert_eq!(
                device.read::<f32>(value, 0, &tensor()).unwrap(),
                vec![at as f32 + 100.0; 33]
            );
        }
    });
}

#[test]
fn an_owned_input_is_kept_by_initialization() {
    let owned = TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..tensor() };
    let mut desc = GraphBuilder::new();
    let [weight, value] = [desc.input(), desc.input()];
    let sum = desc.operator(add(owned.clone()), &[weight, value]);
    let again = desc.operator(add(owned), &[weight, sum]);
    let relu = ActivationReluDesc { input_tensor: tensor(), output_tensor: tensor() };
    let relu = desc.operator(relu, &[again]);
    desc.output(relu);
    let desc = desc.finish();
    on_every_device(|device| {
        for options in WAYS {
            let graph = compiled(device, &desc, options);
            let weight = buffer(device, &floats(vec![-2.0; 33]));
            device.initialize(&graph, &[Some(BufferBinding::whole(&weight)), None]).unwrap();
            drop(weight);
            let value = Some(floats((0..33).map(|it| it as f32)));
            let expected = floats((0..33).map(|it| (it as f32 - 4.0).max(0.0)));
            assert_eq!(run(device, &graph, &[None, value]), [&expected[..]], "{options:?}");
        }
    });
}
