//! Drivers with unusual properties, imitated by replacing functions.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "replacements for Vulkan's functions")]

mod common;

use std::sync::Mutex;

use common::{buffer, each_device_with, instance_with, one_at_a_time, pattern};
use dml_core::capabilities::Feature;
use dml_vk::ash::vk;
use dml_vk::{Device, DeviceDesc, DeviceType, EntryPoints, InstanceDesc, Timestamps};

/// The properties that an imitated driver reports; `None` keeps the real driver's.
#[derive(Clone, Copy)]
struct Answers {
    offset_alignment: Option<u64>,
    uniform_alignment: Option<u64>,
    uniform_range: Option<u32>,
    storage_buffers: Option<u32>,
    uniform_buffers: Option<u32>,
    timestamp_period: Option<f32>,
    /// Whether the driver has vulkanMemoryModelDeviceScope.
    has_device_scope: Option<bool>,
    /// The shader stages that have subgroups.
    subgroup_stages: Option<vk::ShaderStageFlags>,
    /// Whether host-visible memory is coherent.
    is_coherent: bool,
}

const USUAL: Answers = Answers {
    offset_alignment: None,
    uniform_alignment: None,
    uniform_range: None,
    storage_buffers: None,
    uniform_buffers: None,
    timestamp_period: None,
    has_device_scope: None,
    subgroup_stages: None,
    is_coherent: true,
};

static ANSWERS: Mutex<Answers> = Mutex::new(USUAL);
/// The names of the calls, with their offsets and sizes.
static CALLS: Mutex<Vec<(&str, u64, u64)>> = Mutex::new(Vec::new());

fn change(limits: &mut vk::PhysicalDeviceLimits) {
    let answers = *ANSWERS.lock().unwrap();
    let alignment = &mut limits.min_storage_buffer_offset_alignment;
    *alignment = answers.offset_alignment.unwrap_or(*alignment);
    let alignment = &mut limits.min_uniform_buffer_offset_alignment;
    *alignment = answers.uniform_alignment.unwrap_or(*alignment);
    let range = &mut limits.max_uniform_buffer_range;
    *range = answers.uniform_range.unwrap_or(*range);
    let count = &mut limits.max_per_stage_descriptor_storage_buffers;
    *count = answers.storage_buffers.unwrap_or(*count);
    let count = &mut limits.max_per_stage_descriptor_uniform_buffers;
    *count = answers.uniform_buffers.unwrap_or(*count);
    limits.timestamp_period = answers.timestamp_period.unwrap_or(limits.timestamp_period);
}

/// Calls `change` with the structure of type `T` in a chain, if it has one.
///
/// # Safety
///
/// The chain is of Vulkan's structures, which nobody else uses.
unsafe fn change_chained<T: vk::TaggedStructure>(
    mut next: *mut std::ffi::c_void,
    change: impl FnOnce(&mut T),
) {
    while let Some(header) = std::ptr::NonNull::new(next.cast::<vk::BaseOutStructure<'_>>()) {
        // SAFETY: each structure begins like this.
        let vk::BaseOutStructure { s_type, p_next, .. } = unsafe { header.read() };
        if s_type == T::STRUCTURE_TYPE {
            // SAFETY: its type says so.
            return change(unsafe { header.cast().as_mut() });
        }
        next = p_next.cast();
    }
}

fn change_memory_model(found: &mut vk::PhysicalDeviceVulkanMemoryModelFeatures<'_>) {
    let has = ANSWERS.lock().unwrap().has_device_scope;
    let device_scope = &mut found.vulkan_memory_model_device_scope;
    *device_scope = has.map_or(*device_scope, u32::from);
}

fn change_subgroups(found: &mut vk::PhysicalDeviceSubgroupProperties<'_>) {
    let stages = ANSWERS.lock().unwrap().subgroup_stages;
    found.supported_stages = stages.unwrap_or(found.supported_stages);
}

fn change_memory(found: &mut vk::PhysicalDeviceMemoryProperties) {
    let both = vk::MemoryPropertyFlags::DEVICE_LOCAL | vk::MemoryPropertyFlags::HOST_VISIBLE;
    for memory in &mut found.memory_types {
        if !ANSWERS.lock().unwrap().is_coherent && memory.property_flags.contains(both) {
            memory.property_flags &= !vk::MemoryPropertyFlags::HOST_COHERENT;
        }
    }
}

