//! Pipelines are really compiled, and their statistics are written to files.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use dml_vk::ash::vk::{self, Handle as _};

use super::output;
use crate::wrapped::{chained, of_device, slice};

/// The names of shader modules and the numbers of pipelines.
#[derive(Default)]
struct Books {
    /// Names of modules, by their handles.
    names: HashMap<u64, String>,
    /// The numbers of pipelines in the order of their creation, by their handles.
    numbers: HashMap<u64, usize>,
    pipelines: usize,
}

static BOOKS: Mutex<Option<Books>> = Mutex::new(None);

fn update<T>(change: impl FnOnce(&mut Books) -> T) -> T {
    change(BOOKS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The number of a pipeline.
pub(super) fn number_of(pipeline: vk::Pipeline) -> Option<usize> {
    update(|books| books.numbers.get(&pipeline.as_raw()).copied())
}

/// Creates a module, and forgets the name of an earlier one with the same handle.
pub(super) unsafe extern "system" fn create_module(
    device: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    module: *mut vk::ShaderModule,
) -> vk::Result {
    let name = c"vkCreateShaderModule";
    // SAFETY: the function with this name has this type.
    let original = unsafe { of_device::<vk::PFN_vkCreateShaderModule>(device, name) };
    let Some(original) = original else { return vk::Result::ERROR_INITIALIZATION_FAILED };
    // SAFETY: the caller's promise.
    let result = unsafe { original(device, info, callbacks, module) };
    if result == vk::Result::SUCCESS {
        // SAFETY: as above.
        let handle = unsafe { *module };
        update(|books| books.names.remove(&handle.as_raw()));
    }
    result
}

/// Stores the name of a module, which callers set before they make a pipeline from it.
pub(super) unsafe extern "system" fn set_name(
    _: vk::Device,
    info: *const vk::DebugUtilsObjectNameInfoEXT<'_>,
) -> vk::Result {
    // SAFETY: the caller's promise.
    let info = unsafe { &*info };
    if info.object_type == vk::ObjectType::SHADER_MODULE && !info.p_object_name.is_null() {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(info.p_object_name) }.to_string_lossy().into_owned();
        update(|books| books.names.insert(info.object_handle, name));
    }
    vk::Result::SUCCESS
}

/// Creates pipelines without a cache: those from a cache have no statistics.
pub(super) unsafe extern "system" fn create(
    device: vk::Device,
    _: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    let name = c"vkCreateComputePipelines";
    // SAFETY: the function with this name has this type.
    let original = unsafe { of_device::<vk::PFN_vkCreateComputePipelines>(device, name) };
    let Some(original) = original else { return vk::Result::ERROR_INITIALIZATION_FAILED };
    // SAFETY: the caller's promise.
    let mut infos = unsafe { slice(infos, count) }.to_vec();
    for info in &mut infos {
        info.flags |= vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
            | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
        // Where these are given, the others are ignored.
        // SAFETY: the caller's promise; it changes them no more while this function runs.
        let wide =
            unsafe { chained::<vk::PipelineCreateFlags2CreateInfoKHR<'_>>(info.p_next.cast_mut()) };
        if let Some(wide) = wide {
            wide.flags |= vk::PipelineCreateFlags2KHR::CAPTURE_STATISTICS
                | vk::PipelineCreateFlags2KHR::CAPTURE_INTERNAL_REPRESENTATIONS;
        }
    }
    let none = vk::PipelineCache::null();
    // SAFETY: as above.
    let result = unsafe { original(device, none, count, infos.as_ptr(), callbacks, pipelines) };
    if result == vk::Result::SUCCESS {
        // SAFETY: the driver has written them.
        for (info, pipeline) in infos.iter().zip(unsafe { slice(pipelines, count) }) {
            write_down(device, info, *pipeline);
        }
    }
    result
}

fn write_down(
    device: vk::Device,
    info: &vk::ComputePipelineCreateInfo<'_>,
    pipeline: vk::Pipeline,
) {
    let (number, name) = update(|books| {
        let number = books.pipelines;
        books.pipelines += 1;
        books.numbers.insert(pipeline.as_raw(), number);
        (number, books.names.get(&info.stage.module.as_raw()).cloned())
    });
    let mut text = format!("name {}\n", name.as_deref().unwrap_or("?"));
    for (id, value) in constants(info) {
        let _ = writeln!(text, "constant {id} {value}");
    }
    let _ = writeln!(text, "subgroup {}", subgroup_size(device, pipeline));
    for (name, value) in statistics(device, pipeline) {
        let _ = writeln!(text, "statistic {value} {name}");
    }
    output::of_pipeline(number, "statistics", text.as_bytes());
    output::of_pipeline(number, "assembly", &assembly(device, pipeline));
}

/// The specialization constants that a pipeline gives values to, as words.
fn constants(info: &vk::ComputePipelineCreateInfo<'_>) -> Vec<(u32, u32)> {
    // SAFETY: the caller of vkCreateComputePipelines has promised it, here and below.
    let Some(given) = (unsafe { info.stage.p_specialization_info.as_ref() }) else {
        return Vec::new();
    };
    // SAFETY: as above.
    let entries = unsafe { slice(given.p_map_entries, given.map_entry_count) };
    let word = |entry: &vk::SpecializationMapEntry| {
        let place = given.p_data.wrapping_byte_add(entry.offset as usize);
        let mut word = [0; 4];
        let count = u32::try_from(entry.size.min(4)).unwrap_or(4);
        // SAFETY: as above.
        let bytes = unsafe { slice(place.cast::<u8>(), count) };
        word[..bytes.len()].copy_from_slice(bytes);
        (entry.constant_id, u32::from_le_bytes(word))
    };
    entries.iter().map(word).collect()
}

/// The subgroup size of the one executable of a compute pipeline; 0 if the driver does not report it.
fn subgroup_size(device: vk::Device, pipeline: vk::Pipeline) -> u32 {
    let name = c"vkGetPipelineExecutablePropertiesKHR";
    // SAFETY: the function with this name has this type.
    let get = unsafe { of_device::<vk::PFN_vkGetPipelineExecutablePropertiesKHR>(device, name) };
    let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
    let (mut count, mut told) = (1, vk::PipelineExecutablePropertiesKHR::default());
    if let Some(get) = get {
        // SAFETY: the pipeline is new, and there is room for one answer.
        let _ = unsafe { get(device, &raw const info, &raw mut count, &raw mut told) };
    }
    told.subgroup_size
}

fn statistics(device: vk::Device, pipeline: vk::Pipeline) -> Vec<(String, u64)> {
    let name = c"vkGetPipelineExecutableStatisticsKHR";
    // SAFETY: the function with this name has this type.
    let get = unsafe { of_device::<vk::PFN_vkGetPipelineExecutableStatisticsKHR>(device, name) };
    let Some(get) = get else { return Vec::new() };
    let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
    let mut all = vec![vk::PipelineExecutableStatisticKHR::default(); 64];
    let mut count = 64;
    // SAFETY: the pipeline was created with this information, and there is room for so many answers.
    let result = unsafe { get(device, &raw const info, &raw mut count, all.as_mut_ptr()) };
    if !matches!(result, vk::Result::SUCCESS | vk::Result::INCOMPLETE) {
        return Vec::new();
    }
    all.truncate(count as usize);
    // SAFETY: RADV counts everything in 64 bits without a sign.
    all.iter().map(|it| (text(&it.name), unsafe { it.value.u64 })).collect()
}

/// The text of the internal representation with a name; empty if there is none.
fn assembly(device: vk::Device, pipeline: vk::Pipeline) -> Vec<u8> {
    let name = c"vkGetPipelineExecutableInternalRepresentationsKHR";
    // SAFETY: the function with this name has this type.
    let get = unsafe {
        of_device::<vk::PFN_vkGetPipelineExecutableInternalRepresentationsKHR>(device, name)
    };
    let Some(get) = get else { return Vec::new() };
    let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
    let mut all = vec![vk::PipelineExecutableInternalRepresentationKHR::default(); 16];
    let mut count = 16;
    // SAFETY: the pipeline was created with this information; with no place for data, sizes are told.
    let _ = unsafe { get(device, &raw const info, &raw mut count, all.as_mut_ptr()) };
    all.truncate(count as usize);
    let mut data: Vec<Vec<u8>> = all.iter().map(|it| vec![0; it.data_size]).collect();
    for (representation, data) in all.iter_mut().zip(&mut data) {
        representation.p_data = data.as_mut_ptr().cast();
    }
    // SAFETY: as above, and each has as much room as it has told.
    let _ = unsafe { get(device, &raw const info, &raw mut count, all.as_mut_ptr()) };
    let wanted = all.iter().position(|it| text(&it.name) == "Assembly");
    let mut found = wanted.map(|index| data.swap_remove(index)).unwrap_or_default();
    while found.last() == Some(&0) {
        found.pop();
    }
    found
}

/// A name that Vulkan has written.
fn text(name: &[c_char]) -> String {
    // SAFETY: Vulkan ends every name inside of its array.
    unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()
}
