//! Linked kernels in place: one or both inputs are bound to the output, in one step and in several of which
//! later ones read the results of earlier ones, on the host and on every device.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

mod common;

use common::{OFFSET, buffer, each_device, part};
use dml::vk::{BindingTable, Bindings, CompileInput, Device, Recorder};
use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::plan::{
    Access as Touch, Aliases, BindingRequirement, BoundAt, Cost, Dispatch, Divisions, InPlace,
    KernelKey, Plan, Slot, Step as PlanStep, Window,
};
use dml_core::{Capabilities, Strategy};
use dml_fault::compile;
use dml_spirv::element_wise::{
    AccessPattern, DIMENSIONS, ElementFormula, ElementWise, KernelOperand, MAX_INPUTS,
    OperandRecord, PushConstants, Record,
};
use dml_spirv::functions;
use dml_spirv::twins::PushBlock as _;
use dml_spirv::{ElementWidth, NativeTypes};

/// The number of invocations in a work group.
const LOCAL_SIZE: u32 = 64;
/// The number of elements of every tensor.
const COUNT: u32 = 1024;
/// The bytes of every tensor.
const BYTES: u64 = 4 * COUNT as u64;

/// output\[to\] = A\[from\] + B\[from\], for so many elements.
#[derive(Clone, Copy, Debug)]
struct Add {
    to: u32,
    from: u32,
    count: u32,
}

fn kernel() -> ElementWise {
    let operand = KernelOperand { width: ElementWidth::B32, access: AccessPattern::Whole };
    ElementWise {
        program: ElementFormula::of(&functions::ADD_F32),
        inputs: vec![operand; 2],
        output: operand,
        second: None,
        outer_dimensions: 0,
    }
}

fn record(count: u32) -> Record {
    let mut strides = [0; DIMENSIONS];
    strides[DIMENSIONS - 1] = 1;
    let operand = OperandRecord { start: 0, strides };
    let mut sizes = [1; DIMENSIONS];
    sizes[DIMENSIONS - 1] = count;
    Record { sizes, inputs: [operand; MAX_INPUTS], output: operand, parameters: vec![] }
}

/// The bytes of constants for each step.
const BLOCK: u64 = 1024;

fn step(add: Add, block: u64) -> PlanStep {
    let bytes = |first: u32| u64::from(4 * first)..u64::from(4 * (first + add.count));
    let input = |index| Window {
        slot: Slot::Input(index),
        range: bytes(add.from),
        access: Touch::Read,
        base_word_at: PushConstants::base_word_at(index),
    };
    let output = Window {
        slot: Slot::Output(0),
        range: bytes(add.to),
        access: Touch::Write,
        base_word_at: PushConstants::BASE_WORD_OF_OUTPUT_AT,
    };
    let quads = add.count / 4;
    PlanStep::Dispatch(Dispatch {
        kernel: KernelKey {
            variant: kernel().variant(NativeTypes::NONE),
            specialization: vec![LOCAL_SIZE],
        },
        windows: vec![input(0), input(1), output],
        push_constants: PushConstants { count: quads, ..PushConstants::default() }.to_bytes(),
        uniform: Some(block * BLOCK..(block + 1) * BLOCK),
        groups: [quads.div_ceil(LOCAL_SIZE), 1, 1],
        is_concurrent: false,
        cost: Cost::default(),
    })
}

fn plan(adds: &[Add]) -> Plan {
    let mut constants = Vec::new();
    for (add, end) in adds.iter().zip(1..) {
        let words = record(add.count).words(kernel().skeleton_dimensions());
        constants.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        constants.resize(end * usize::try_from(BLOCK).unwrap(), 0);
    }
    let requirement = |field: &'static str| {
        Some(BindingRequirement {
            field: field.into(),
            size: BYTES,
            alignment: 16,
            bound_at: BoundAt::Execution,
        })
    };
    Plan {
        operator: "ADD",
        strategy: Strategy::Kernel,
        inputs: vec![requirement("ATensor"), requirement("BTensor")],
        outputs: vec![requirement("OutputTensor")],
        init: vec![],
        exec: adds.iter().zip(0..).map(|(add, block)| step(*add, block)).collect(),
        in_place: vec![InPlace::by_same_steps(0, 0), InPlace::by_same_steps(1, 0)],
        temporary_size: 0,
        persistent_size: 0,
        divisions: Divisions::default(),
        constants,
    }
}

