//! Recording many operators into a caller's command buffer: counted, not promised.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the caller's side, and a counting allocator")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::caller::each_caller;
use common::kernels::{every_kind_of_step, plan, words_of_every_kind_of_step};
use common::{compile, counts, one_at_a_time, try_bind, words};
use counting::allocations;
use dml_fault::Injector;
use dml_vk::ash::vk;
use dml_vk::{BufferUsage, Device, DeviceDesc, RawBufferDesc, access, record_plan};

const OPERATORS: u64 = 1000;
const BYTES: u64 = 512;

/// What compiling and binding on a caller's device allocates and creates; recording does none of it.
const MAKING: [&str; 8] = [
    "vkAllocateMemory",
    "vkAllocateDescriptorSets",
    "vkCreateDescriptorPool",
    "vkCreateDescriptorSetLayout",
    "vkCreatePipelineLayout",
    "vkCreatePipelineCache",
    "vkCreateShaderModule",
    "vkCreateComputePipelines",
];

/// Calls of vkAllocate*, vkCreate* and vkQueueSubmit.
fn makes(injector: &Injector) -> Vec<&'static str> {
    let making = ["vkAllocate", "vkCreate", "vkQueueSubmit"];
    let calls = injector.calls().into_iter().map(dml_fault::EntryPoint::name);
    calls.filter(|name| making.iter().any(|start| name.starts_with(start))).collect()
}

#[test]
fn a_thousand_operators_are_recorded_without_allocating_creating_or_submitting() {
    let _guard = one_at_a_time();
    each_caller(|caller| {
        let data = caller.buffer(BYTES * OPERATORS).unwrap();
        let injector = Injector::new().unwrap();
        let raw = caller.describe(injector.entry_points());
        // SAFETY: what `Caller` states is so, and it outlives everything here.
        let device = unsafe { Device::from_raw(&raw, &DeviceDesc::default()) }.unwrap();
        let usage = BufferUsage::all();
        let desc = RawBufferDesc { handle: data.handle, size: data.size, usage, name: "data" };
        // SAFETY: as above.
        let buffer = unsafe { device.wrap_buffer(&desc) }.unwrap();
        let compiled = compile(&device, plan(BYTES, every_kind_of_step()));
        let bind = |index: u64| try_bind(&compiled, &buffer, index * BYTES, BYTES).unwrap();
        // All of them are in flight at once, each with bindings of its own.
        let tables: Vec<_> = (0..OPERATORS).map(bind).collect();
        let made = makes(&injector);
        assert!(made.len() >= 2 * tables.len(), "binding creates pools and sets, which is counted");
        assert!(made.iter().all(|name| MAKING.contains(name)), "{made:?}");
        injector.arm(None);
        let commands = caller.begin().unwrap();
        let allocated = allocations();
        for table in &tables {
            // SAFETY: the command buffer is recording; the tables are kept until it has completed.
            unsafe { record_plan(commands.raw(), table) };
        }
        assert_eq!(allocations(), allocated);
        assert_eq!(makes(&injector), Vec::<&str>::new());
        assert_eq!(counts(&injector, ["vkCmdDispatch"]), [tables.len()]);
        let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
        let contract = access();
        commands.barrier((contract.stages, contract.outputs), host);
        commands.finish().unwrap();
        let expected = words_of_every_kind_of_step();
        for index in 0..OPERATORS {
            let found = words(&data.bytes(index * BYTES..(index + 1) * BYTES).unwrap());
            assert_eq!(found, expected, "operator {index}");
        }
    });
}
