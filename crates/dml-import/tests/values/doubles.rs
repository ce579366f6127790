//! Arithmetic in float64, which the host computes.

use std::sync::Arc;

use super::common::device::on_every_device;
use super::common::f32s;
use super::common::onnx::{Graph, model, node, value};
use super::common::single::{check, refusal};
use dml_import::{ElementType, Inputs, Model, NodeSupport, Session, Tensor};

const DOUBLE: ElementType = ElementType::Dml(dml::DataType::Float64);

fn f64s(shape: &[u64], values: &[f64]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Tensor::new(DOUBLE, shape, bytes).unwrap()
}

#[test]
fn the_host_computes_with_64_bits() {
    let third = 1.0 / 3.0;
    let (a, b) = (f64s(&[2, 1], &[third, -2.0]), f64s(&[2], &[1e-12, 4.0]));
    let sums = f64s(&[2, 2], &[third + 1e-12, third + 4.0, -2.0 + 1e-12, 2.0]);
    check(&node("Add", &["a", "b"], &["y"], &[]), &[("a", &a), ("b", &b)], &sums);
    let roots = f64s(&[2], &[1e-12f64.sqrt(), 2.0]);
    check(&node("Sqrt", &["b"], &["y"], &[]), &[("b", &b)], &roots);
    let product = f64s(&[1], &[third * 1e-12 + -2.0 * 4.0]);
    let a = f64s(&[1, 2], &[third, -2.0]);
    check(&node("MatMul", &["a", "b"], &["y"], &[]), &[("a", &a), ("b", &b)], &product);
}

#[test]
fn rows_are_reduced_and_summed_up() {
    let x = f64s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 0.1]);
    let reduce = node("ReduceSum", &["x"], &["y"], &[("keepdims", 0)]);
    check(&reduce, &[("x", &x)], &f64s(&[], &[15.1]));
    let e = [1.0f64, 2.0, 3.0].map(|it| (it - 3.0).exp());
    let sum: f64 = e.iter().sum();
    let row = f64s(&[1, 3], &[1.0, 2.0, 3.0]);
    let shares = f64s(&[1, 3], &e.map(|it| it / sum));
    check(&node("Softmax", &["x"], &["y"], &[]), &[("x", &row)], &shares);
    let axis = Tensor::new(ElementType::INT64, [], 1i64.to_le_bytes().to_vec()).unwrap();
    let running = node("CumSum", &["x", "axis"], &["y"], &[("exclusive", 1), ("reverse", 1)]);
    let expected = f64s(&[1, 3], &[5.0, 3.0, 0.0]);
    check(&running, &[("x", &row), ("axis", &axis)], &expected);
}

#[test]
fn a_session_reads_what_the_device_computes_before() {
    let nodes = vec![
        node("Relu", &["x"], &["r"], &[]),
        node("Cast", &["r"], &["wide"], &[("to", 11)]),
        node("Softmax", &["wide"], &["s"], &[]),
        node("Cast", &["s"], &["y"], &[("to", 1)]),
    ];
    let (inputs, outputs) = (vec![value("x", 1, &[None])], vec![value("y", 1, &[])]);
    let graph = Graph { nodes, inputs, outputs, ..Graph::default() };
    let model = Model::from_bytes(model(13, graph)).unwrap();
    let report = model.inspect(&Inputs::new().with_tensor("x", f32s(&[2], &[1.0; 2]))).unwrap();
    assert!(matches!(report.nodes[2].support, NodeSupport::AfterReading(_)), "{report:?}");
    let model = Arc::new(model);
    on_every_device(|device| {
        let session = Session::new(device, Arc::clone(&model));
        for given in [[0.0, -5.0, 1.0], [2.0, 2.0, 2.0]] {
            let inputs = Inputs::new().with_tensor("x", f32s(&[3], &given));
            let found = session.run(&inputs).unwrap().remove(0).tensor;
            let powers = given.map(|it: f32| f64::from(it.max(0.0)).exp());
            let sum: f64 = powers.iter().sum();
            super::assert_near(&super::numbers(&found), &powers.map(|power| (power / sum) as f32));
        }
    });
}

#[test]
fn operators_without_a_computation_of_the_host_are_refused() {
    let x = f64s(&[1, 1, 4], &[1.0; 4]);
    let error = refusal(&node("Erf", &["x"], &["y"], &[]), &[("x", &x)]);
    assert!(error.contains("FLOAT64 is not supported at any feature level"), "{error}");
}