/// Whole numbers, whose sums are exact.
fn numbers(index: usize) -> Vec<f32> {
    let first = [1_u16, 5000, 9000][index];
    (0..COUNT).map(|at| f32::from(first + u16::try_from(at).unwrap())).collect()
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The inputs that are bound to the output: A, B, both or none, and the buffers of A, B and the output.
const BINDINGS: [(&[u32], [usize; 3]); 4] =
    [(&[], [0, 1, 2]), (&[0], [0, 1, 0]), (&[1], [0, 1, 1]), (&[0, 1], [0, 0, 0])];

/// The contents of the output's buffer after the steps, in order.
fn expected(adds: &[Add], places: [usize; 3]) -> Vec<u8> {
    let mut buffers = [0, 1, 2].map(numbers);
    let [a, b, output] = places;
    for Add { to, from, count } in adds {
        let read = |buffer: &[f32], at: u32| buffer[(from + at) as usize];
        let sums = (0..*count).map(|at| read(&buffers[a], at) + read(&buffers[b], at));
        let sums: Vec<f32> = sums.collect();
        buffers[output][*to as usize..(to + count) as usize].copy_from_slice(&sums);
    }
    bytes(&buffers[output])
}

fn on_host(plan: &Plan, inputs: &[u32], places: [usize; 3]) -> Vec<u8> {
    let capabilities = Capabilities::vulkan_minimum();
    plan.check(&capabilities).unwrap();
    let aliases = Aliases::new(inputs.iter().map(|input| (*input, 0)));
    let bound = |place: usize| {
        let bytes = bytes(&numbers(place));
        HostBuffer { size: bytes.len() as u64, bytes, offset: 0 }
    };
    let input = |index: usize| {
        let is_output = inputs.iter().any(|input| *input as usize == index);
        (!is_output).then(|| bound(places[index]))
    };
    let mut memory = HostMemory::for_plan(plan);
    memory.inputs = [0, 1].map(input).into();
    memory.outputs = vec![Some(bound(places[2]))];
    memory.aliases = aliases.clone();
    interpret(&plan.exec_with(&aliases).unwrap(), &mut memory, &capabilities).unwrap();
    memory.outputs.remove(0).unwrap().bytes
}

fn on_device(device: &Device, plan: &Plan, places: [usize; 3]) -> Vec<u8> {
    let input = CompileInput { plan: plan.clone(), storage_only: None };
    let compiled = compile(device, input).unwrap();
    let buffers = [0, 1, 2].map(|index| buffer(device, &bytes(&numbers(index))));
    let [a, b, output] = places.map(|place| part(&buffers[place]));
    let bindings = Bindings { inputs: &[a, b], outputs: &[output], ..Bindings::default() };
    let table = BindingTable::new(&compiled, &bindings).unwrap();
    let mut recorder = Recorder::new(device).unwrap();
    recorder.dispatch(&table).unwrap();
    device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
    device.read_buffer(&buffers[places[2]], OFFSET..OFFSET + BYTES).unwrap()
}

fn check(adds: &[Add]) {
    let plan = plan(adds);
    for (inputs, places) in BINDINGS {
        assert!(on_host(&plan, inputs, places) == expected(adds, places), "the host: {inputs:?}");
    }
    each_device(|device| {
        for (inputs, places) in BINDINGS {
            let found = on_device(device, &plan, places);
            assert!(found == expected(adds, places), "{inputs:?}");
        }
    });
}

#[test]
fn either_input_or_both_become_the_output() {
    check(&[Add { to: 0, from: 0, count: COUNT }]);
}

#[test]
fn boxes_become_the_output_one_by_one() {
    let add = |first| Add { to: first, from: first, count: COUNT / 4 };
    check(&[0, 1, 2, 3].map(|index| add(index * COUNT / 4)));
}

#[test]
fn a_step_reads_what_an_earlier_one_wrote_to_the_same_bytes() {
    // Only if an input is the output does each step read the result of the one before it.
    let adds = [1, 2, 3, 4, 5, 6, 7].map(|index| {
        let count = COUNT / 8;
        Add { to: index * count, from: (index - 1) * count, count }
    });
    assert_ne!(expected(&adds, [0, 1, 0]), expected(&adds, [0, 1, 1]));
    check(&adds);
    // And each writes elements that the one before it reads.
    check(&[Add { to: 64, from: 128, count: 64 }, Add { to: 128, from: 256, count: 64 }]);
}
