//! A device, a queue and buffers that the caller owns.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the caller's promises")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::caller::{each_caller, finish_for_host};
use common::kernels::{fill, plan, ramp, requirement, sum};
use common::{bind, compile, execute, pattern, try_bind, words};
use dml_core::capabilities::{Feature, Features};
use dml_core::plan::{Plan, Slot};
use dml_fault::Caller;
use dml_vk::ash::vk;
use dml_vk::{
    BindingTable, Bindings, Buffer, BufferBinding, BufferDesc, BufferUsage, Device, DeviceDesc,
    EntryPoints, Error, MemoryLocation, QueueLock, RawBufferDesc, RawDeviceDesc, RawPhysicalDevice,
    RawQueue, Recorder, Timestamps, access, record_plan,
};

const OUT: Slot = Slot::Output(0);

fn wrap_with(raw: &RawDeviceDesc<'_>) -> Result<Device, Error> {
    // SAFETY: the tests state what `Caller` enabled, keep it until everything is dropped, and use
    // the queue on one thread unless they give a lock. Wrong statements are those that are refused.
    unsafe { Device::from_raw(raw, &DeviceDesc::default()) }
}

fn wrap(caller: &Caller) -> Device {
    caller.wrap(EntryPoints::default(), false, &DeviceDesc::default()).unwrap()
}

fn wrap_with_queue(caller: &Caller) -> Device {
    caller.wrap(EntryPoints::default(), true, &DeviceDesc::default()).unwrap()
}

/// A buffer of 64 bytes, wrapped, and bound to an operator that counts up from 5 there.
fn counting_up(caller: &Caller, device: &Device) -> (Buffer, BindingTable) {
    let buffer = caller.wrapped_buffer(device, 64).unwrap();
    let table = bind(&compile(device, plan(64, vec![ramp(OUT, 0..64, 5)])), &buffer);
    (buffer, table)
}

/// Operators add to what the caller wrote before, and the caller copies the result afterwards.
#[test]
fn operators_are_recorded_between_the_callers_own_commands() {
    each_caller(|caller| {
        let device = wrap(caller);
        assert!(!device.is_owned());
        let [buffer, copy] = [(); 2].map(|()| caller.wrapped_buffer(&device, 4096).unwrap());
        let add = Plan {
            inputs: vec![requirement("InputTensor", 512)],
            ..plan(512, vec![sum((OUT, 0..512), (Slot::Input(0), 0..512))])
        };
        let compiled = compile(&device, add);
        let bind = |input, output| {
            let at = |offset| Some(BufferBinding { buffer: &buffer, offset, size: 512 });
            let (inputs, outputs) = ([at(input)], [at(output)]);
            let bindings = Bindings { inputs: &inputs, outputs: &outputs, ..Bindings::default() };
            BindingTable::new(&compiled, &bindings).unwrap()
        };
        // Several executions of one operator with different bindings, at any legal offset. The layer
        // judges whole descriptors, so neighbours in flight together are kept 256 bytes apart.
        let tables = [bind(0, 1024), bind(2048, 3072)];
        let contract = access();
        let transfer = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        let commands = caller.begin().unwrap();
        // SAFETY: the command buffer is recording; the range is the whole buffer.
        unsafe { caller.device.cmd_fill_buffer(commands.raw(), buffer.raw(), 0, 4096, 21) };
        let touched = contract.inputs | contract.outputs;
        commands.barrier(transfer, (contract.stages, touched));
        for table in &tables {
            // SAFETY: the command buffer is recording; the tables are kept until it has completed.
            unsafe { record_plan(commands.raw(), table) };
        }
        let read = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_READ);
        commands.barrier((contract.stages, contract.outputs), read);
        let region = [vk::BufferCopy::default().size(4096)];
        // SAFETY: the command buffer is recording; the region is both buffers.
        unsafe { caller.device.cmd_copy_buffer(commands.raw(), buffer.raw(), copy.raw(), &region) };
        let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
        commands.barrier(transfer, host);
        commands.finish().unwrap();
        let mut expected = vec![21; 1024];
        for start in [256, 768] {
            expected[start..start + 128].fill(42);
        }
        assert_eq!(words(&caller.bytes(copy.raw(), 0..4096).unwrap()), expected);
    });
}

