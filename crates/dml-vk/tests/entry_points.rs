//! Every entry point is called through one replaceable table: calls can be counted and made to fail.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "replacements for Vulkan's functions")]

mod common;

use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::kernels::{plan, ramp};
use common::{buffer, compile, each_device_with, try_compile};
use dml_core::HResult;
use dml_core::plan::{Fill, Slot, Step};
use dml_vk::ash::vk;
use dml_vk::{
    BindingTable, Bindings, BufferBinding, BufferDesc, BufferUsage, Device, DeviceDesc,
    EntryPoints, Error, InstanceDesc, MemoryLocation, Recorder,
};

/// The originals belong to one device at a time, so these tests run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A replacement for one function: counts its calls, and fails them when told to.
struct Replacement {
    original: AtomicUsize,
    calls: AtomicUsize,
    /// A VkResult; 0 calls the original.
    fails_with: AtomicI32,
}

impl Replacement {
    const fn new() -> Self {
        Self {
            original: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            fails_with: AtomicI32::new(0),
        }
    }

    /// Notes a call; returns the code that it is to fail with.
    fn called(&self) -> Option<vk::Result> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let code = self.fails_with.load(Ordering::SeqCst);
        (code != 0).then(|| vk::Result::from_raw(code))
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn fail(&self, result: vk::Result) {
        self.fails_with.store(result.as_raw(), Ordering::SeqCst);
    }

    fn reset(&self) {
        self.calls.store(0, Ordering::SeqCst);
        self.fails_with.store(0, Ordering::SeqCst);
    }
}

/// Defines a replacement for a function with a result (`-> fallible`) or without (`-> void`).
macro_rules! replacement {
    ($state:ident, $function:ident, $pfn:ty, ($($name:ident: $kind:ty),*) -> fallible) => {
        static $state: Replacement = Replacement::new();
        unsafe extern "system" fn $function($($name: $kind),*) -> vk::Result {
            if let Some(code) = $state.called() {
                return code;
            }
            let original = $state.original.load(Ordering::SeqCst);
            // SAFETY: the address is that of the original, stored before any call.
            let original: $pfn = unsafe { std::mem::transmute(original) };
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original($($name),*) }
        }
    };
    ($state:ident, $function:ident, $pfn:ty, ($($name:ident: $kind:ty),*) -> void) => {
        static $state: Replacement = Replacement::new();
        unsafe extern "system" fn $function($($name: $kind),*) {
            $state.called();
            let original = $state.original.load(Ordering::SeqCst);
            // SAFETY: the address is that of the original, stored before any call.
            let original: $pfn = unsafe { std::mem::transmute(original) };
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original($($name),*) };
        }
    };
}

replacement!(ALLOCATE, allocate_memory, vk::PFN_vkAllocateMemory, (
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory
) -> fallible);
replacement!(SUBMIT, queue_submit, vk::PFN_vkQueueSubmit, (
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence
) -> fallible);
replacement!(DISPATCH, cmd_dispatch, vk::PFN_vkCmdDispatch, (
    commands: vk::CommandBuffer,
    x: u32,
    y: u32,
    z: u32
) -> void);
replacement!(FILL, cmd_fill_buffer, vk::PFN_vkCmdFillBuffer, (
    commands: vk::CommandBuffer,
    buffer: vk::Buffer,
    offset: vk::DeviceSize,
    size: vk::DeviceSize,
    pattern: u32
) -> void);
replacement!(CREATE_INSTANCE, create_instance, vk::PFN_vkCreateInstance, (
    info: *const vk::InstanceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance
) -> fallible);
replacement!(CREATE_DEVICE, create_device, vk::PFN_vkCreateDevice, (
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device
) -> fallible);

const ALL: [&Replacement; 6] =
    [&ALLOCATE, &SUBMIT, &DISPATCH, &FILL, &CREATE_INSTANCE, &CREATE_DEVICE];

fn replace(name: &CStr, original: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    let (state, replacement): (&Replacement, *const ()) = match name.to_bytes() {
        b"vkAllocateMemory" => (&ALLOCATE, allocate_memory as *const ()),
        b"vkQueueSubmit" => (&SUBMIT, queue_submit as *const ()),
        b"vkCmdDispatch" => (&DISPATCH, cmd_dispatch as *const ()),
        b"vkCmdFillBuffer" => (&FILL, cmd_fill_buffer as *const ()),
        b"vkCreateInstance" => (&CREATE_INSTANCE, create_instance as *const ()),
        b"vkCreateDevice" => (&CREATE_DEVICE, create_device as *const ()),
        _ => return original,
    };
    state.original.store(original? as usize, Ordering::SeqCst);
    // SAFETY: only the type is erased; the table gives it back under the same name.
    Some(unsafe { std::mem::transmute::<*const (), unsafe extern "system" fn()>(replacement) })
}

fn each_hooked_device(test: impl Fn(&Device)) -> MutexGuard<'static, ()> {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    ALL.iter().for_each(|replacement| replacement.reset());
    // SAFETY: each replacement has its function's signature and calls the original.
    let entry_points = unsafe { EntryPoints::replacing(replace) };
    let instance = InstanceDesc { entry_points, ..InstanceDesc::default() };
    each_device_with(instance, &DeviceDesc::default(), |device| {
        test(device);
        ALL.iter().for_each(|replacement| replacement.reset());
    });
    guard
}

