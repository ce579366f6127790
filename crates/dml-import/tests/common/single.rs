//! Models of one node.

use dml_import::{Inputs, Model, Tensor};

use super::device::on_one_device;
use super::onnx::{Graph, Message, model, number, value};
use super::{run, run_on_both, tensors};

/// Inputs by name.
pub(crate) type NamedInputs<'a> = [(&'a str, &'a Tensor)];

/// The file of a model of one node in a given opset, with these input tensors and outputs.
pub(crate) fn one_of(
    opset: i64,
    node: &Message,
    inputs: &NamedInputs<'_>,
    outputs: &[&str],
) -> Vec<u8> {
    let of = |(name, tensor): &(&str, &Tensor)| {
        let shape: Vec<Option<i64>> = tensor.shape().iter().map(|_| None).collect();
        value(name, number(tensor.element_type()), &shape)
    };
    let inputs = inputs.iter().map(of).collect();
    let outputs = outputs.iter().map(|name| value(name, 0, &[])).collect();
    let graph = Graph { nodes: vec![node.clone()], inputs, outputs, ..Graph::default() };
    model(opset, graph)
}

fn given(inputs: &NamedInputs<'_>) -> Inputs {
    let add =
        |it: Inputs, (name, tensor): &(&str, &Tensor)| it.with_tensor(*name, (*tensor).clone());
    inputs.iter().fold(Inputs::new(), add)
}

/// Passes the outputs of a model to `judge`, as computed by the host and by the device that the file chooses.
pub(crate) fn judged_model(file: Vec<u8>, inputs: &Inputs, judge: impl Fn(&[Tensor])) {
    let model = Model::from_bytes(file.clone()).unwrap();
    on_one_device(&file, |device| {
        for found in run_on_both(device, &model, inputs).unwrap() {
            judge(&tensors(&found));
        }
    });
}

/// Passes the node's outputs to `judge`, as computed by the host and by a device.
pub(crate) fn judged(
    node: &Message,
    inputs: &NamedInputs<'_>,
    outputs: &[&str],
    judge: impl Fn(&[Tensor]),
) {
    judged_of(20, node, inputs, outputs, judge);
}

/// Passes the outputs of a node of an opset to `judge`, as computed by the host and by a device.
pub(crate) fn judged_of(
    opset: i64,
    node: &Message,
    inputs: &NamedInputs<'_>,
    outputs: &[&str],
    judge: impl Fn(&[Tensor]),
) {
    judged_model(one_of(opset, node, inputs, outputs), &given(inputs), judge);
}

/// Checks the node's output `y`.
pub(crate) fn check(node: &Message, inputs: &NamedInputs<'_>, expected: &Tensor) {
    check_of(20, node, inputs, expected);
}

/// Checks the output `y` of a node of an opset.
pub(crate) fn check_of(opset: i64, node: &Message, inputs: &NamedInputs<'_>, expected: &Tensor) {
    judged_of(opset, node, inputs, &["y"], |found| {
        assert_eq!(&found[0], expected, "opset {opset}");
    });
}

/// The error of a node in a given opset.
pub(crate) fn refusal_of(opset: i64, node: &Message, inputs: &NamedInputs<'_>) -> String {
    let model = Model::from_bytes(one_of(opset, node, inputs, &["y"])).unwrap();
    model.bind(&given(inputs)).unwrap_err().to_string()
}

/// Checks the output `y` on a device only; floats may be off by 1e-5 of the greatest.
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
    let file = one_of(opset, node, inputs, &["y"]);
    let program = Model::from_bytes(file.clone()).unwrap().bind(&given(inputs)).unwrap();
    on_one_device(&file, |device| {
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
    refusal_of(20, node, inputs)
}