/// Offsets that are a multiple of 16 but not of minStorageBufferOffsetAlignment; bytes around the
/// binding keep their values.
#[test]
fn a_callers_buffer_is_bound_at_any_multiple_of_16() {
    each_caller(|caller| {
        let device = wrap(caller);
        let compiled = compile(&device, plan(64, vec![ramp(OUT, 0..64, 5)]));
        for offset in [0, 16, 48, 240, 272, 1008] {
            let buffer = caller.wrapped_buffer(&device, 2048).unwrap();
            let table = try_bind(&compiled, &buffer, offset, 64).unwrap();
            let contract = access();
            let commands = caller.begin().unwrap();
            // SAFETY: the command buffer is recording.
            unsafe { caller.device.cmd_fill_buffer(commands.raw(), buffer.raw(), 0, 2048, 9) };
            let transfer = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
            commands.barrier(transfer, (contract.stages, contract.outputs));
            // SAFETY: the command buffer is recording; the table is kept until it has completed.
            unsafe { record_plan(commands.raw(), &table) };
            finish_for_host(commands);
            let mut expected = vec![9; 512];
            let first = usize::try_from(offset / 4).unwrap();
            expected[first..first + 16].copy_from_slice(&(5..21).collect::<Vec<_>>());
            assert_eq!(
                words(&caller.bytes(buffer.raw(), 0..2048).unwrap()),
                expected,
                "at {offset}"
            );
        }
    });
}

#[test]
fn what_is_wrong_and_can_be_seen_is_refused() {
    each_caller(|caller| {
        let queue = Some(RawQueue { handle: caller.queue, lock: None });
        let good = RawDeviceDesc { queue, ..caller.describe(EntryPoints::default()) };
        let refused = |raw: RawDeviceDesc<'_>, wanted: &str| {
            let error = wrap_with(&raw).unwrap_err();
            assert!(error.to_string().contains(wanted), "`{error}` lacks `{wanted}`");
            assert!(error.is_invalid() || error.is_unsupported());
        };
        let null = "its handle is null";
        let on = |physical| RawDeviceDesc { physical, ..good.clone() };
        let physical = good.physical.clone();
        let instance = vk::Instance::null();
        refused(on(RawPhysicalDevice { instance, ..physical.clone() }), null);
        refused(RawDeviceDesc { device: vk::Device::null(), ..good.clone() }, null);
        let physical_device = vk::PhysicalDevice::null();
        refused(on(RawPhysicalDevice { physical_device, ..physical.clone() }), null);
        let queue = Some(RawQueue { handle: vk::Queue::null(), lock: None });
        refused(RawDeviceDesc { queue, ..good.clone() }, "queue: its handle is null");
        let api_version = vk::API_VERSION_1_0;
        refused(on(RawPhysicalDevice { api_version, ..physical.clone() }), "below Vulkan");
        refused(RawDeviceDesc { queue_family: 77, ..good.clone() }, "no queue family 77");
        let features = good.features.with(Feature::TimelineSemaphore, false);
        refused(RawDeviceDesc { features, ..good.clone() }, "which needs timelineSemaphore");
        let device_extensions = &[c"VK_EXT_no_such_thing"];
        refused(RawDeviceDesc { device_extensions, ..good.clone() }, "VK_EXT_no_such_thing");
        // 1.1 has timeline semaphores as an extension only, which the caller did not enable.
        let api_version = vk::API_VERSION_1_1;
        let old = RawDeviceDesc {
            device_extensions: &[],
            features: Features::LEAST,
            ..on(RawPhysicalDevice { api_version, ..physical })
        };
        refused(old, "which needs VK_KHR_timeline_semaphore");
        let features = good.features.with(Feature::VulkanMemoryModelDeviceScope, false);
        if features.has(Feature::VulkanMemoryModel) {
            let expected = "which also needs vulkanMemoryModelDeviceScope";
            refused(RawDeviceDesc { features, ..good.clone() }, expected);
        }
        let offered = wrap(caller).physical().capabilities().features;
        for feature in Features::ALL.without(offered).iter() {
            let features = good.features.with(feature, true);
            let expected =
                format!("{feature} is listed as enabled, but the device does not support it");
            refused(RawDeviceDesc { features, ..good.clone() }, &expected);
        }
        let device = wrap(caller);
        let (handle, usage) = (caller.buffer(64).unwrap().handle, BufferUsage::all());
        let good = RawBufferDesc { handle, size: 64, usage, name: "mine" };
        for (desc, wanted) in [
            (RawBufferDesc { handle: vk::Buffer::null(), ..good }, "`mine`: its handle is null"),
            (RawBufferDesc { size: 0, ..good }, "its size is 0"),
            (RawBufferDesc { usage: BufferUsage::empty(), ..good }, "its usage is empty"),
        ] {
            // SAFETY: refused before it is used.
            let error = unsafe { device.wrap_buffer(&desc) }.unwrap_err();
            assert!(error.is_invalid() && error.to_string().contains(wanted), "{error}");
        }
    });
}

