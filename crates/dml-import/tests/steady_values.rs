//! The cost of a step in which only a value grows that the host has to know. There is one injector in a process, so this
//! is its only test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::{on_every_device_as, options};
use common::onnx::{Graph, Message, model, node, value};
use common::{f32s, host, tensors};
use dml::{DeviceOptions, InstanceDesc};
use dml_fault::{EntryPoint, Injector};
use dml_import::{ElementType, Inputs, Model, Session};

/// Places of the cache.
const CAPACITY: u64 = 16;
const INT32: i64 = 6;

/// Attention over a cache of one size, of which `total` places are in use after the step.
fn decoder() -> Vec<u8> {
    let heads = [("num_heads", 4), ("kv_num_heads", 2)];
    let inputs = ["q", "k", "v", "past_k", "past_v", "lasts", "total"];
    let attention = node("GroupQueryAttention", &inputs, &["y", "present_k", "present_v"], &heads);
    let cache = [Some(1), Some(2), None, Some(4)];
    let graph = Graph {
        nodes: vec![attention.text(7, "com.microsoft")],
        inputs: vec![
            value("q", 1, &[Some(1), Some(1), Some(16)]),
            value("k", 1, &[Some(1), Some(1), Some(8)]),
            value("v", 1, &[Some(1), Some(1), Some(8)]),
            value("past_k", 1, &cache),
            value("past_v", 1, &cache),
            value("lasts", INT32, &[Some(1)]),
            value("total", INT32, &[]),
        ],
        outputs: ["y", "present_k", "present_v"].map(|it| value(it, 1, &[])).into(),
        ..Graph::default()
    };
    let opset = Message::default().text(1, "com.microsoft").int(2, 1);
    Message(model(17, graph)).message(8, opset).0
}

fn inputs(total: u8) -> Inputs {
    let floats = |shape: &[u64], seed: u8| {
        let count: u64 = shape.iter().product();
        let number =
            |it: u64| f32::from(u8::try_from((it * 7 + u64::from(seed)) % 23).unwrap()) / 8.0;
        f32s(shape, &(0..count).map(number).collect::<Vec<f32>>())
    };
    let int = |shape: &[u64], number: u8| {
        let bytes = i32::from(number).to_le_bytes().to_vec();
        dml_import::Tensor::new(ElementType::Dml(dml::DataType::Int32), shape, bytes).unwrap()
    };
    let cache = [1, 2, CAPACITY, 4];
    Inputs::new()
        .with_tensor("q", floats(&[1, 1, 16], total))
        .with_tensor("k", floats(&[1, 1, 8], total + 1))
        .with_tensor("v", floats(&[1, 1, 8], total + 2))
        .with_tensor("past_k", floats(&cache, 3))
        .with_tensor("past_v", floats(&cache, 4))
        .with_tensor("lasts", int(&[1], total - 1))
        .with_tensor("total", int(&[], total))
}

/// `total` decides by the greater one of it and the cache's places alone, so that it may grow up to these.
#[test]
fn a_step_with_a_value_of_the_same_conclusions_makes_nothing() {
    let injector = Injector::new().unwrap();
    injector.inject_everywhere();
    let instance =
        InstanceDesc { entry_points: injector.entry_points(), ..InstanceDesc::default() };
    on_every_device_as(&DeviceOptions { instance, ..options() }, |device| {
        let session = Session::new(device, Model::from_bytes(decoder()).unwrap());
        let run = |total| {
            injector.arm(None);
            let outputs = session.run(&inputs(total)).unwrap();
            let calls: Vec<&str> = injector.calls().into_iter().map(EntryPoint::name).collect();
            let program = session.model().bind(&inputs(total)).unwrap();
            assert_eq!(tensors(&outputs), tensors(&host::run(&program)), "{total}");
            let is_made = |it: &&str| it.starts_with("vkCreate") || it.starts_with("vkAllocate");
            let made: Vec<&str> = calls.iter().copied().filter(is_made).collect();
            (made.len(), calls.iter().filter(|it| **it == "vkQueueSubmit").count())
        };
        run(5);
        for total in [6, 7, 12, 16, 9] {
            assert_eq!(run(total), (0, 1), "{total}");
        }
        assert_eq!(session.compiled_count(), 1);
        // More places than the cache has are another program, whose own values are then alike.
        assert!(run(17).0 > 0);
        // The first program is recorded again with the larger buffers, which both use in turn.
        assert_eq!(run(4).1, 1);
        assert_eq!([run(4), run(17), run(5)], [(0, 1); 3]);
        assert_eq!(session.compiled_count(), 2);
    });
}
