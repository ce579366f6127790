use dml_core::Capabilities;
use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::plan::{BindingRequirement, BoundAt, Divisions, Plan, Slot};
use dml_core::{Strategy, Tuning};
use dml_reference::Random;
use dml_spirv::ElementWidth;
use dml_spirv::element_wise::MAX_INPUTS;
use dml_spirv::functions::ADD_I32;

use super::*;
use crate::TransferUse;
use crate::ir::space::Operand;
use crate::ir::space::tests::tuples;
use crate::tests::{check_limits, with_window};

/// The sum of all inputs.
fn sum(inputs: usize) -> Computation {
    let mut computation = Computation::copy();
    for input in 1..inputs {
        let before = computation.program.last();
        computation.program.apply(&ADD_I32, [before, Value::Input(input)]);
    }
    if inputs > 1 {
        computation.packed = None;
    }
    computation
}

/// For each coordinate the elements of the inputs, and that of the output.
fn elements(space: &IterationSpace<Slot>) -> Vec<Vec<usize>> {
    let indices = |tuple: Vec<i64>| tuple.into_iter().map(|it| usize::try_from(it).unwrap());
    tuples(space).into_iter().map(|tuple| indices(tuple).collect()).collect()
}

/// A space whose inputs are walked in either direction, or not at all; some are numbers.
fn space(random: &mut Random, width: ElementWidth) -> IterationSpace<Slot> {
    let sizes: [u32; DIMENSIONS] = std::array::from_fn(|at| match at {
        0..4 => random.pick(&[1, 1, 1, 2]),
        _ => random.pick(&[1, 1, 2, 3, 4, 5, 16, 32]),
    });
    let walked = |random: &mut Random, slot, gaps: u32| {
        let unit = random.pick(&[1, 1, 4, 16]);
        let mut next = random.pick(&[1, 1, 1, 2]);
        let mut strides = [0; DIMENSIONS];
        for dimension in (0..DIMENSIONS).rev() {
            strides[dimension] = next;
            next = next * i64::from(sizes[dimension]) + unit * i64::from(random.below(gaps));
        }
        let base = unit * i64::from(random.below(3));
        Operand { strides, ..Operand::at(slot, width, base) }
    };
    let output = walked(random, Slot::Output(0), 2);
    let count = 1 + random.below(4);
    assert!(count as usize <= MAX_INPUTS);
    let inputs = (0..count).map(|index| {
        let mut input = walked(random, Slot::Input(index), 2);
        for (stride, size) in input.strides.iter_mut().zip(sizes) {
            match random.below(6) {
                0 => *stride = 0,
                1 => {
                    input.base += i64::from(size - 1) * *stride;
                    *stride = -*stride;
                }
                _ => {}
            }
        }
        match random.one_in(5) {
            true => Operand::numbers(input.base, input.strides),
            false => input,
        }
    });
    IterationSpace { sizes, inputs: inputs.collect(), output }
}

fn element(bytes: &[u8], width: usize, index: usize) -> u32 {
    let bytes = &bytes[index * width..][..width];
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte))
}

#[test]
fn spaces_of_any_strides_are_computed_in_boxes_of_any_size() {
    let mut random = Random::new("element_wise");
    let mut several = 0;
    for round in 0..600 {
        let width = random.pick(&[ElementWidth::B8, ElementWidth::B16, ElementWidth::B32]);
        let bytes = width.bytes() as usize;
        let space = space(&mut random, width);
        let tuples = elements(&space);
        let sizes: Vec<usize> = (0..=space.inputs.len())
            .map(|it| tuples.iter().map(|tuple| tuple[it] + 1).max().unwrap_or(0) * bytes)
            .map(|size| size.next_multiple_of(4))
            .collect();
        let buffers: Vec<Vec<u8>> = sizes
            .iter()
            .map(|size| (0..*size).map(|_| random.word().to_le_bytes()[0]).collect())
            .collect();
        let (inputs, before) = buffers.split_at(space.inputs.len());
        let mut expected = before[0].clone();
        for tuple in &tuples {
            let (to, from) = tuple.split_last().unwrap();
            let terms = inputs.iter().zip(&space.inputs).zip(from);
            let terms = terms.map(|((input, operand), at)| match operand.buffer {
                Some(_) => element(input, bytes, *at),
                None => u32::try_from(*at).unwrap(),
            });
            let sum = terms.fold(0, u32::wrapping_add);
            expected[to * bytes..][..bytes].copy_from_slice(&sum.to_le_bytes()[..bytes]);
        }
        let capabilities = match round % 4 {
            0 => Capabilities::vulkan_minimum(),
            1 => with_window(64, 16),
            2 => with_window(8, 4),
            _ => with_window(1024, 256),
        };
        let found = run(&space, &capabilities, inputs, &before[0], &mut several);
        assert!(found == expected, "{space:?}");
    }
    assert!(several > 100, "{several}");
}

fn run(
    space: &IterationSpace<Slot>,
    capabilities: &Capabilities,
    inputs: &[Vec<u8>],
    output: &[u8],
    several: &mut u32,
) -> Vec<u8> {
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::StorageOnly };
    let mut constants = Constants::default();
    let computation = sum(inputs.len());
    let exec = steps("TEST", "OutputTensor", space.clone(), &computation, &target, &mut constants);
    let requirement = |bytes: &[u8]| {
        let (size, bound_at) = (bytes.len() as u64, BoundAt::Execution);
        Some(BindingRequirement { field: "Tensor".into(), size, alignment: 16, bound_at })
    };
    let plan = Plan {
        operator: "TEST",
        strategy: Strategy::Kernel,
        inputs: inputs.iter().map(|input| requirement(input)).collect(),
        outputs: vec![requirement(output)],
        init: vec![],
        exec: exec.unwrap(),
        in_place: vec![],
        temporary_size: 0,
        persistent_size: 0,
        divisions: Divisions::default(),
        constants: constants.bytes,
    };
    check_limits(&plan, &target);
    *several += u32::from(plan.exec.len() > 1);
    let bound = |bytes: &[u8]| {
        Some(HostBuffer { bytes: bytes.to_vec(), offset: 0, size: bytes.len() as u64 })
    };
    let mut memory = HostMemory::for_plan(&plan);
    memory.inputs = inputs.iter().map(|input| bound(input)).collect();
    memory.outputs = vec![bound(output)];
    interpret(&plan.exec, &mut memory, capabilities).unwrap();
    memory.outputs.remove(0).unwrap().bytes
}
