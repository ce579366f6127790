//! Models of one node.

use dml_import::{Inputs, Model, Tensor};

use super::device::on_every_device;
use super::onnx::{Graph, Message, model, number, value};
use super::{run, run_on_both, tensors};

/// Inputs by name.
type NamedInputs<'a> = [(&'a str, &'a Tensor)];

/// A model of one node in opset 20, with these input tensors and outputs.
fn one(node: &Message, inputs: &NamedInputs<'_>, outputs: &[&str]) -> Model {
    one_of(20, node, inputs, outputs)
}

/// A model of one node in a given opset.
fn one_of(opset: i64, node: &Message, inputs: &NamedInputs<'_>, outputs: &[&str]) -> Model {
    let of = |(name, tensor): &(&str, &Tensor)| {
        let shape: Vec<Option<i64>> = tensor.shape().iter().map(|_| None).collect();
        value(name, number(tensor.element_type()), &shape)
    };
    let inputs = inputs.iter().map(of).collect();
    let outputs = outputs.iter().map(|name| value(name, 0, &[])).collect();
    let graph = Graph { nodes: vec![node.clone()], inputs, outputs, ..Graph::default() };
    Model::from_bytes(model(opset, graph)).unwrap()
}

fn given(inputs: &NamedInputs<'_>) -> Inputs {
    let add =
        |it: Inputs, (name, tensor): &(&str, &Tensor)| it.with_tensor(*name, (*tensor).clone());
    inputs.iter().fold(Inputs::new(), add)
}

/// Passes the node's outputs to `judge`, as computed by the host and by every device.
pub(crate) fn judged(
    node: &Message,
    inputs: &NamedInputs<'_>,
    outputs: &[&str],
    judge: impl Fn(&[Tensor]),
) {
    on_every_device(|device| {
        let model = one(node, inputs, outputs);
        for found in run_on_both(device, &model, &given(inputs)).unwrap() {
            judge(&tensors(&found));
        }
    });
}

/// Checks the node's output `y`.
pub(crate) fn check(node: &Message, inputs: &NamedInputs<'_>, expected: &Tensor) {
    judged(node, inputs, &["y"], |found| assert_eq!(&found[0], expected));
}

/// Checks the output `y` of a node of an opset.
pub(crate) fn check_of(opset: i64, node: &Message, inputs: &NamedInputs<'_>, expected: &Tensor) {
    on_every_device(|device| {
        let model = one_of(opset, node, inputs, &["y"]);
        for found in run_on_both(device, &model, &given(inputs)).unwrap() {
            assert_eq!(&tensors(&found)[0], expected, "opset {opset}");
        }
    });
}

/// The error of a node in a given opset.
pub(crate) fn refusal_of(opset: i64, node: &Message, inputs: &NamedInputs<'_>) -> String {
    one_of(opset, node, inputs, &["y"]).bind(&given(inputs)).unwrap_err().to_string()
}

/// Checks the output `y` on devices only; floats may be off by 1e-5 of the greatest.
pub(crate) fn check_near(
    node: &Message,
    inputs: &NamedInputs<'_>,
    shape: &[u64],
    expected: &[f32],
) {
    check_near_of(20, node, inputs, shape, expected);
}

/// Checks the output `y` like [`check_near`], in a given opset.
pub(crate) fn check_near_of(
    opset: i64,
    node: &Message,
    inputs: &NamedInputs<'_>,
    shape: &[u64],
    expected: &[f32],
) {
    on_every_device(|device| {
        let program = one_of(opset, node, inputs, &["y"]).bind(&given(inputs)).unwrap();
        let found = tensors(&run(device, &program)).remove(0);
        assert_eq!(found.shape(), shape);
        let floats = found.bytes().chunks_exact(4);
        let floats: Vec<f32> =
            floats.map(|float| f32::from_le_bytes(float.try_into().unwrap())).collect();
        assert_eq!(floats.len(), expected.len());
        let most = 1e-5 * expected.iter().fold(1.0, |most: f32, it| most.max(it.abs()));
        for (found, expected) in floats.iter().zip(expected) {
            assert!((found - expected).abs() <= most, "{found} for {expected}");
        }
    });
}

/// The error of the node in opset 20.
pub(crate) fn refusal(node: &Message, inputs: &NamedInputs<'_>) -> String {
    one(node, inputs, &["y"]).bind(&given(inputs)).unwrap_err().to_string()
}
