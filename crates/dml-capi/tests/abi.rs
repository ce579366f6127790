//! The interface as it is promised: sizes, offsets, values and signatures. A change here changes what
//! compiled programs expect: raise DMLVK_ABI_VERSION, and say so in the change log.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};

use dmlvk::*;

macro_rules! assert_layout {
    ($type:ty, $size:literal, { $($field:ident: $offset:literal),* }) => {
        assert_eq!(size_of::<$type>(), $size, stringify!($type));
        $(assert_eq!(offset_of!($type, $field), $offset, stringify!($type::$field));)*
    };
}

#[cfg(target_pointer_width = "64")]
#[test]
fn structs_have_the_layout_of_version_1() {
    assert_layout!(DmlVkDeviceDesc, 32, {
        struct_size: 0,
        minimum_feature_level: 4,
        maximum_feature_level: 8,
        require_validation: 12,
        device: 16,
        profile: 24
    });
    assert_layout!(DmlVkRawDeviceDesc, 112, {
        struct_size: 0,
        minimum_feature_level: 4,
        maximum_feature_level: 8,
        api_version: 12,
        get_instance_proc_addr: 16,
        instance: 24,
        physical_device: 32,
        device: 40,
        instance_extensions: 48,
        device_extensions: 56,
        instance_extension_count: 64,
        device_extension_count: 68,
        features: 72,
        queue_family: 76,
        queue: 80,
        lock_queue: 88,
        unlock_queue: 96,
        queue_lock_data: 104
    });
    assert_layout!(DmlVkRawBufferDesc, 24, { struct_size: 0, usage: 4, buffer: 8, size: 16 });
    assert_layout!(DmlVkBufferBinding, 24, { buffer: 0, offset: 8, size: 16 });
    assert_layout!(DmlVkBindings, 80, {
        struct_size: 0,
        input_count: 4,
        inputs: 8,
        outputs: 16,
        output_count: 24,
        reserved: 28,
        temporary: 32,
        persistent: 56
    });
    assert_layout!(DmlVkAccess, 16, { stages: 0, inputs: 4, outputs: 8, resources: 12 });
    assert_eq!(size_of::<DmlVkDevice>(), 8);
}

#[test]
fn values_are_those_of_version_1() {
    assert_eq!(DMLVK_ABI_VERSION, 1);
    assert_eq!(dmlvk_abi_version(), DMLVK_ABI_VERSION);
    assert_eq!((DMLVK_PHASE_INITIALIZE, DMLVK_PHASE_EXECUTE), (0, 1));
    let features = [
        DMLVK_FEATURE_SHADER_INT8,
        DMLVK_FEATURE_SHADER_INT16,
        DMLVK_FEATURE_SHADER_INT64,
        DMLVK_FEATURE_SHADER_FLOAT16,
        DMLVK_FEATURE_SHADER_FLOAT64,
        DMLVK_FEATURE_STORAGE_BUFFER_8BIT,
        DMLVK_FEATURE_STORAGE_BUFFER_16BIT,
        DMLVK_FEATURE_BUFFER_DEVICE_ADDRESS,
        DMLVK_FEATURE_TIMELINE_SEMAPHORE,
    ];
    assert_eq!(features.to_vec(), (0..9).map(|bit| 1 << bit).collect::<Vec<u32>>());
}

/// Every function by its type; one that is missing here is missing below too.
const FUNCTIONS: [(&str, &str); 21] = {
    macro_rules! functions {
        ($($name:ident: $type:ty),* $(,)?) => {
            [$({
                let _: $type = $name;
                (stringify!($name), stringify!($type))
            }),*]
        };
    }
    type Binding = *const DmlVkBufferBinding;
    functions! {
        dmlvk_abi_version: extern "C" fn() -> u32,
        dmlvk_last_message: extern "C" fn() -> *const c_char,
        dmlvk_create_device:
            unsafe extern "C" fn(*const DmlVkDeviceDesc, *mut DmlVkDevice) -> HRESULT,
        dmlvk_wrap_device:
            unsafe extern "C" fn(*const DmlVkRawDeviceDesc, *mut DmlVkDevice) -> HRESULT,
        dmlvk_destroy_device: unsafe extern "C" fn(DmlVkDevice) -> HRESULT,
        dmlvk_get_device_removed_reason: extern "C" fn(DmlVkDevice) -> HRESULT,
        dmlvk_check_feature_support: unsafe extern "C" fn(
            DmlVkDevice, DML_FEATURE, u32, *const c_void, u32, *mut c_void) -> HRESULT,
        dmlvk_compile_operator: unsafe extern "C" fn(
            DmlVkDevice, *const DML_OPERATOR_DESC, DML_EXECUTION_FLAGS, *mut DmlVkOperator,
        ) -> HRESULT,
        dmlvk_get_binding_properties:
            unsafe extern "C" fn(DmlVkOperator, *mut DML_BINDING_PROPERTIES) -> HRESULT,
        dmlvk_needs_initialization: unsafe extern "C" fn(DmlVkOperator, *mut BOOL) -> HRESULT,
        dmlvk_destroy_operator: unsafe extern "C" fn(DmlVkOperator) -> HRESULT,
        dmlvk_create_buffer: unsafe extern "C" fn(DmlVkDevice, u64, *mut DmlVkBuffer) -> HRESULT,
        dmlvk_wrap_buffer: unsafe extern "C" fn(
            DmlVkDevice, *const DmlVkRawBufferDesc, *mut DmlVkBuffer) -> HRESULT,
        dmlvk_write_buffer:
            unsafe extern "C" fn(DmlVkBuffer, u64, *const c_void, u64) -> HRESULT,
        dmlvk_read_buffer: unsafe extern "C" fn(DmlVkBuffer, u64, *mut c_void, u64) -> HRESULT,
        dmlvk_destroy_buffer: extern "C" fn(DmlVkBuffer) -> HRESULT,
        dmlvk_create_binding_table: unsafe extern "C" fn(
            DmlVkOperator, DmlVkPhase, *const DmlVkBindings, *mut DmlVkBindingTable) -> HRESULT,
        dmlvk_record_dispatch:
            unsafe extern "C" fn(VkCommandBuffer, DmlVkBindingTable) -> HRESULT,
        dmlvk_destroy_binding_table: unsafe extern "C" fn(DmlVkBindingTable) -> HRESULT,
        dmlvk_get_access: unsafe extern "C" fn(*mut DmlVkAccess) -> HRESULT,
        dmlvk_initialize_operator: unsafe extern "C" fn(DmlVkOperator, Binding, u32) -> HRESULT,
    }
};

