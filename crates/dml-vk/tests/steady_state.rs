//! The steady state: many operators wait once, lists are submitted again, and a new shape compiles
//! nothing.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "replacements for Vulkan's functions, and a counting allocator")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::kernels::{plan, ramp};
use common::{buffer, compile, each_device, each_device_with, words};
use counting::allocations;
use dml_core::plan::Slot;
use dml_vk::ash::vk;
use dml_vk::{
    BindingTable, Bindings, Buffer, BufferBinding, CompiledOperator, Device, DeviceDesc,
    EntryPoints, InstanceDesc, Recorder,
};

/// Calls of one function; its original belongs to one device at a time.
struct Calls {
    original: AtomicUsize,
    count: AtomicUsize,
}

impl Calls {
    const fn new() -> Self {
        Self { original: AtomicUsize::new(0), count: AtomicUsize::new(0) }
    }

    fn take(&self) -> usize {
        self.count.swap(0, Ordering::SeqCst)
    }
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static PIPELINES: Calls = Calls::new();
static SUBMITS: Calls = Calls::new();
static WAITS: Calls = Calls::new();

macro_rules! counted {
    ($calls:ident, $function:ident, $pfn:ty, ($($name:ident: $kind:ty),*)) => {
        unsafe extern "system" fn $function($($name: $kind),*) -> vk::Result {
            $calls.count.fetch_add(1, Ordering::SeqCst);
            let original = $calls.original.load(Ordering::SeqCst);
            // SAFETY: the address is that of the original, stored before any call.
            let original: $pfn = unsafe { std::mem::transmute(original) };
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original($($name),*) }
        }
    };
}

counted!(PIPELINES, create_pipelines, vk::PFN_vkCreateComputePipelines, (
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline
));
counted!(SUBMITS, submit, vk::PFN_vkQueueSubmit, (
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence
));
counted!(WAITS, wait, vk::PFN_vkWaitSemaphores, (
    device: vk::Device,
    info: *const vk::SemaphoreWaitInfo<'_>,
    timeout: u64
));

fn replace(name: &CStr, original: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    let (calls, replacement): (&Calls, *const ()) = match name.to_bytes() {
        b"vkCreateComputePipelines" => (&PIPELINES, create_pipelines as *const ()),
        b"vkQueueSubmit" => (&SUBMITS, submit as *const ()),
        b"vkWaitSemaphores" | b"vkWaitSemaphoresKHR" => (&WAITS, wait as *const ()),
        _ => return original,
    };
    calls.original.store(original? as usize, Ordering::SeqCst);
    // SAFETY: only the type is erased; the table gives it back under the same name.
    Some(unsafe { std::mem::transmute::<*const (), unsafe extern "system" fn()>(replacement) })
}

fn each_counted_device(test: impl Fn(&Device)) {
    let _guard = ONE_AT_A_TIME.lock().unwrap();
    // SAFETY: each replacement has its function's signature and calls the original.
    let entry_points = unsafe { EntryPoints::replacing(replace) };
    let instance = InstanceDesc { entry_points, ..InstanceDesc::default() };
    each_device_with(instance, &DeviceDesc::default(), |device| {
        for calls in [&PIPELINES, &SUBMITS, &WAITS] {
            calls.take();
        }
        test(device);
    });
}

/// An operator that writes `value`, `value + 1`, ... to `bytes` bytes.
fn operator(device: &Device, bytes: u64, value: u32) -> CompiledOperator {
    let steps = vec![ramp(Slot::Output(0), 0..bytes, value)];
    compile(device, plan(bytes, steps))
}

fn bind(operator: &CompiledOperator, buffer: &Buffer, offset: u64, size: u64) -> BindingTable {
    let outputs = [Some(BufferBinding { buffer, offset, size })];
    BindingTable::new(operator, &Bindings { outputs: &outputs, ..Bindings::default() }).unwrap()
}

#[test]
fn many_operators_are_one_submission_and_one_wait() {
    each_counted_device(|device| {
        const COUNT: u32 = 100;
        let buffer = buffer(device, u64::from(COUNT) * 256);
        let tables: Vec<_> = (0..COUNT)
            .map(|index| {
                let operator = operator(device, 256, index * 64);
                bind(&operator, &buffer, u64::from(index) * 256, 256)
            })
            .collect();
        let mut recorder = Recorder::new(device).unwrap();
        recorder.reserve(tables.len()).unwrap();
        let before = allocations();
        for table in &tables {
            recorder.dispatch(table).unwrap();
        }
        assert_eq!(allocations(), before, "recording allocates");
        let list = recorder.finish().unwrap();
        assert_eq!((SUBMITS.take(), WAITS.take()), (0, 0));
        let submission = device.submit(list).unwrap();
        submission.wait().unwrap();
        assert_eq!((SUBMITS.take(), WAITS.take()), (1, 1));
        let found = words(&device.read_buffer(&buffer, 0..buffer.size()).unwrap());
        assert_eq!(found, (0..COUNT * 64).collect::<Vec<u32>>());
    });
}

#[test]
fn a_new_shape_compiles_no_pipeline() {
    each_counted_device(|device| {
        operator(device, 256, 0);
        assert_eq!((PIPELINES.take(), device.pipeline_count()), (1, 1));
        for bytes in [4, 8, 252, 1024, 65_536] {
            operator(device, bytes, 1);
        }
        assert_eq!((PIPELINES.take(), device.pipeline_count()), (0, 1));
    });
}

#[test]
fn a_repeatable_list_can_be_submitted_again() {
    each_device(|device| {
        let buffer = buffer(device, 256);
        let table = bind(&operator(device, 256, 9), &buffer, 0, 256);
        let mut recorder = Recorder::repeatable(device).unwrap();
        recorder.dispatch(&table).unwrap();
        let mut list = recorder.finish().unwrap();
        for _ in 0..3 {
            device.write_buffer(&buffer, 0, &[0; 256]).unwrap();
            let submission = device.submit(list).unwrap();
            list = submission.into_list().unwrap();
            let found = words(&device.read_buffer(&buffer, 0..256).unwrap());
            assert_eq!(found, (9..73).collect::<Vec<u32>>());
        }
        let once = Recorder::new(device).unwrap().finish().unwrap();
        assert!(device.submit(once).unwrap().into_list().unwrap_err().is_invalid());
    });
}
