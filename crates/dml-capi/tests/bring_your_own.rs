//! A caller's device through the C functions, on every device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a C program's calls, and a counting allocator")]

mod common;
#[path = "../../dml-vk/tests/common/counting.rs"]
mod counting;

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::caller::each_caller;
use common::graph::Graph;
use common::*;
use counting::allocations;
use dml::ash::vk;
use dml::core::capabilities::{Feature, Features};
use dml_fault::Caller;
use dmlvk::*;

fn describe(caller: &Caller) -> DmlVkRawDeviceDesc {
    let raw = caller.describe(dml::EntryPoints::default());
    DmlVkRawDeviceDesc {
        struct_size: size_of::<DmlVkRawDeviceDesc>().try_into().unwrap(),
        minimum_feature_level: 0x5000,
        maximum_feature_level: 0,
        api_version: raw.physical.api_version,
        get_instance_proc_addr: Some(raw.physical.get_instance_proc_addr),
        instance: raw.physical.instance,
        physical_device: raw.physical.physical_device,
        device: raw.device,
        instance_extensions: ptr::null(),
        device_extensions: ptr::null(),
        instance_extension_count: 0,
        device_extension_count: 0,
        features: 0,
        queue_family: raw.queue_family,
        numerics: DMLVK_NUMERICS_FAST,
        queue: vk::Queue::null(),
        lock_queue: None,
        unlock_queue: None,
        queue_lock_data: ptr::null_mut(),
        reserved: 0,
    }
}

fn wrap(desc: &DmlVkRawDeviceDesc) -> (HRESULT, DmlVkDevice) {
    // SAFETY: the tests state what `Caller` did, or what is refused.
    made(|place| unsafe { dmlvk_wrap_device(desc, place) })
}

fn wrap_buffer(device: DmlVkDevice, buffer: vk::Buffer, size: u64) -> DmlVkBuffer {
    let desc = DmlVkRawBufferDesc {
        struct_size: size_of::<DmlVkRawBufferDesc>().try_into().unwrap(),
        usage: 0x23,
        buffer,
        size,
    };
    // SAFETY: the buffer has this size and these usages.
    let (code, wrapped) =
        made(|place| unsafe { dmlvk_wrap_buffer(device, &raw const desc, place) });
    ok(code);
    wrapped
}

fn flags(masks: u32) -> vk::AccessFlags {
    vk::AccessFlags::from_raw(masks)
}

#[test]
fn a_thousand_operators_are_recorded_without_an_allocation() {
    const COUNT: u64 = 1000;
    const BYTES: u64 = 256;
    each_caller(|caller| {
        let data = caller.buffer(COUNT * BYTES).unwrap();
        let (code, device) = wrap(&describe(caller));
        ok(code);
        let buffer = wrap_buffer(device, data.handle, data.size);
        let operator = Diagonal::new(6, &[8, 8], BYTES, 1, 3.0).compiled(device);
        let table = |index| {
            let output = DmlVkBufferBinding { buffer, offset: index * BYTES, size: BYTES };
            create_table(operator, &[output])
        };
        let tables: Vec<_> = (0..COUNT).map(table).collect();
        let mut masks = DmlVkAccess::default();
        // SAFETY: there is a place for the masks.
        ok(unsafe { dmlvk_get_access(&raw mut masks) });
        let commands = caller.begin().unwrap();
        let before = allocations();
        for table in &tables {
            // SAFETY: the command buffer is recording; the tables are kept until it has completed.
            ok(unsafe { dmlvk_record_dispatch(commands.raw(), *table) });
        }
        assert_eq!(allocations(), before);
        let stages = vk::PipelineStageFlags::from_raw(masks.stages);
        let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
        commands.barrier((stages, flags(masks.outputs)), host);
        commands.finish().unwrap();
        let expected: Vec<u8> = (0..64u8)
            .flat_map(|i| if i / 8 + 1 == i % 8 { [3, 0, 0, 0] } else { [0; 4] })
            .collect();
        for index in 0..COUNT {
            assert_eq!(
                data.bytes(index * BYTES..(index + 1) * BYTES).unwrap(),
                expected,
                "{index}"
            );
        }
        // The library's objects are destroyed with the device; the caller's are not.
        destroy(device);
    });
}