/// # Safety
///
/// The promises of vkFlushMappedMemoryRanges.
unsafe fn note(name: &'static str, count: u32, ranges: *const vk::MappedMemoryRange<'_>) {
    assert_eq!(count, 1);
    // SAFETY: there is one, by the caller's promise.
    let range = unsafe { *ranges };
    CALLS.lock().unwrap().push((name, range.offset, range.size));
}

/// Functions that call the driver's and change the answers: to allowed ones, or to ones that this crate must
/// refuse.
fn odd() -> EntryPoints {
    dml_fault::replacing! {
        vkGetPhysicalDeviceProperties = PFN_vkGetPhysicalDeviceProperties(
            device: vk::PhysicalDevice,
            found: *mut vk::PhysicalDeviceProperties,
        ), |original| {
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, found) };
            // SAFETY: the driver has filled it.
            change(unsafe { &mut (*found).limits });
        }
        vkGetPhysicalDeviceProperties2 = PFN_vkGetPhysicalDeviceProperties2(
            device: vk::PhysicalDevice,
            found: *mut vk::PhysicalDeviceProperties2<'_>,
        ), |original| {
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, found) };
            // SAFETY: the driver has filled it.
            change(unsafe { &mut (*found).properties.limits });
            // SAFETY: as above.
            let chain = unsafe { (*found).p_next };
            // SAFETY: as above.
            unsafe { change_chained(chain, change_subgroups) };
        }
        vkGetPhysicalDeviceFeatures2 = PFN_vkGetPhysicalDeviceFeatures2(
            device: vk::PhysicalDevice,
            found: *mut vk::PhysicalDeviceFeatures2<'_>,
        ), |original| {
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, found) };
            // SAFETY: the driver has filled it.
            let chain = unsafe { (*found).p_next };
            // SAFETY: as above.
            unsafe { change_chained(chain, change_memory_model) };
        }
        vkGetPhysicalDeviceMemoryProperties = PFN_vkGetPhysicalDeviceMemoryProperties(
            device: vk::PhysicalDevice,
            found: *mut vk::PhysicalDeviceMemoryProperties,
        ), |original| {
            // SAFETY: the caller keeps the function's own contract.
            unsafe { original(device, found) };
            // SAFETY: the driver has filled it.
            change_memory(unsafe { &mut *found });
        }
        vkFlushMappedMemoryRanges = PFN_vkFlushMappedMemoryRanges(
            device: vk::Device,
            count: u32,
            ranges: *const vk::MappedMemoryRange<'_>,
        ) -> vk::Result, |original| {
            // SAFETY: the caller keeps the function's own contract.
            unsafe { note("flush", count, ranges) };
            // SAFETY: as above.
            unsafe { original(device, count, ranges) }
        }
        vkInvalidateMappedMemoryRanges = PFN_vkInvalidateMappedMemoryRanges(
            device: vk::Device,
            count: u32,
            ranges: *const vk::MappedMemoryRange<'_>,
        ) -> vk::Result, |original| {
            // SAFETY: the caller keeps the function's own contract.
            unsafe { note("invalidate", count, ranges) };
            // SAFETY: as above.
            unsafe { original(device, count, ranges) }
        }
    }
}

/// Calls `test` with a Vulkan whose drivers report `answers`.
fn with_answers(answers: Answers, test: impl FnOnce(InstanceDesc)) {
    let _guard = one_at_a_time();
    *ANSWERS.lock().unwrap() = answers;
    test(InstanceDesc { entry_points: odd(), ..InstanceDesc::default() });
}

/// Checks that devices with these properties are refused, for this reason.
fn unusable(answers: Answers, expected: &str) {
    with_answers(answers, |desc| {
        let (_messages, instance) = instance_with(desc);
        for physical in instance.physical_devices().unwrap() {
            let reason = physical.unsuitable().unwrap();
            assert!(reason.contains(expected), "{reason}");
            assert!(Device::new(&physical).unwrap_err().is_unsupported());
        }
    });
}

#[test]
fn a_device_with_an_impossible_alignment_is_unusable() {
    for alignment in [0, 24, 512] {
        let answers = Answers { offset_alignment: Some(alignment), ..USUAL };
        unusable(answers, &format!("minStorageBufferOffsetAlignment is {alignment},"));
        let answers = Answers { uniform_alignment: Some(alignment), ..USUAL };
        unusable(answers, &format!("minUniformBufferOffsetAlignment is {alignment},"));
    }
}