#[test]
fn without_a_queue_nothing_is_submitted() {
    each_caller(|caller| {
        let device = wrap(caller);
        let (buffer, table) = counting_up(caller, &device);
        let mut recorder = Recorder::new(&device).unwrap();
        recorder.dispatch(&table).unwrap();
        let list = recorder.finish().unwrap();
        for error in [
            device.submit(list).map(drop).unwrap_err(),
            device.write_buffer(&buffer, 0, &[0; 4]).unwrap_err(),
            device.read_buffer(&buffer, 0..4).map(drop).unwrap_err(),
            device.wait_idle().unwrap_err(),
            device.with_queue(drop).unwrap_err(),
            Timestamps::new(&device, 1).map(drop).unwrap_err(),
        ] {
            assert!(error.to_string().contains("without a queue"), "{error}");
        }
        assert_eq!(device.timeline_semaphore(), None);
    });
}

/// A lock that counts, and checks that it is never locked twice.
#[derive(Default)]
struct CountingLock {
    locked: AtomicUsize,
    times: AtomicUsize,
}

// SAFETY: in these tests nobody but the device uses the queue while it does.
unsafe impl QueueLock for CountingLock {
    fn lock(&self) {
        assert_eq!(self.locked.fetch_add(1, Ordering::SeqCst), 0);
        self.times.fetch_add(1, Ordering::SeqCst);
    }

    fn unlock(&self) {
        assert_eq!(self.locked.fetch_sub(1, Ordering::SeqCst), 1);
    }
}

#[test]
fn a_shared_queue_is_used_under_the_callers_lock() {
    each_caller(|caller| {
        let lock = Arc::new(CountingLock::default());
        let queue = Some(RawQueue { handle: caller.queue, lock: Some(lock.clone()) });
        let raw = RawDeviceDesc { queue, ..caller.describe(EntryPoints::default()) };
        let device = wrap_with(&raw).unwrap();
        let buffer = caller.wrapped_buffer(&device, 256).unwrap();
        assert_eq!(lock.times.load(Ordering::SeqCst), 0);
        device.write_buffer(&buffer, 0, &pattern(256)).unwrap();
        let after_write = lock.times.load(Ordering::SeqCst);
        assert!(after_write > 0);
        let compiled = compile(&device, plan(64, vec![ramp(OUT, 0..64, 5)]));
        execute(&device, &try_bind(&compiled, &buffer, 64, 64).unwrap());
        let submitted = lock.times.load(Ordering::SeqCst);
        assert_eq!(submitted, after_write + 1);
        let seen = device.with_queue(|queue| (queue, lock.locked.load(Ordering::SeqCst))).unwrap();
        assert_eq!(seen, (caller.queue, 1));
        let mut expected = pattern(256);
        let ramp: Vec<u8> = (5..21u32).flat_map(u32::to_le_bytes).collect();
        expected[64..128].copy_from_slice(&ramp);
        assert_eq!(device.read_buffer(&buffer, 0..256).unwrap(), expected);
        device.wait_idle().unwrap();
        assert_eq!(lock.locked.load(Ordering::SeqCst), 0);
    });
}

