//! The interface as it is promised: sizes, offsets and values; of functions the checked-in header is the
//! promise, and the test of `examples/header.rs` holds it. A change here or there changes what compiled
//! programs expect: raise DMLVK_ABI_VERSION, and say so in the change log.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
fn structs_have_the_layout_of_version_3() {
    assert_layout!(DmlVkDeviceDesc, 40, {
        struct_size: 0,
        minimum_feature_level: 4,
        maximum_feature_level: 8,
        require_validation: 12,
        device: 16,
        profile: 24,
        numerics: 32,
        reserved: 36
    });
    assert_layout!(DmlVkRawDeviceDesc, 128, {
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
        queue_family: 80,
        queue: 88,
        lock_queue: 96,
        unlock_queue: 104,
        queue_lock_data: 112,
        numerics: 120,
        reserved: 124
    });
    assert_layout!(DmlVkEnablementDesc, 40, {
        struct_size: 0,
        api_version: 4,
        get_instance_proc_addr: 8,
        instance: 16,
        physical_device: 24,
        unwanted_features: 32
    });
    assert_layout!(DmlVkEnablement, 32, {
        features: 0,
        chain: 8,
        extensions: 16,
        extension_count: 24,
        reserved: 28
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
fn values_are_those_of_version_3() {
    assert_eq!(DMLVK_ABI_VERSION, 3);
    assert_eq!(dmlvk_abi_version(), DMLVK_ABI_VERSION);
    assert_eq!((DMLVK_PHASE_INITIALIZE, DMLVK_PHASE_EXECUTE), (0, 1));
    assert_eq!((DMLVK_NUMERICS_EXACT, DMLVK_NUMERICS_FAST), (0, 1));
    let header = include_str!("../include/dmlvk/dmlvk.h");
    let value = |line: &'static str| {
        let line = line.strip_prefix("#define DMLVK_FEATURE_")?;
        line.split_once(" /*")?.0.split_once(' ')
    };
    let found: Vec<_> = header.lines().filter_map(value).collect();
    let names = [
        "SHADER_INT8",
        "SHADER_INT16",
        "SHADER_INT64",
        "SHADER_FLOAT16",
        "SHADER_FLOAT64",
        "STORAGE_BUFFER_8BIT_ACCESS",
        "STORAGE_BUFFER_16BIT_ACCESS",
        "TIMELINE_SEMAPHORE",
        "ROBUST_BUFFER_ACCESS",
        "VULKAN_MEMORY_MODEL",
        "SUBGROUP_SIZE_CONTROL",
        "COMPUTE_FULL_SUBGROUPS",
        "COOPERATIVE_MATRIX",
        "SHADER_ROUNDING_MODE_RTE_FLOAT16",
        "SHADER_ROUNDING_MODE_RTE_FLOAT32",
        "SHADER_DENORM_PRESERVE_FLOAT16",
        "SHADER_DENORM_PRESERVE_FLOAT32",
        "SHADER_SIGNED_ZERO_INF_NAN_PRESERVE_FLOAT16",
        "SHADER_SIGNED_ZERO_INF_NAN_PRESERVE_FLOAT32",
        "SUBGROUP_ARITHMETIC",
        "SUBGROUP_SHUFFLE",
        "VULKAN_MEMORY_MODEL_DEVICE_SCOPE",
        "SHADER_INTEGER_DOT_PRODUCT",
    ];
    // The numbers of deleted features are never reused.
    let bits = (0..).filter(|it| ![7, 10, 21, 23, 25].contains(it)).take(names.len());
    let values: Vec<String> = bits.map(|bit| format!("{:#x}ull", 1u64 << bit)).collect();
    assert_eq!(found, names.into_iter().zip(values.iter().map(String::as_str)).collect::<Vec<_>>());
}

/// docs/integrating.md has a counterpart, or states that there is none, for every function.
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