#[test]
fn a_device_with_too_few_or_too_small_buffers_in_a_shader_is_unusable() {
    let answers = Answers { storage_buffers: Some(7), ..USUAL };
    unusable(answers, "its maxPerStageDescriptorStorageBuffers is 7, 8 is needed");
    let answers = Answers { uniform_buffers: Some(0), ..USUAL };
    unusable(answers, "its maxPerStageDescriptorUniformBuffers is 0, 1 is needed");
    let answers = Answers { uniform_range: Some(16_383), ..USUAL };
    unusable(answers, "its maxUniformBufferRange is 16383, 16384 is needed");
    let enough = Answers {
        storage_buffers: Some(8),
        uniform_buffers: Some(1),
        uniform_range: Some(16_384),
        uniform_alignment: Some(256),
        ..USUAL
    };
    with_answers(enough, |desc| {
        each_device_with(desc, &DeviceDesc::default(), |device| {
            let limits = &device.capabilities().limits;
            assert_eq!(limits.max_per_stage_descriptor_storage_buffers, 8);
            assert_eq!(limits.max_per_stage_descriptor_uniform_buffers, 1);
            assert_eq!(limits.max_uniform_buffer_range, 16_384);
            assert_eq!(limits.min_uniform_buffer_offset_alignment, 256);
        });
    });
}

/// vulkanMemoryModel alone would forbid atomics of device scope, which kernels have.
#[test]
fn a_memory_model_without_device_scope_is_not_enabled() {
    with_answers(Answers { has_device_scope: Some(false), ..USUAL }, |desc| {
        each_device_with(desc, &DeviceDesc::default(), |device| {
            let features = device.capabilities().features;
            assert!(!features.has(Feature::VulkanMemoryModelDeviceScope));
            assert!(!features.has(Feature::VulkanMemoryModel));
        });
    });
}

#[test]
fn operations_of_subgroups_count_where_compute_shaders_have_them() {
    let stages = Some(vk::ShaderStageFlags::FRAGMENT);
    with_answers(Answers { subgroup_stages: stages, ..USUAL }, |desc| {
        each_device_with(desc, &DeviceDesc::default(), |device| {
            let operations = [Feature::SubgroupShuffle, Feature::SubgroupArithmetic];
            assert!(!operations.iter().any(|operation| device.offered().features.has(*operation)));
        });
    });
}

#[test]
fn timestamps_in_no_known_unit_are_unsupported() {
    for period in [-1.0, 1e9, f32::INFINITY, f32::NAN] {
        with_answers(Answers { timestamp_period: Some(period), ..USUAL }, |desc| {
            each_device_with(desc, &DeviceDesc::default(), |device| {
                let error = Timestamps::new(device, 1).unwrap_err();
                assert!(error.is_unsupported(), "{error:?}");
            });
        });
    }
}

#[test]
fn memory_that_is_not_coherent_is_read_before_a_part_of_it_is_written() {
    with_answers(Answers { is_coherent: false, ..USUAL }, |desc| {
        each_device_with(desc, &DeviceDesc::default(), |device| {
            let buffer = buffer(device, 4096);
            let mut expected = pattern(4096);
            device.write_buffer(&buffer, 0, &expected).unwrap();
            let calls = std::mem::take(&mut *CALLS.lock().unwrap());
            if calls.is_empty() && device.info().device_type != DeviceType::Cpu {
                return println!("the host does not see the device's memory");
            }
            device.write_buffer(&buffer, 1000, &[1, 2, 3]).unwrap();
            let calls = std::mem::take(&mut *CALLS.lock().unwrap());
            let [("invalidate", start, size), ("flush", flushed, flushed_size)] = calls[..] else {
                panic!("{calls:?}");
            };
            assert_eq!((start, size), (flushed, flushed_size));
            expected[1000..1003].copy_from_slice(&[1, 2, 3]);
            assert_eq!(device.read_buffer(&buffer, 0..4096).unwrap(), expected);
            let calls = std::mem::take(&mut *CALLS.lock().unwrap());
            assert!(matches!(calls[..], [("invalidate", _, 4096..)]), "{calls:?}");
        });
    });
}
