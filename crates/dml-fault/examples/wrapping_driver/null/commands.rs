//! Commands are written down and executed by nobody.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use dml_vk::ash::vk::{self, Handle as _};

use super::output;
use super::pipelines::number_of;
use crate::wrapped::slice;

/// The compute pipeline that each command buffer has bound, by its number.
static BOUND: Mutex<Option<HashMap<u64, usize>>> = Mutex::new(None);

fn bound(commands: vk::CommandBuffer) -> String {
    let all = BOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let number = all.as_ref().and_then(|all| all.get(&commands.as_raw()));
    number.map_or("?".to_owned(), ToString::to_string)
}

pub(super) unsafe extern "system" fn bind_pipeline(
    commands: vk::CommandBuffer,
    _: vk::PipelineBindPoint,
    pipeline: vk::Pipeline,
) {
    if let Some(number) = number_of(pipeline) {
        let mut all = BOUND.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_or_insert_default().insert(commands.as_raw(), number);
    }
}

pub(super) unsafe extern "system" fn dispatch(commands: vk::CommandBuffer, x: u32, y: u32, z: u32) {
    output::command(&format!("dispatch {} {x} {y} {z}", bound(commands)));
}

pub(super) unsafe extern "system" fn dispatch_base(
    commands: vk::CommandBuffer,
    _: u32,
    _: u32,
    _: u32,
    x: u32,
    y: u32,
    z: u32,
) {
    output::command(&format!("dispatch {} {x} {y} {z}", bound(commands)));
}

pub(super) unsafe extern "system" fn dispatch_indirect(
    commands: vk::CommandBuffer,
    _: vk::Buffer,
    _: vk::DeviceSize,
) {
    output::command(&format!("dispatch {} indirect", bound(commands)));
}

pub(super) unsafe extern "system" fn barrier(
    _: vk::CommandBuffer,
    _: vk::PipelineStageFlags,
    _: vk::PipelineStageFlags,
    _: vk::DependencyFlags,
    _: u32,
    _: *const vk::MemoryBarrier<'_>,
    _: u32,
    _: *const vk::BufferMemoryBarrier<'_>,
    _: u32,
    _: *const vk::ImageMemoryBarrier<'_>,
) {
    output::command("barrier");
}

pub(super) unsafe extern "system" fn barrier_2(
    _: vk::CommandBuffer,
    _: *const vk::DependencyInfo<'_>,
) {
    output::command("barrier");
}

pub(super) unsafe extern "system" fn copy(
    _: vk::CommandBuffer,
    _: vk::Buffer,
    _: vk::Buffer,
    count: u32,
    regions: *const vk::BufferCopy,
) {
    // SAFETY: the caller's promise.
    let bytes: u64 = unsafe { slice(regions, count) }.iter().map(|region| region.size).sum();
    output::command(&format!("copy {bytes}"));
}

pub(super) unsafe extern "system" fn copy_2(
    _: vk::CommandBuffer,
    info: *const vk::CopyBufferInfo2<'_>,
) {
    // SAFETY: the caller's promise.
    let info = unsafe { &*info };
    // SAFETY: as above.
    let regions = unsafe { slice(info.p_regions, info.region_count) };
    output::command(&format!("copy {}", regions.iter().map(|region| region.size).sum::<u64>()));
}

pub(super) unsafe extern "system" fn fill(
    _: vk::CommandBuffer,
    _: vk::Buffer,
    _: vk::DeviceSize,
    size: vk::DeviceSize,
    _: u32,
) {
    output::command(&format!("fill {size}"));
}

pub(super) unsafe extern "system" fn update(
    _: vk::CommandBuffer,
    _: vk::Buffer,
    _: vk::DeviceSize,
    size: vk::DeviceSize,
    _: *const c_void,
) {
    output::command(&format!("update {size}"));
}

pub(super) unsafe extern "system" fn begin(
    _: vk::CommandBuffer,
    _: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn end(_: vk::CommandBuffer) -> vk::Result {
    output::command("end");
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn reset(
    _: vk::CommandBuffer,
    _: vk::CommandBufferResetFlags,
) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn reset_pool(
    _: vk::Device,
    _: vk::CommandPool,
    _: vk::CommandPoolResetFlags,
) -> vk::Result {
    vk::Result::SUCCESS
}

/// The driver itself would reset them, and has never begun them.
pub(super) unsafe extern "system" fn free(
    _: vk::Device,
    _: vk::CommandPool,
    _: u32,
    _: *const vk::CommandBuffer,
) {
}

pub(super) unsafe extern "system" fn trim_pool(
    _: vk::Device,
    _: vk::CommandPool,
    _: vk::CommandPoolTrimFlags,
) {
}

pub(super) unsafe extern "system" fn submit(
    _: vk::Queue,
    _: u32,
    _: *const vk::SubmitInfo<'_>,
    _: vk::Fence,
) -> vk::Result {
    output::command("submit");
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn submit_2(
    _: vk::Queue,
    _: u32,
    _: *const vk::SubmitInfo2<'_>,
    _: vk::Fence,
) -> vk::Result {
    output::command("submit");
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn wait_for_queue(_: vk::Queue) -> vk::Result {
    vk::Result::SUCCESS
}

pub(super) unsafe extern "system" fn wait_for_device(_: vk::Device) -> vk::Result {
    vk::Result::SUCCESS
}