#[test]
fn calls_are_counted_by_name() {
    let _guard = each_hooked_device(|device| {
        assert_eq!(CREATE_DEVICE.calls(), 1);
        let created = CREATE_DEVICE.calls();
        let steps = vec![
            Step::Fill(Fill { slot: Slot::Output(0), range: 0..512, pattern: 0 }),
            ramp(Slot::Output(0), 0..256, 1),
            ramp(Slot::Output(0), 256..512, 1),
        ];
        let compiled = compile(device, plan(512, steps));
        // The first buffer makes gpu-allocator allocate a block.
        assert_eq!(ALLOCATE.calls(), 0);
        let buffer = buffer(device, 512);
        assert_eq!(ALLOCATE.calls(), 1);
        let outputs = [Some(BufferBinding::whole(&buffer))];
        let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
        let table = BindingTable::new(&compiled, &bindings).unwrap();
        let mut recorder = Recorder::new(device).unwrap();
        recorder.dispatch(&table).unwrap();
        recorder.barrier_all();
        recorder.dispatch(&table).unwrap();
        assert_eq!((FILL.calls(), DISPATCH.calls(), SUBMIT.calls()), (2, 4, 0));
        device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
        assert_eq!((FILL.calls(), DISPATCH.calls(), SUBMIT.calls()), (2, 4, 1));
        assert_eq!(ALLOCATE.calls(), 1);
        assert_eq!(CREATE_DEVICE.calls(), created);
    });
}

#[test]
fn the_creation_of_an_instance_passes_the_table() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    ALL.iter().for_each(|replacement| replacement.reset());
    CREATE_INSTANCE.fail(vk::Result::ERROR_INCOMPATIBLE_DRIVER);
    // SAFETY: each replacement has its function's signature and calls the original.
    let entry_points = unsafe { EntryPoints::replacing(replace) };
    let desc = InstanceDesc { entry_points, ..InstanceDesc::default() };
    let error = dml_vk::Instance::new(&desc).unwrap_err();
    assert!(matches!(error, Error::NoDevice { .. }), "{error:?}");
    assert!(error.to_string().contains("mesa-vulkan-drivers"), "{error}");
    assert_eq!(CREATE_INSTANCE.calls(), 1);
    ALL.iter().for_each(|replacement| replacement.reset());
}

#[test]
fn running_out_of_memory_fails_one_call_only() {
    let _guard = each_hooked_device(|device| {
        let create = || {
            device.create_buffer(&BufferDesc {
                size: 1 << 20,
                usage: BufferUsage::all(),
                location: MemoryLocation::Device,
                name: "test",
            })
        };
        for (code, kind) in [
            (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, "device"),
            (vk::Result::ERROR_OUT_OF_HOST_MEMORY, "host"),
        ] {
            ALLOCATE.fail(code);
            let error = create().unwrap_err();
            assert!(error.is_out_of_memory(), "{error:?}");
            assert_eq!(error.hresult(), HResult::E_OUTOFMEMORY);
            assert_eq!(error.to_string(), format!("out of {kind} memory in vkAllocateMemory"));
        }
        ALLOCATE.reset();
        let buffer = create().unwrap();
        device.write_buffer(&buffer, 0, &[1, 2, 3]).unwrap();
        assert_eq!(device.read_buffer(&buffer, 0..3).unwrap(), [1, 2, 3]);
    });
}

#[test]
fn a_submission_that_finds_no_memory_can_be_repeated() {
    let _guard = each_hooked_device(|device| {
        let buffer = buffer(device, 64);
        let list = || {
            let mut recorder = Recorder::new(device).unwrap();
            recorder.fill_buffer(&buffer, 0..64, 0x0505_0505).unwrap();
            recorder.finish().unwrap()
        };
        SUBMIT.fail(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        assert!(device.submit(list()).unwrap_err().is_out_of_memory());
        SUBMIT.reset();
        device.submit(list()).unwrap().wait().unwrap();
        assert_eq!(device.read_buffer(&buffer, 0..64).unwrap(), [5; 64]);
    });
}

#[test]
fn the_loss_of_a_device_is_sticky() {
    let _guard = each_hooked_device(|device| {
        let buffer = buffer(device, 64);
        let mut recorder = Recorder::new(device).unwrap();
        recorder.fill_buffer(&buffer, 0..64, 1).unwrap();
        let earlier = device.submit(recorder.finish().unwrap()).unwrap();
        earlier.wait().unwrap();
        let list = Recorder::new(device).unwrap().finish().unwrap();
        SUBMIT.fail(vk::Result::ERROR_DEVICE_LOST);
        let lost = |error: Error| {
            assert!(error.is_device_lost(), "{error:?}");
            assert_eq!(error.hresult(), HResult::DXGI_ERROR_DEVICE_REMOVED);
            assert!(error.to_string().contains("vkQueueSubmit"), "{error}");
        };
        lost(device.submit(list).unwrap_err());
        SUBMIT.reset();
        assert!(device.is_lost());
        lost(Recorder::new(device).unwrap_err());
        lost(device.read_buffer(&buffer, 0..4).unwrap_err());
        lost(device.write_buffer(&buffer, 0, &[1]).unwrap_err());
        lost(device.wait_idle().unwrap_err());
        lost(earlier.wait().unwrap_err());
        lost(earlier.is_complete().unwrap_err());
        let steps = vec![ramp(Slot::Output(0), 0..64, 0)];
        lost(try_compile(device, plan(64, steps)).unwrap_err());
        let again = BufferDesc {
            size: 4,
            usage: BufferUsage::STORAGE,
            location: MemoryLocation::Device,
            name: "test",
        };
        lost(device.create_buffer(&again).unwrap_err());
        assert_eq!(SUBMIT.calls(), 0);
    });
}
