//! Recording many operators into a caller's command buffer: counted, not promised.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the caller's side, a counting allocator, counted entry points")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::caller::each_caller;
use common::kernels::{plan, ramp};
use common::{compile, words};
use counting::allocations;
use dml_core::plan::{Copy, CopyRegion, Fill, Slot, Step, Update};
use dml_vk::ash::vk;
use dml_vk::{
    BindingTable, Bindings, BufferBinding, BufferUsage, Device, DeviceDesc, EntryPoints,
    RawBufferDesc, access, record_plan,
};

const OPERATORS: u64 = 1000;
const BYTES: u64 = 512;

/// Calls of vkAllocate*, vkCreate* and vkQueueSubmit.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Calls of vkCmd*, so that counting is seen to work while recording.
static DISPATCHES: AtomicUsize = AtomicUsize::new(0);

/// Replacements that count and call the original.
macro_rules! counted {
    ($($module:ident = $vulkan:literal, $pfn:ty, $counter:ident,
       ($($name:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(mod $module {
            use super::*;
            static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

            pub(super) fn hook(original: unsafe extern "system" fn()) -> *const () {
                ORIGINAL.store(original as usize, Ordering::SeqCst);
                counted as *const ()
            }

            unsafe extern "system" fn counted($($name: $kind),*) -> $result {
                $counter.fetch_add(1, Ordering::SeqCst);
                let original = ORIGINAL.load(Ordering::SeqCst);
                // SAFETY: the address is that of the original, stored before any call.
                let original: $pfn = unsafe { std::mem::transmute(original) };
                // SAFETY: the caller keeps the function's own contract.
                unsafe { original($($name),*) }
            }
        })*

        fn counted(name: &CStr, original: unsafe extern "system" fn()) -> Option<*const ()> {
            match name.to_bytes() {
                $($vulkan => Some($module::hook(original)),)*
                _ => None,
            }
        }
    };
}

type Callbacks = *const vk::AllocationCallbacks<'static>;

counted! {
    memory = b"vkAllocateMemory", vk::PFN_vkAllocateMemory, CALLS,
        (a: vk::Device, b: *const vk::MemoryAllocateInfo<'_>, c: Callbacks,
         d: *mut vk::DeviceMemory) -> vk::Result;
    sets = b"vkAllocateDescriptorSets", vk::PFN_vkAllocateDescriptorSets, CALLS,
        (a: vk::Device, b: *const vk::DescriptorSetAllocateInfo<'_>,
         c: *mut vk::DescriptorSet) -> vk::Result;
    set_pool = b"vkCreateDescriptorPool", vk::PFN_vkCreateDescriptorPool, CALLS,
        (a: vk::Device, b: *const vk::DescriptorPoolCreateInfo<'_>, c: Callbacks,
         d: *mut vk::DescriptorPool) -> vk::Result;
    set_layout = b"vkCreateDescriptorSetLayout", vk::PFN_vkCreateDescriptorSetLayout, CALLS,
        (a: vk::Device, b: *const vk::DescriptorSetLayoutCreateInfo<'_>, c: Callbacks,
         d: *mut vk::DescriptorSetLayout) -> vk::Result;
    layout = b"vkCreatePipelineLayout", vk::PFN_vkCreatePipelineLayout, CALLS,
        (a: vk::Device, b: *const vk::PipelineLayoutCreateInfo<'_>, c: Callbacks,
         d: *mut vk::PipelineLayout) -> vk::Result;
    cache = b"vkCreatePipelineCache", vk::PFN_vkCreatePipelineCache, CALLS,
        (a: vk::Device, b: *const vk::PipelineCacheCreateInfo<'_>, c: Callbacks,
         d: *mut vk::PipelineCache) -> vk::Result;
    module = b"vkCreateShaderModule", vk::PFN_vkCreateShaderModule, CALLS,
        (a: vk::Device, b: *const vk::ShaderModuleCreateInfo<'_>, c: Callbacks,
         d: *mut vk::ShaderModule) -> vk::Result;
    pipelines = b"vkCreateComputePipelines", vk::PFN_vkCreateComputePipelines, CALLS,
        (a: vk::Device, b: vk::PipelineCache, c: u32,
         d: *const vk::ComputePipelineCreateInfo<'_>, e: Callbacks,
         f: *mut vk::Pipeline) -> vk::Result;
    dispatch = b"vkCmdDispatch", vk::PFN_vkCmdDispatch, DISPATCHES,
        (a: vk::CommandBuffer, b: u32, c: u32, d: u32) -> ();
}

/// Stands for every other function that allocates, creates or submits: it may be looked up, but
/// neither compiling nor recording on a caller's device calls it.
unsafe extern "system" fn never() {
    std::process::abort();
}

fn hook(name: &CStr, original: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    let function = original?;
    let name_text = name.to_bytes();
    let forbidden: [&[u8]; 3] = [b"vkAllocate", b"vkCreate", b"vkQueueSubmit"];
    let replacement = match counted(name, function) {
        Some(replacement) => replacement,
        None if forbidden.iter().any(|start| name_text.starts_with(start)) => never as *const (),
        None => return original,
    };
    // SAFETY: only the type is erased; the table gives it back under the same name. `never` reads no
    // argument and does not return.
    Some(unsafe { std::mem::transmute::<*const (), unsafe extern "system" fn()>(replacement) })
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
fn a_thousand_operators_are_recorded_without_allocating_creating_or_submitting() {
    each_caller(|caller| {
        let data = caller.buffer(BYTES * OPERATORS);
        // SAFETY: each replacement has its function's signature and calls the original, or aborts.
        let entry_points = unsafe { EntryPoints::replacing(hook) };
        let raw = caller.describe(entry_points);
        // SAFETY: what `Caller` states is so, and it outlives everything here.
        let device = unsafe { Device::from_raw(&raw, &DeviceDesc::default()) }.unwrap();
        let usage = BufferUsage::all();
        let desc = RawBufferDesc { handle: data.handle, size: data.size, usage, name: "data" };
        // SAFETY: as above.
        let buffer = unsafe { device.wrap_buffer(&desc) }.unwrap();
        let compiled = compile(&device, plan(BYTES, every_kind_of_step()));
        let bind = |index: u64| {
            let binding = BufferBinding { buffer: &buffer, offset: index * BYTES, size: BYTES };
            let bindings = Bindings { outputs: &[Some(binding)], ..Bindings::default() };
            BindingTable::new(&compiled, &bindings).unwrap()
        };
        // All of them are in flight at once, each with bindings of its own.
        let tables: Vec<_> = (0..OPERATORS).map(bind).collect();
        let before = CALLS.load(Ordering::SeqCst);
        assert!(before >= 2 * tables.len(), "binding creates pools and sets, which is counted");
        let commands = caller.begin();
        let allocated = allocations();
        let dispatches = DISPATCHES.load(Ordering::SeqCst);
        for table in &tables {
            // SAFETY: the command buffer is recording; the tables are kept until it has completed.
            unsafe { record_plan(commands, table) };
        }
        assert_eq!(allocations(), allocated);
        assert_eq!(CALLS.load(Ordering::SeqCst), before);
        assert_eq!(DISPATCHES.load(Ordering::SeqCst), dispatches + tables.len());
        let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
        let contract = access();
        caller.barrier(commands, (contract.stages, contract.outputs), host);
        caller.finish(commands);
        let mut expected = vec![1; 64];
        expected.extend(50..114);
        expected[..3].copy_from_slice(&[50, 51, 0x0202_0202]);
        for index in 0..OPERATORS {
            let found = words(&data.bytes(index * BYTES..(index + 1) * BYTES));
            assert_eq!(found, expected, "operator {index}");
        }
    });
}