static LOCKED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn lock(data: *mut c_void) {
    assert_eq!(data.addr(), 42);
    LOCKED.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn unlock(data: *mut c_void) {
    assert_eq!(data.addr(), 42);
}

/// With the temporary resource that it asks for, after an operator that writes its input.
#[test]
fn a_graph_is_bound_and_recorded_as_an_operator_is() {
    each_caller(|caller| {
        let data = caller.buffer(4096).unwrap();
        let (code, device) =
            wrap(&DmlVkRawDeviceDesc { minimum_feature_level: 0, ..describe(caller) });
        ok(code);
        let buffer = wrap_buffer(device, data.handle, data.size);
        let operator = Graph::new(0).compiled(device);
        let mut properties = DML_BINDING_PROPERTIES::default();
        // SAFETY: there is a place for the answer.
        ok(unsafe { dmlvk_get_binding_properties(operator, &raw mut properties) });
        let temporary = match properties.TemporaryResourceSize {
            0 => nothing(),
            size => DmlVkBufferBinding { buffer, offset: 1024, size },
        };
        let [input, output] =
            [0, 256].map(|offset| DmlVkBufferBinding { buffer, offset, size: 16 });
        let bindings = DmlVkBindings {
            inputs: &raw const input,
            input_count: 1,
            outputs: &raw const output,
            output_count: 1,
            temporary,
            ..no_bindings()
        };
        let diagonal = Diagonal::new(1, &[2, 2], 16, 0, 5.0).compiled(device);
        let diagonal = create_table(diagonal, &[input]);
        // SAFETY: both pointers are to what the function asks for.
        let (code, table) = made(|place| unsafe {
            dmlvk_create_binding_table(operator, DMLVK_PHASE_EXECUTE, &raw const bindings, place)
        });
        ok(code);
        let mut masks = DmlVkAccess::default();
        // SAFETY: there is a place for the masks.
        ok(unsafe { dmlvk_get_access(&raw mut masks) });
        let stages = vk::PipelineStageFlags::from_raw(masks.stages);
        let commands = caller.begin().unwrap();
        // SAFETY: the command buffer is recording; the tables are kept until it has completed.
        ok(unsafe { dmlvk_record_dispatch(commands.raw(), diagonal) });
        commands.barrier((stages, flags(masks.outputs)), (stages, flags(masks.inputs)));
        // SAFETY: as above.
        ok(unsafe { dmlvk_record_dispatch(commands.raw(), table) });
        let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
        commands.barrier((stages, flags(masks.outputs)), host);
        commands.finish().unwrap();
        let expected: Vec<u8> =
            [6f32, 0.0, 3.0, 5.5].into_iter().flat_map(f32::to_le_bytes).collect();
        assert_eq!(data.bytes(256..272).unwrap(), expected);
        destroy(device);
    });
}

#[test]
fn with_a_queue_and_its_lock_operators_run_in_one_call() {
    each_caller(|caller| {
        let desc = DmlVkRawDeviceDesc {
            features: Features::LEAST.bits(),
            queue: caller.queue,
            lock_queue: Some(lock),
            unlock_queue: Some(unlock),
            queue_lock_data: ptr::without_provenance_mut(42),
            ..describe(caller)
        };
        let (code, device) = wrap(&desc);
        ok(code);
        let data = caller.buffer(64).unwrap();
        let buffer = wrap_buffer(device, data.handle, 64);
        let operator = Diagonal::new(1, &[4, 4], 64, 0, 1.0).compiled(device);
        let output = DmlVkBufferBinding { buffer, offset: 0, size: 64 };
        let before = LOCKED.load(Ordering::SeqCst);
        ok(execute(operator, output));
        assert!(LOCKED.load(Ordering::SeqCst) > before);
        assert_eq!(data.bytes(0..4).unwrap(), 1f32.to_le_bytes());
        assert_eq!(read(buffer, 16, 8), [0, 0, 0, 0, 0, 0, 0x80, 0x3f]);
        destroy(device);
    });
}

fn ask(caller: &Caller, unwanted_features: u64) -> (HRESULT, DmlVkEnablement) {
    let raw = describe(caller);
    let desc = DmlVkEnablementDesc {
        struct_size: size_of::<DmlVkEnablementDesc>().try_into().unwrap(),
        api_version: raw.api_version,
        get_instance_proc_addr: raw.get_instance_proc_addr,
        instance: raw.instance,
        physical_device: raw.physical_device,
        unwanted_features,
    };
    let (features, extension_count, reserved) = (0, 0, 0);
    let (chain, extensions) = (ptr::null(), ptr::null());
    let mut found = DmlVkEnablement { features, chain, extensions, extension_count, reserved };
    // SAFETY: the handles are those of the caller, and there is a place for the answer.
    (unsafe { dmlvk_get_enablement(&raw const desc, &raw mut found) }, found)
}

/// How a C program creates and wraps a device.
fn create_and_wrap(caller: &Caller, found: &DmlVkEnablement) {
    let extensions = match usize::try_from(found.extension_count).unwrap() {
        0 => &[],
        // SAFETY: there are as many.
        count => unsafe { std::slice::from_raw_parts(found.extensions, count) },
    };
    let priorities = [1.0];
    let queue = vk::DeviceQueueCreateInfo::default().queue_family_index(caller.family);
    let queues = [queue.queue_priorities(&priorities)];
    let mut info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(extensions);
    info.p_next = found.chain;
    // SAFETY: the family is the device's; `info` outlives the call.
    let device = unsafe { caller.instance().create_device(caller.physical, &info, None) }.unwrap();
    let desc = DmlVkRawDeviceDesc {
        device: device.handle(),
        features: found.features,
        device_extensions: found.extensions,
        device_extension_count: found.extension_count,
        ..describe(caller)
    };
    let (code, wrapped) = wrap(&desc);
    ok(code);
    let operator = Diagonal::new(1, &[2, 2], 16, 0, 1.0).compiled(wrapped);
    assert!(!operator.is_null());
    destroy(wrapped);
    // SAFETY: nothing of it is left.
    unsafe { device.destroy_device(None) };
}

#[test]
fn what_a_caller_is_told_to_enable_can_be_enabled_and_wrapped() {
    each_caller(|caller| {
        let (code, found) = ask(caller, 0);
        ok(code);
        assert_eq!(found.features, caller.enablement.features.bits());
        // Equal answers share their memory.
        assert_eq!(ask(caller, 0).1.chain, found.chain);
        create_and_wrap(caller, &found);
        let unwanted = Features::NONE.with(Feature::RobustBufferAccess, true);
        let (code, without) = ask(caller, unwanted.bits());
        ok(code);
        assert_eq!(without.features, found.features & !unwanted.bits());
        assert_ne!(without.chain, found.chain);
        create_and_wrap(caller, &without);
        let (code, _) = ask(caller, u64::MAX);
        refused(code, E_INVALIDARG, "unknown bits");
    });
}

#[test]
fn what_can_be_seen_to_be_wrong_is_refused() {
    each_caller(|caller| {
        let good = describe(caller);
        let refuse = |desc: DmlVkRawDeviceDesc, part: &str| {
            let (code, device) = wrap(&desc);
            refused(code, E_INVALIDARG, part);
            assert!(device.is_null());
        };
        refuse(DmlVkRawDeviceDesc { struct_size: 8, ..good }, "desc.struct_size: 8");
        refuse(DmlVkRawDeviceDesc { get_instance_proc_addr: None, ..good }, "proc_addr: null");
        refuse(DmlVkRawDeviceDesc { device: vk::Device::null(), ..good }, "its handle is null");
        refuse(DmlVkRawDeviceDesc { api_version: 0, ..good }, "below Vulkan 1.1");
        refuse(DmlVkRawDeviceDesc { reserved: 7, ..good }, "desc.reserved: 7");
        refuse(DmlVkRawDeviceDesc { features: 1 << 63, ..good }, "unknown bits");
        refuse(DmlVkRawDeviceDesc { lock_queue: Some(lock), ..good }, "one is null");
        let queue = caller.queue;
        refuse(DmlVkRawDeviceDesc { queue, ..good }, "which needs timelineSemaphore");
        refuse(DmlVkRawDeviceDesc { device_extension_count: 1, ..good }, "null, with 1 elements");
        let names: [*const c_char; 1] = [c"VK_no_such_thing".as_ptr()];
        let device_extensions = names.as_ptr();
        let one = DmlVkRawDeviceDesc { device_extensions, device_extension_count: 1, ..good };
        refuse(one, "VK_no_such_thing is listed as enabled, but the device does not support it");
        let (code, device) = wrap(&good);
        ok(code);
        let operator = Diagonal::new(1, &[2, 2], 16, 0, 1.0).compiled(device);
        let data = caller.buffer(64).unwrap();
        let buffer = wrap_buffer(device, data.handle, 64);
        let output = DmlVkBufferBinding { buffer, offset: 0, size: 16 };
        let code = execute(operator, output);
        refused(code, DXGI_ERROR_UNSUPPORTED, "without a queue");
        let table = create_table(operator, &[output]);
        // SAFETY: a null command buffer is refused.
        let code = unsafe { dmlvk_record_dispatch(vk::CommandBuffer::null(), table) };
        refused(code, E_INVALIDARG, "command_buffer: null");
        destroy(device);
    });
}
