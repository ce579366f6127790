//! Models on devices that are given little work at one time: a run is several batches, and gives the same bytes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::RefCell;

use common::decoder::{decoder, inputs};
use common::device::{on_every_device_as, options};
use common::tensors;
use dml::vk::Recorder;
use dml::{Device, DeviceOptions, WorkBound};
use dml_import::{Model, Session, Tensor};

/// How many batches the device was given so far, with this one.
fn batches(device: &Device) -> u64 {
    let list = Recorder::new(device.vulkan()).unwrap().finish().unwrap();
    device.vulkan().submit(list).unwrap().timeline_value()
}

/// For each device the outputs of two runs with a cache that grows, and the batches of a third run.
fn runs(work_bound: WorkBound) -> Vec<(Vec<Vec<Tensor>>, u64)> {
    let all = RefCell::new(vec![]);
    let options = DeviceOptions { work_bound: Some(work_bound), ..options() };
    on_every_device_as(&options, |device| {
        let session = Session::new(device, Model::from_bytes(decoder()).unwrap());
        let run = |past| tensors(&session.run(&inputs(past)).unwrap());
        let outputs = [3, 4].map(run);
        let before = batches(device);
        assert!(run(4) == outputs[1]);
        // The list of the second call is one.
        let found = batches(device) - before - 1;
        all.borrow_mut().push((outputs.to_vec(), found));
    });
    all.into_inner()
}

#[test]
fn a_run_of_a_model_is_as_many_batches_as_its_work_takes() {
    let whole = runs(WorkBound::NONE);
    let [some, every] = [2_000, 1].map(|bound| runs(WorkBound::of_dispatch(bound)));
    assert!(!whole.is_empty());
    for ((whole, some), every) in whole.iter().zip(&some).zip(&every) {
        let batches = [whole.1, some.1, every.1];
        assert!(batches.is_sorted_by(|one, next| one < next), "{batches:?}");
        assert!(some.0 == whole.0 && every.0 == whole.0, "{batches:?}");
    }
}
