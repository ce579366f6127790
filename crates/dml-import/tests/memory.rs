//! Errors of memory that a device does not have.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::RefCell;

use common::device::on_every_device_under;
use common::onnx::{Graph, Message, floats, initializer, model, node, value};
use dml::CapabilityCap;
use dml::core::capabilities::Limit;
use dml_import::{DeviceTensor, Error, Inputs, IoBinding, Model, Session, Tensor};

/// The most bytes that a buffer may have.
const MOST: u64 = 4096;

/// Small shapes of the inputs.
const ONES: [(&str, &[u64]); 2] = [("a", &[1, 1]), ("b", &[1, 1])];

/// The errors for a model with a buffer that is too large, for inputs of these shapes.
fn refusal(graph: Graph, inputs: &[(&str, &[u64])]) -> Vec<String> {
    let bytes = model(17, graph);
    let found = RefCell::new(vec![]);
    let cap = CapabilityCap::NONE.with_limit(Limit::MaxBufferSize, MOST).unwrap();
    on_every_device_under(cap, |device| {
        let session = Session::new(device, Model::from_bytes(bytes.clone()).unwrap());
        let given = inputs.iter().fold(Inputs::new(), |it, (name, shape)| {
            let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
            it.with_tensor(*name, common::f32s(shape, &vec![1.0; count]))
        });
        let error = session.run(&given).unwrap_err();
        assert!(matches!(error.kind(), Error::Memory(_)), "{error:?}");
        assert!(error.device_error().unwrap().is_unsupported());
        found.borrow_mut().push(error.kind().to_string());
    });
    let mut found = found.into_inner();
    found.dedup();
    found
}

fn graph(nodes: Vec<Message>, initializers: Vec<Message>) -> Graph {
    let inputs = ["a", "b"].map(|it| value(it, 1, &[None, None])).into();
    Graph { nodes, initializers, inputs, outputs: vec![value("y", 1, &[])] }
}

#[test]
fn the_tensor_that_is_too_large_is_named() {
    let sum = || vec![node("Add", &["a", "b"], &["y"], &[])];
    assert_eq!(
        refusal(graph(sum(), vec![]), &[("a", &[60, 1]), ("b", &[1, 60])]),
        ["output 'y' float32 [60, 60] needs 14,400 bytes; maxBufferSize of this device is 4,096"]
    );
    let ends = vec![initializer("one", &[1], &[1]), initializer("two", &[1], &[2])];
    let part = |of| node("Slice", &[of, "one", "two", "one"], &["c"], &[]);
    let fed = vec![part("a"), node("Add", &["c", "b"], &["y"], &[])];
    assert_eq!(
        refusal(graph(fed, ends), &[("a", &[1, 2000]), ("b", &[1, 1])]),
        ["input 'a' float32 [1, 2000] needs 8,000 bytes; maxBufferSize of this device is 4,096"]
    );
    let weighted =
        || vec![node("Mul", &["a", "w"], &["c"], &[]), node("Add", &["c", "b"], &["y"], &[])];
    let weight = floats("w", &[1, 1500], &[1.0; 1500]);
    assert_eq!(
        refusal(graph(weighted(), vec![weight]), &ONES),
        ["weight 'w' float32 [1, 1500] needs 6,000 bytes; maxBufferSize of this device is 4,096"]
    );
    let bytes = Message::default().int(1, 1).int(1, 1500).int(2, 2).text(8, "bytes");
    let made = vec![bytes.bytes(9, &[7; 1500]), floats("scale", &[], &[0.5])];
    let dense = node("DequantizeLinear", &["bytes", "scale"], &["w"], &[]);
    let said = refusal(graph([vec![dense], weighted()].concat(), made), &ONES);
    let [start, end] = ["result of DequantizeLinear 'w' FLOAT32 [", " needs 6,000 bytes; "];
    assert!(said.iter().all(|it| it.starts_with(start) && it.contains(end)), "{said:?}");
}

/// The sum is a buffer by itself, which is too large. Two products read it, or each would be divided to read a piece.
#[test]
fn results_in_a_graph_that_are_too_large_are_named() {
    let nodes = vec![
        node("Add", &["a", "b"], &["c"], &[]),
        node("MatMul", &["c", "w"], &["d"], &[]),
        node("MatMul", &["c", "d"], &["y"], &[]),
    ];
    // Two columns, since a product with a vector would add in its own kernel.
    let weight = floats("w", &[60, 2], &[1.0; 120]);
    let said = refusal(graph(nodes, vec![weight]), &[("a", &[60, 1]), ("b", &[1, 60])]);
    let start = "result of Add 'c' FLOAT32 [";
    let end = "60, 60] needs 14,400 bytes; maxBufferSize of this device is 4,096";
    let is_named = |it: &String| it.starts_with(start) && it.ends_with(end);
    assert!(said.iter().all(is_named), "{said:?}");
}

#[test]
fn a_device_tensor_that_is_too_large_is_named() {
    let cap = CapabilityCap::NONE.with_limit(Limit::MaxBufferSize, MOST).unwrap();
    on_every_device_under(cap, |device| {
        let error = DeviceTensor::new(device, &common::f32s(&[1025], &[0.0; 1025])).unwrap_err();
        let problem =
            "tensor float32 [1025] needs 4,100 bytes; maxBufferSize of this device is 4,096";
        assert_eq!(error.to_string(), problem);
        let sum = graph(vec![node("Add", &["a", "b"], &["y"], &[])], vec![]);
        let session = Session::new(device, Model::from_bytes(model(17, sum)).unwrap());
        let ones = |shape: &[u64]| -> Tensor { common::f32s(shape, &[1.0; 60]) };
        let inputs =
            Inputs::new().with_tensor("a", ones(&[60, 1])).with_tensor("b", ones(&[1, 60]));
        let mut binding = IoBinding::new().with_output("y");
        let error = session.run_bound(&mut binding, &inputs).unwrap_err();
        let problem =
            "output 'y' float32 [60, 60] needs 14,400 bytes; maxBufferSize of this device is 4,096";
        assert_eq!(error.to_string(), problem);
    });
}
