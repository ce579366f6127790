//! Objects may be dropped in any order: nothing is destroyed too early, and nothing is left behind.
//!
//! The validation layer is the judge: it reports both.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{plan, ramp};
use common::{NoMessages, bind, buffer, compile, instance, words};
use dml_core::plan::Slot;
use dml_fault::usable_devices;
use dml_vk::{BindingTable, Buffer, CompiledOperator, Device, Instance, PhysicalDevice, Recorder};

/// One of everything, on one device.
struct Everything {
    instance: Instance,
    physical: PhysicalDevice,
    device: Device,
    buffer: Buffer,
    compiled: CompiledOperator,
    table: BindingTable,
}

/// Calls `test` once for each device, with an instance of its own.
fn each(test: impl Fn(Everything)) {
    let count = usable_devices(&instance().1).len();
    for index in 0..count {
        let (_messages, instance): (NoMessages, _) = instance();
        let physical = usable_devices(&instance).swap_remove(index);
        let device = Device::new(&physical).unwrap();
        let buffer = buffer(&device, 1024);
        let plan = plan(1024, vec![ramp(Slot::Output(0), 0..1024, 3)]);
        let compiled = compile(&device, plan);
        let table = bind(&compiled, &buffer);
        test(Everything { instance, physical, device, buffer, compiled, table });
    }
}

fn recorded(device: &Device, table: &BindingTable) -> Recorder {
    let mut recorder = Recorder::new(device).unwrap();
    recorder.dispatch(table).unwrap();
    recorder
}

#[test]
fn parents_first() {
    each(|Everything { instance, physical, device, buffer, compiled, table }| {
        drop(instance);
        drop(physical);
        drop(device);
        drop(buffer);
        drop(compiled);
        drop(table);
    });
}

#[test]
fn children_first() {
    each(|Everything { instance, physical, device, buffer, compiled, table }| {
        drop(table);
        drop(compiled);
        drop(buffer);
        drop(device);
        drop(physical);
        drop(instance);
    });
}

#[test]
fn a_recorder_is_dropped_mid_way() {
    each(|all| {
        let recorder = recorded(&all.device, &all.table);
        drop(all);
        drop(recorder);
    });
}

#[test]
fn a_recorded_list_is_dropped_unsubmitted() {
    each(|all| {
        let recorder = recorded(&all.device, &all.table);
        let list = recorder.finish().unwrap();
        drop(all);
        drop(list);
    });
}

#[test]
fn a_ticket_is_dropped_last_and_unfinished() {
    each(|all| {
        let recorder = recorded(&all.device, &all.table);
        let submission = all.device.submit(recorder.finish().unwrap()).unwrap();
        drop(all);
        drop(submission);
    });
}

#[test]
fn a_ticket_is_dropped_at_once_and_the_work_is_done() {
    each(|Everything { device, buffer, compiled, table, .. }| {
        let recorder = recorded(&device, &table);
        drop((table, compiled));
        drop(device.submit(recorder.finish().unwrap()).unwrap());
        let result = words(&device.read_buffer(&buffer, 0..1024).unwrap());
        assert_eq!(result, (3..259).collect::<Vec<_>>());
    });
}

#[test]
fn the_last_handle_is_dropped_on_another_thread() {
    each(|Everything { device, buffer, compiled, table, .. }| {
        let recorder = recorded(&device, &table);
        let submission = device.submit(recorder.finish().unwrap()).unwrap();
        drop((device, buffer, compiled, table));
        std::thread::spawn(move || submission.wait().unwrap()).join().unwrap();
    });
}