/// Those that make one call of owning mode.
const OWNING: [&str; 4] = {
    type Binding = *const DmlVkBufferBinding;
    type Execute = unsafe extern "C" fn(DmlVkOperator, Binding, u32, Binding, u32) -> HRESULT;
    type Submit = unsafe extern "C" fn(
        DmlVkOperator,
        Binding,
        u32,
        Binding,
        u32,
        *mut DmlVkSubmission,
    ) -> HRESULT;
    let _: Execute = dmlvk_execute_operator;
    let _: Submit = dmlvk_submit_operator;
    let _: unsafe extern "C" fn(DmlVkSubmission, u64, *mut BOOL) -> HRESULT = dmlvk_wait_submission;
    let _: extern "C" fn(DmlVkSubmission) -> HRESULT = dmlvk_destroy_submission;
    [
        "dmlvk_execute_operator",
        "dmlvk_submit_operator",
        "dmlvk_wait_submission",
        "dmlvk_destroy_submission",
    ]
};

/// The header declares these functions and no other: it is as new as the sources, as far as names go.
/// A test of `dml-c-header` compares all of it.
#[test]
fn the_header_declares_every_function() {
    let header = include_str!("../include/dmlvk/dmlvk.h");
    let code = header.lines().filter(|line| !line.starts_with(['/', ' ', '#']));
    let mut declared: Vec<&str> = code
        .filter_map(|line| {
            let rest = &line[line.find("dmlvk_")?..];
            rest.split('(').next().filter(|name| name.len() < rest.len())
        })
        .collect();
    let mut known: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).chain(OWNING).collect();
    declared.sort_unstable();
    known.sort_unstable();
    assert_eq!(declared, known);
}

/// docs/integrating.md has a counterpart, or says that there is none, for everything that can be called.
#[test]
fn every_call_of_directml_has_its_row() {
    const CALLS: [&str; 36] = [
        "DMLCreateDevice",
        "DMLCreateDevice1",
        "QueryInterface",
        "AddRef",
        "Release",
        "GetPrivateData",
        "SetPrivateData",
        "SetPrivateDataInterface",
        "SetName",
        "CheckFeatureSupport",
        "CreateOperator",
        "CompileOperator",
        "CreateOperatorInitializer",
        "CreateCommandRecorder",
        "CreateBindingTable",
        "Evict",
        "MakeResident",
        "GetDeviceRemovedReason",
        "GetParentDevice",
        "IDMLDevice1::CompileGraph",
        "IDMLDeviceChild::GetDevice",
        "IDMLCommandRecorder::RecordDispatch",
        "BindInputs",
        "BindOutputs",
        "BindTemporaryResource",
        "BindPersistentResource",
        "IDMLBindingTable::Reset",
        "IDMLDispatchable::GetBindingProperties",
        "IDMLOperatorInitializer::Reset",
        "IDMLDebugDevice::SetMuteDebugOutput",
        "minimumFeatureLevel",
        "DML_CREATE_DEVICE_FLAG_DEBUG",
        "UAV barriers",
        "descriptor heaps",
        "error codes",
        "IDMLDevice::CheckFeatureSupport",
    ];
    let document = include_str!("../../../docs/integrating.md");
    let table = document.split("## From DirectML").nth(1).unwrap();
    let calls = table.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let calls = calls.collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = calls.split([' ', ',']).collect();
    for call in CALLS {
        let found = words.iter().any(|word| *word == call || word.ends_with(&format!("::{call}")));
        assert!(found || (call.contains(' ') && calls.contains(call)), "{call}");
    }
}
