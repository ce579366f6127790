//! Recording into a command buffer of the caller's own: nothing is allocated, submitted or waited
//! for, and the bytes are right.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the caller's side of recording, and a counting allocator")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use std::ffi::CStr;
use std::sync::Mutex;

use common::kernels::{every_kind_of_step, plan, words_of_every_kind_of_step};
use common::{begin, bind, buffer, compile, each_device_through, finish, words};
use counting::allocations;
use dml_vk::ash::vk;
use dml_vk::{BindingTable, Bindings, EntryPoints, record_plan};

/// Names of the functions that have been looked up: none while recording.
static LOOKED_UP: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(name: &CStr, original: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    LOOKED_UP.lock().unwrap().push(name.to_string_lossy().into_owned());
    original
}

#[test]
fn recording_allocates_nothing() {
    // SAFETY: every original is returned unchanged.
    let entry_points = unsafe { EntryPoints::replacing(note) };
    each_device_through(entry_points, |device| {
        let compiled = compile(device, plan(512, every_kind_of_step()));
        let buffer = buffer(device, 512);
        let table = bind(&compiled, &buffer);
        let initialization =
            BindingTable::for_initialization(&compiled, &Bindings::default()).unwrap();
        let (pool, commands) = begin(device);
        let looked_up = LOOKED_UP.lock().unwrap().len();
        assert!(looked_up > 0);
        let before = allocations();
        for table in [&initialization, &table] {
            // SAFETY: the command buffer is recording; the table is kept until the device is idle.
            unsafe { record_plan(commands, table) };
        }
        assert_eq!(allocations(), before);
        assert_eq!(LOOKED_UP.lock().unwrap().len(), looked_up);
        // What the caller owes after the operator: the host reads the output.
        let contract = dml_vk::access();
        let to_host = [vk::MemoryBarrier::default()
            .src_access_mask(contract.outputs)
            .dst_access_mask(vk::AccessFlags::HOST_READ)];
        // SAFETY: the command buffer is recording.
        unsafe {
            device.raw().cmd_pipeline_barrier(
                commands,
                contract.stages,
                vk::PipelineStageFlags::HOST,
                vk::DependencyFlags::empty(),
                &to_host,
                &[],
                &[],
            );
        }
        finish(device, (pool, commands));
        let found = words(&device.read_buffer(&buffer, 0..512).unwrap());
        assert_eq!(found, words_of_every_kind_of_step());
    });
}
