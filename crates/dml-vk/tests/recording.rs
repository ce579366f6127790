//! Recording into a command buffer of the caller's own: nothing is allocated, submitted or waited
//! for, and the bytes are right.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the caller's side of recording, and a counting allocator")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use std::ffi::CStr;
use std::sync::Mutex;

use common::kernels::{plan, ramp};
use common::{buffer, compile, each_device_with, words};
use counting::allocations;
use dml_core::plan::{Copy, CopyRegion, Fill, Slot, Step, Update};
use dml_vk::ash::vk;
use dml_vk::{
    BindingTable, Bindings, BufferBinding, Device, DeviceDesc, EntryPoints, InstanceDesc,
    record_plan,
};

/// Names of the functions that have been looked up: none while recording.
static LOOKED_UP: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(name: &CStr, original: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    LOOKED_UP.lock().unwrap().push(name.to_string_lossy().into_owned());
    original
}

/// A command buffer in the recording state, and its pool.
fn begin(device: &Device) -> (vk::CommandPool, vk::CommandBuffer) {
    let raw = device.raw();
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(device.queue_family());
    // SAFETY: the device has a queue of this family.
    let pool = unsafe { raw.create_command_pool(&info, None) }.unwrap();
    let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
    // SAFETY: the pool is new and not shared.
    let commands = unsafe { raw.allocate_command_buffers(&info) }.unwrap()[0];
    // SAFETY: the command buffer is new and not shared.
    unsafe { raw.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default()) }.unwrap();
    (pool, commands)
}

fn submit_and_wait(device: &Device, commands: vk::CommandBuffer) {
    let commands = [commands];
    device
        .with_queue(|queue| {
            let submit = vk::SubmitInfo::default().command_buffers(&commands);
            // SAFETY: the queue is locked, and everything is kept until the device is idle.
            unsafe { device.raw().queue_submit(queue, &[submit], vk::Fence::null()) }.unwrap();
        })
        .unwrap();
    device.wait_idle().unwrap();
}

fn every_kind_of_step() -> Vec<Step> {
    let out = Slot::Output(0);
    let region = CopyRegion::once(256, 0, 8);
    vec![
        Step::Fill(Fill { slot: out, range: 0..512, pattern: 1 }),
        ramp(out, 256..512, 50),
        Step::Copy(Copy { source: out, destination: out, regions: vec![region] }),
        Step::Update(Update { slot: out, offset: 8, data: vec![2; 4] }),
    ]
}

#[test]
fn recording_allocates_nothing() {
    // SAFETY: every original is returned unchanged.
    let entry_points = unsafe { EntryPoints::replacing(note) };
    let instance = InstanceDesc { entry_points, ..InstanceDesc::default() };
    each_device_with(instance, &DeviceDesc::default(), |device| {
        let compiled = compile(device, plan(512, every_kind_of_step()));
        let buffer = buffer(device, 512);
        let outputs = [Some(BufferBinding::whole(&buffer))];
        let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
        let table = BindingTable::new(&compiled, &bindings).unwrap();
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
        // SAFETY: the command buffer is recording.
        unsafe { device.raw().end_command_buffer(commands) }.unwrap();
        submit_and_wait(device, commands);
        let mut expected = vec![1; 64];
        expected.extend(50..114);
        expected[..3].copy_from_slice(&[50, 51, 0x0202_0202]);
        assert_eq!(words(&device.read_buffer(&buffer, 0..512).unwrap()), expected);
        // SAFETY: the device is idle.
        unsafe { device.raw().destroy_command_pool(pool, None) };
    });
}
