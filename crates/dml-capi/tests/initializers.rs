//! Operators that are initialized together, and tables that are submitted together, on every device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "a C program's calls")]

mod common;

use std::ptr;

use common::graph::Graph;
use common::*;
use dml::ash::vk;
use dmlvk::*;

const INPUTS: [[f32; 4]; 2] = [[1.0, 1.0, -5.0, 7.0], [2.0, 3.0, 4.0, 5.0]];
/// With what [`Graph`] adds, where it is above 0.
const RESULTS: [[f32; 4]; 2] = [[2.0, 0.0, 0.0, 7.5], [3.0, 1.0, 7.0, 5.5]];

fn bytes(floats: [f32; 4]) -> Vec<u8> {
    floats.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn part(buffer: DmlVkBuffer, offset: u64, size: u64) -> DmlVkBufferBinding {
    DmlVkBufferBinding { buffer, offset, size }
}

/// Two graphs with an input that is kept, their inputs in one buffer, and room for their outputs.
struct Pair {
    device: DmlVkDevice,
    operators: [DmlVkOperator; 2],
    buffer: DmlVkBuffer,
}

const OUTPUTS: u64 = 512;
const PERSISTENT: u64 = 4096;
const TEMPORARY: u64 = 12_288;

impl Pair {
    fn new(index: usize) -> Self {
        let device = create_device(index, 0, 0);
        let operators = [(); 2].map(|()| Graph::new(1).compiled(device));
        let buffer = create_buffer(device, 16_384);
        for (at, input) in (0..).zip(INPUTS) {
            ok(write(buffer, at * 256, &bytes(input)));
        }
        Self { device, operators, buffer }
    }

    fn input(&self, at: u64) -> DmlVkBufferBinding {
        part(self.buffer, at * 256, 16)
    }

    fn output(&self, at: u64) -> DmlVkBufferBinding {
        part(self.buffer, OUTPUTS + at * 256, 16)
    }

    /// The resources of the `at`-th.
    fn resources(&self, at: u64) -> DmlVkBindings {
        let mut needs = DML_BINDING_PROPERTIES::default();
        // SAFETY: there is a place for them.
        ok(unsafe { dmlvk_get_binding_properties(self.operators[0], &raw mut needs) });
        let resource = |offset, size| match size {
            0 => nothing(),
            size => part(self.buffer, offset, size),
        };
        DmlVkBindings {
            temporary: resource(TEMPORARY, needs.TemporaryResourceSize),
            persistent: resource(PERSISTENT + at * 4096, needs.PersistentResourceSize),
            ..no_bindings()
        }
    }

    fn check_outputs(&self) {
        for (at, result) in (0..).zip(RESULTS) {
            assert_eq!(read(self.buffer, OUTPUTS + at * 256, 16), bytes(result));
        }
    }
}

#[test]
fn operators_are_initialized_by_one_call() {
    for index in 0..device_count() {
        let pair = Pair::new(index);
        let inputs = [pair.input(0), pair.input(1)];
        let array = |at: usize| DmlVkBufferArray {
            binding_count: 1,
            reserved: 0,
            bindings: &raw const inputs[at],
        };
        let arrays = [array(0), array(1)];
        let initialize = |operators: [DmlVkOperator; 2], count| {
            // SAFETY: both arrays have two elements.
            unsafe {
                dmlvk_initialize_operators(pair.device, count, operators.as_ptr(), arrays.as_ptr())
            }
        };
        let twice = [pair.operators[0]; 2];
        refused(initialize(twice, 2), E_INVALIDARG, "twice");
        refused(initialize([ptr::null_mut(); 2], 2), E_INVALIDARG, "null");
        refused(initialize(twice, u32::MAX), E_INVALIDARG, "more than");
        let of_a_later_version = [arrays[0], DmlVkBufferArray { reserved: 7, ..arrays[1] }];
        // SAFETY: both arrays have two elements.
        let code = unsafe {
            let arrays = of_a_later_version.as_ptr();
            dmlvk_initialize_operators(pair.device, 2, pair.operators.as_ptr(), arrays)
        };
        refused(code, E_INVALIDARG, "inputs[1].reserved: 7 (accepted: 0)");
        ok(initialize(pair.operators, 2));
        for (at, operator) in (0..).zip(pair.operators) {
            let (input, output) = (nothing(), pair.output(at));
            // SAFETY: there is one binding each.
            let code = unsafe { dmlvk_execute_operator(operator, &raw const input, 1, &output, 1) };
            ok(code);
        }
        pair.check_outputs();
        destroy(pair.device);
    }
}

#[test]
fn a_table_that_initializes_and_those_that_execute_are_one_submission() {
    for index in 0..device_count() {
        let pair = Pair::new(index);
        let inputs = [pair.input(0), pair.input(1)];
        let initial = |at: u64, input: &DmlVkBufferBinding| DmlVkBindings {
            input_count: 1,
            inputs: ptr::from_ref(input),
            ..pair.resources(at)
        };
        let create = |bindings: &[DmlVkBindings; 2]| {
            let (device, operators) = (pair.device, pair.operators.as_ptr());
            let bindings = bindings.as_ptr();
            // SAFETY: both arrays have two elements, and those of the bindings are alive.
            made(|place| unsafe {
                dmlvk_create_initializer_table(device, 2, operators, bindings, place)
            })
        };
        let same = [initial(0, &inputs[0]), initial(0, &inputs[1])];
        let (code, _) = create(&same);
        refused(code, E_INVALIDARG, "overlap PersistentResource of");
        let (code, initializer) = create(&[initial(0, &inputs[0]), initial(1, &inputs[1])]);
        ok(code);
        let outputs = [pair.output(0), pair.output(1)];
        let none = nothing();
        let execution = |at: usize| {
            let bindings = DmlVkBindings {
                input_count: 1,
                inputs: &raw const none,
                output_count: 1,
                outputs: &raw const outputs[at],
                ..pair.resources(at as u64)
            };
            // SAFETY: what the bindings point to is alive.
            let (code, table) = made(|place| unsafe {
                let operator = pair.operators[at];
                dmlvk_create_binding_table(operator, DMLVK_PHASE_EXECUTE, &bindings, place)
            });
            ok(code);
            table
        };
        let tables = [initializer, execution(0), execution(1)];
        let submit = |semaphores: *const DmlVkSemaphores| {
            let (device, tables) = (pair.device, tables.as_ptr());
            // SAFETY: there are three tables; the semaphores are null or refused.
            made(|place| unsafe { dmlvk_submit_tables(device, 3, tables, semaphores, place) })
        };
        let null = [DmlVkSemaphoreValue { semaphore: vk::Semaphore::null(), value: 1 }];
        let wrong = DmlVkSemaphores {
            struct_size: size_of::<DmlVkSemaphores>().try_into().unwrap(),
            wait_count: 1,
            wait: null.as_ptr(),
            signal: ptr::null(),
            signal_count: 0,
            reserved: 0,
        };
        refused(submit(&raw const wrong).0, E_INVALIDARG, "one of them is null");
        let short = DmlVkSemaphores { struct_size: 8, ..wrong };
        refused(submit(&raw const short).0, E_INVALIDARG, "semaphores.struct_size: 8");
        let (code, submission) = submit(ptr::null());
        ok(code);
        let mut completed = 0;
        // SAFETY: there is a place for the answer.
        ok(unsafe { dmlvk_wait_submission(submission, u64::MAX, &raw mut completed) });
        assert_eq!(completed, 1);
        pair.check_outputs();
        destroy(pair.device);
    }
}
