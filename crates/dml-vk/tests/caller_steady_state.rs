//! Recording many operators into a caller's command buffer makes none of the calls that are counted here.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "the caller's side, and a counting allocator")]

mod common;
#[path = "common/counting.rs"]
mod counting;

use std::ffi::CStr;
use std::sync::Mutex;

use common::caller::{each_caller, finish_for_host};
use common::kernels::{every_kind_of_step, plan, words_of_every_kind_of_step};
use common::{bind, compile, counts, one_at_a_time, try_bind, words};
use counting::allocations;
use dml_fault::Injector;
use dml_vk::ash::vk;
use dml_vk::{BindingTable, Bindings, DeviceDesc, EntryPoints, record_plan};

const OPERATORS: u64 = 1000;
const BYTES: u64 = 512;

/// Calls that compiling and binding on a caller's device make, and recording never does.
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

/// The calls of vkAllocate*, vkCreate* and vkQueueSubmit.
fn makes(injector: &Injector) -> Vec<&'static str> {
    let making = ["vkAllocate", "vkCreate", "vkQueueSubmit"];
    let calls = injector.calls().into_iter().map(dml_fault::EntryPoint::name);
    calls.filter(|name| making.iter().any(|start| name.starts_with(start))).collect()
}

#[test]
fn a_thousand_operators_are_recorded_without_allocating_creating_or_submitting() {
    let _guard = one_at_a_time();
    each_caller(|caller| {
        let injector = Injector::new().unwrap();
        let device = caller.wrap(injector.entry_points(), false, &DeviceDesc::default()).unwrap();
        let buffer = caller.wrapped_buffer(&device, BYTES * OPERATORS).unwrap();
        let compiled = compile(&device, plan(BYTES, every_kind_of_step()));
        let bind = |index: u64| try_bind(&compiled, &buffer, index * BYTES, BYTES).unwrap();
        // All of them are in flight at once, each with its own bindings.
        let tables: Vec<_> = (0..OPERATORS).map(bind).collect();
        let made = makes(&injector);
        assert!(made.iter().all(|name| MAKING.contains(name)), "{made:?}");
        let pools = counts(&injector, ["vkCreateDescriptorPool", "vkAllocateDescriptorSets"]);
        assert!((1..=10).contains(&pools[0]) && pools[0] == pools[1], "{pools:?}");
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
        finish_for_host(commands);
        let expected = words_of_every_kind_of_step();
        for index in 0..OPERATORS {
            let found =
                words(&caller.bytes(buffer.raw(), index * BYTES..(index + 1) * BYTES).unwrap());
            assert_eq!(found, expected, "operator {index}");
        }
        // Binding again takes the sets that are free now.
        drop(tables);
        injector.arm(None);
        let tables: Vec<_> = (0..OPERATORS).map(bind).collect();
        assert_eq!(makes(&injector), Vec::<&str>::new());
        drop(tables);
    });
}

/// Names of the functions that have been looked up: none while recording.
static LOOKED_UP: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(name: &CStr, original: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
    LOOKED_UP.lock().unwrap().push(name.to_string_lossy().into_owned());
    original
}

#[test]
fn recording_looks_nothing_up_and_initialization_allocates_nothing_either() {
    // SAFETY: every original is returned unchanged.
    let entry_points = unsafe { EntryPoints::replacing(note) };
    each_caller(|caller| {
        let device = caller.wrap(entry_points.clone(), false, &DeviceDesc::default()).unwrap();
        let buffer = caller.wrapped_buffer(&device, BYTES).unwrap();
        let compiled = compile(&device, plan(BYTES, every_kind_of_step()));
        let initialization =
            BindingTable::for_initialization(&compiled, &Bindings::default()).unwrap();
        let table = bind(&compiled, &buffer);
        let commands = caller.begin().unwrap();
        let looked_up = LOOKED_UP.lock().unwrap().len();
        assert!(looked_up > 0);
        let before = allocations();
        for table in [&initialization, &table] {
            // SAFETY: the command buffer is recording; the tables are kept until it has completed.
            unsafe { record_plan(commands.raw(), table) };
        }
        assert_eq!(allocations(), before);
        assert_eq!(LOOKED_UP.lock().unwrap().len(), looked_up);
        finish_for_host(commands);
        let found = words(&caller.bytes(buffer.raw(), 0..BYTES).unwrap());
        assert_eq!(found, words_of_every_kind_of_step());
    });
}