/// An obligation of callers by the contract of `record_plan`: the runtime does not wait for the caller's
/// submissions, so bytes that one of them writes may be read only after it, and other bytes at any time.
#[test]
fn the_runtime_reads_beside_what_the_caller_submits() {
    each_caller(|caller| {
        let device = wrap_with_queue(caller);
        let (location, usage) = (MemoryLocation::Readback, BufferUsage::all());
        let desc = BufferDesc { size: 256, usage, location, name: "beside" };
        let beside = device.create_buffer(&desc).unwrap();
        device.write_buffer(&beside, 0, &pattern(256)).unwrap();
        let (buffer, table) = counting_up(caller, &device);
        let commands = caller.begin().unwrap();
        // SAFETY: the command buffer is recording; the table is kept until it has completed, and nothing
        // else touches its bytes before that.
        unsafe { record_plan(commands.raw(), &table) };
        let gate = commands.finish_at_a_gate().unwrap();
        let read = device.read_buffer(&beside, 0..256);
        gate.open().unwrap();
        assert_eq!(read.unwrap(), pattern(256));
        let expected: Vec<u32> = (5..21).collect();
        assert_eq!(words(&device.read_buffer(&buffer, 0..64).unwrap()), expected);
    });
}

/// Plans with constants need no queue: their memory is written by the host.
#[test]
fn compiling_submits_nothing() {
    each_caller(|caller| {
        let device = wrap(caller);
        let with_constants = Plan {
            constants: pattern(256),
            ..plan(256, vec![fill(OUT, 0..256, 0), sum((OUT, 0..256), (Slot::Constants, 0..256))])
        };
        let compiled = compile(&device, with_constants);
        let buffer = caller.wrapped_buffer(&device, 256).unwrap();
        caller.run(&[&bind(&compiled, &buffer)]).unwrap();
        assert_eq!(caller.bytes(buffer.raw(), 0..256).unwrap(), pattern(256));
    });
}

/// The caller's objects survive, and the caller destroys them: the layer reports objects that are left.
#[test]
fn nothing_of_the_callers_is_destroyed_and_nothing_is_left() {
    each_caller(|caller| {
        let device = wrap_with_queue(caller);
        let live = device.live_objects();
        let (buffer, table) = counting_up(caller, &device);
        let handle = buffer.raw();
        drop((device, buffer));
        assert!(live.count() > 0);
        let commands = caller.begin().unwrap();
        // SAFETY: the command buffer is recording; the table is kept until it has completed.
        unsafe { record_plan(commands.raw(), &table) };
        commands.finish().unwrap();
        drop(table);
        assert_eq!(live.count(), 0);
        // The caller's device and buffer still exist.
        let commands = caller.begin().unwrap();
        // SAFETY: the command buffer is recording.
        unsafe { caller.device.cmd_fill_buffer(commands.raw(), handle, 0, 64, 3) };
        let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
        let transfer = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        commands.barrier(transfer, host);
        commands.finish().unwrap();
        assert_eq!(words(&caller.bytes(handle, 0..64).unwrap()), [3; 16]);
        assert_eq!(caller.validation_log().take(), []);
    });
}

/// The positive control: the barriers around an operator are the caller's duty, and the layer is on.
#[test]
fn a_missing_barrier_of_the_callers_is_reported_where_validation_is_required() {
    each_caller(|caller| {
        let device = wrap(caller);
        let (buffer, table) = counting_up(caller, &device);
        let commands = caller.begin().unwrap();
        // SAFETY: the command buffer is recording.
        unsafe { caller.device.cmd_fill_buffer(commands.raw(), buffer.raw(), 0, 64, 3) };
        // SAFETY: the command buffer is recording; the table is kept until it has completed.
        unsafe { record_plan(commands.raw(), &table) };
        commands.finish().unwrap();
        let messages = caller.validation_log().take();
        if common::validation() == dml_vk::Validation::Required {
            assert!(
                messages.iter().any(|message| message.text.contains("hazard detected")),
                "{messages:?}"
            );
        }
    });
}
