//! RandomNormal, RandomUniform and Bernoulli: their distributions and seeds.

use super::common::device::on_every_device;
use super::common::onnx::{Graph, Message, float, initializer, ints, model, node, repeated, value};
use super::common::{f32s, host, run_on_both, tensors};
use dml_import::{Inputs, Model, Tensor};

const COUNT: usize = 20_000;

fn drawn(op: &str, seed: Option<f32>, more: &[Message]) -> Vec<f32> {
    let node = node(op, &[], &["y"], &[]).message(5, ints("shape", &[COUNT as i64]));
    let node = more.iter().fold(node, |it, more| it.message(5, more.clone()));
    let node = match seed {
        Some(seed) => node.message(5, float("seed", seed)),
        None => node,
    };
    super::numbers(&results(vec![node], &Inputs::new()).remove(0))
}

/// The output `y` of nodes that may read `x`.
fn results(nodes: Vec<Message>, inputs: &Inputs) -> Vec<Tensor> {
    let given = inputs.iter().map(|_| value("x", 1, &[None])).collect();
    let graph =
        Graph { nodes, inputs: given, outputs: vec![value("y", 1, &[])], ..Graph::default() };
    let program = Model::from_bytes(model(22, graph)).unwrap().bind(inputs).unwrap();
    tensors(&host::run(&program))
}

/// The greatest distance of the numbers' distribution from one with this distribution function. Of 20,000 numbers
/// that have it, one set in a million is further away than 0.0190.
fn distance(mut numbers: Vec<f32>, function: impl Fn(f64) -> f64) -> f64 {
    numbers.sort_by(f32::total_cmp);
    let count = numbers.len() as f64;
    let at = |(rank, number): (usize, &f32)| {
        let share = function(f64::from(*number));
        (share - rank as f64 / count).abs().max((share - (rank + 1) as f64 / count).abs())
    };
    numbers.iter().enumerate().map(at).fold(0.0, f64::max)
}

/// The normal distribution function, by the integral of its density in small steps.
fn normal(x: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let steps = 400;
    let width = x / f64::from(steps);
    let middle = |it: i32| density((f64::from(it) + 0.5) * width) * width;
    0.5 + (0..steps).map(middle).sum::<f64>()
}

#[test]
fn uniform_numbers_are_spread_evenly_over_their_range() {
    let range = [float("low", -2.0), float("high", 6.0)];
    let numbers = drawn("RandomUniform", Some(1.0), &range);
    assert!(numbers.iter().all(|number| (-2.0..6.0).contains(number)));
    let far = distance(numbers, |x| (x + 2.0) / 8.0);
    assert!(far < 0.0190, "{far}");
}

#[test]
fn normal_numbers_have_the_normal_distribution() {
    let parameters = [float("mean", 3.0), float("scale", 0.5)];
    let numbers = drawn("RandomNormal", Some(2.0), &parameters);
    let far = distance(numbers, |x| normal((x - 3.0) / 0.5));
    assert!(far < 0.0190, "{far}");
}

#[test]
fn a_seed_decides_the_numbers() {
    let of = |seed| drawn("RandomNormal", seed, &[]);
    assert_eq!(of(Some(1.0)), of(Some(1.0)));
    assert_ne!(of(Some(1.0)), of(Some(2.0)));
    assert_ne!(of(None), of(Some(1.0)));
    assert_eq!(of(None), of(None));
}

#[test]
fn numbers_are_those_of_their_probabilities() {
    let share = 0.2;
    let x = f32s(&[COUNT as u64], &[share; COUNT]);
    let bernoulli = node("Bernoulli", &["x"], &["y"], &[]).message(5, float("seed", 3.0));
    let found = results(vec![bernoulli], &Inputs::new().with_tensor("x", x)).remove(0);
    let ones = super::numbers(&found).iter().filter(|it| **it == 1.0).count();
    // 5 standard deviations of a count.
    assert!((ones as f64 - 4000.0).abs() < 5.0 * (20_000.0_f64 * 0.2 * 0.8).sqrt(), "{ones}");
}

#[test]
fn every_device_and_iteration_has_its_numbers() {
    let body = Graph {
        nodes: vec![node("RandomUniformLike", &["x"], &["drawn"], &[])],
        inputs: vec![value("i", 7, &[]), value("on", 9, &[])],
        outputs: vec![value("on", 9, &[]), value("drawn", 1, &[])],
        ..Graph::default()
    };
    let graph = Graph {
        nodes: vec![repeated("Loop", &["count", ""], &["y"], body, &[])],
        initializers: vec![initializer("count", &[], &[2])],
        inputs: vec![value("x", 1, &[None])],
        outputs: vec![value("y", 1, &[])],
    };
    let model = Model::from_bytes(model(22, graph)).unwrap();
    let inputs = Inputs::new().with_tensor("x", f32s(&[5], &[0.0; 5]));
    on_every_device(|device| {
        let [host, device] = run_on_both(device, &model, &inputs).unwrap().map(|it| tensors(&it));
        assert_eq!(host, device);
        let numbers = super::numbers(&host[0]);
        assert_ne!(numbers[..5], numbers[5..]);
    });
}
