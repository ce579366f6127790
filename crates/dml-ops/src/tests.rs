//! Every operator's cases, lowered and run by the host interpreter, against its reference.

use std::ops::Range;

use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::plan::{BoundAt, MAX_PUSH_CONSTANT_BYTES, Plan, Slot, Step};
use dml_core::schema::FieldKind;
use dml_core::{Capabilities, DataType, FeatureLevel, Strategy, TensorLayout, Tuning, validate};

use crate::reference::{Case, elements_in, input_bytes};
use crate::{OPERATORS, Operator, Target, TransferUse};

mod huge;

const SENTINEL: u8 = 0xa5;
const GUARD: usize = 64;

/// The kind of a step, for a dispatch the name of its kernel.
pub(crate) fn kind(step: &Step) -> &'static str {
    match step {
        Step::Fill(_) => "fill",
        Step::Update(_) => "update",
        Step::Copy(_) => "copy",
        Step::Dispatch(dispatch) => dispatch.kernel.variant.name,
    }
}

/// The steps of executions by kind.
pub(crate) fn kinds(plan: &Plan) -> Vec<&'static str> {
    plan.exec.iter().map(kind).collect()
}

/// What the output's buffer must hold: bytes that no element covers are as `before`, except that
/// those after the last element may be zeroed up to the next word.
fn expected_bytes(layout: &TensorLayout, elements: &[u64], before: &[u8], found: &[u8]) -> Vec<u8> {
    let mut bytes = before.to_vec();
    let size = (layout.data_type().bits() / 8) as usize;
    for (offset, element) in layout.element_offsets().zip(elements) {
        let start = GUARD + usize::try_from(offset).unwrap() * size;
        bytes[start..start + size].copy_from_slice(&element.to_le_bytes()[..size]);
    }
    let end = GUARD + usize::try_from(layout.span()).unwrap() * size;
    let rounded = GUARD + usize::try_from(layout.minimum_size()).unwrap();
    if found[end..rounded].iter().all(|byte| *byte == 0) {
        bytes[end..rounded].fill(0);
    }
    bytes
}

/// `bytes` bound between guards.
fn guarded(bytes: &[u8]) -> HostBuffer {
    let guard = [SENTINEL; GUARD];
    let size = bytes.len() as u64;
    HostBuffer { bytes: [&guard, bytes, &guard].concat(), offset: GUARD as u64, size }
}

/// Runs a plan as its case says and returns the output's buffer before and after.
fn run(plan: &Plan, case: &Case, inputs: &[Option<Vec<u8>>], alignment: u64) -> [Vec<u8>; 2] {
    let mut memory = HostMemory::for_plan(plan);
    let bound = |wanted: BoundAt| {
        plan.inputs.iter().zip(inputs).map(move |(requirement, bytes)| {
            let now = requirement.as_ref().is_some_and(|it| it.bound_at == wanted);
            bytes.as_ref().filter(|_| now).map(|bytes| guarded(bytes))
        })
    };
    let size = usize::try_from(plan.outputs[0].as_ref().unwrap().size).unwrap();
    memory.persistent.bytes.fill(SENTINEL);
    memory.outputs[0] = None;
    memory.inputs = bound(BoundAt::Initialization).collect();
    interpret(&plan.init, &mut memory, alignment).unwrap();

    let output = match &inputs.first() {
        Some(Some(bytes)) if case.in_place => guarded(bytes),
        _ => guarded(&vec![SENTINEL; size]),
    };
    memory.outputs[0] = Some(output.clone());
    let steps = if case.in_place {
        // That the input is not read shows by its not being there.
        memory.inputs = vec![None; inputs.len()];
        &plan.in_place.as_ref().unwrap().exec
    } else {
        memory.inputs = bound(BoundAt::Execution).collect();
        &plan.exec
    };
    interpret(steps, &mut memory, alignment).unwrap();
    [output.bytes, memory.outputs[0].take().unwrap().bytes]
}

fn accepts(operator: &dyn Operator, data_type: DataType, rank: usize) -> bool {
    let table = operator.schema().table_at(FeatureLevel::HIGHEST).unwrap();
    table.tensors.iter().all(|t| t.data_types.contains(data_type) && t.ranks.contains(rank))
}

fn check_cases(operator: &dyn Operator, data_type: DataType, rank: usize, target: &Target<'_>) {
    for case in operator.reference().cases(data_type, rank) {
        let name = format!("{} {data_type} {rank} {}", operator.schema().name, case.name);
        let validated = validate(&case.operator, FeatureLevel::HIGHEST).expect(&name);
        let layout = validated.required_tensor("OutputTensor").unwrap();
        let layouts: Vec<_> = validated.tensors(FieldKind::Input).map(|(_, it)| it).collect();
        let inputs: Vec<_> = layouts
            .iter()
            .enumerate()
            .map(|(index, layout)| layout.map(|layout| input_bytes(&case, index, layout)))
            .collect();
        let elements = |(layout, bytes): (&Option<&TensorLayout>, &Option<Vec<u8>>)| {
            layout.zip(bytes.as_ref()).map(|(layout, bytes)| elements_in(layout, bytes))
        };
        let elements: Vec<_> = layouts.iter().zip(&inputs).map(elements).collect();
        let reference = operator.reference().outputs(&validated, &elements).unwrap();
        let plan = operator.lower(&validated, target).expect(&name);
        check_limits(&plan, target);
        let alignment = target.capabilities.limits.min_storage_buffer_offset_alignment;
        let [before, found] = run(&plan, &case, &inputs, alignment);
        let expected = expected_bytes(layout, &reference[0], &before, &found);
        assert!(found == expected, "{name} {target:?}");
    }
}

/// That a plan keeps every limit of its target, and that everything it touches is bound.
pub(crate) fn check_limits(plan: &Plan, target: &Target<'_>) {
    assert!(target.transfer == TransferUse::Allowed || plan.is_dispatch_only());
    let size = |slot| match slot {
        Slot::Input(index) => plan.inputs[index as usize].as_ref().unwrap().size,
        Slot::Output(index) => plan.outputs[index as usize].as_ref().unwrap().size,
        Slot::Temporary => plan.temporary_size,
        Slot::Persistent => plan.persistent_size,
        Slot::Constants => plan.constants.len() as u64,
    };
    for step in plan.steps() {
        for used in step.uses() {
            let Range { start, end } = used.range;
            assert!(start < end && end <= size(used.slot), "{used:?}");
        }
        let Step::Dispatch(dispatch) = step else { continue };
        assert!(dispatch.push_constants.len() <= MAX_PUSH_CONSTANT_BYTES);
        let limits = target.capabilities.limits.max_compute_work_group_count;
        assert!(dispatch.groups.iter().zip(limits).all(|(count, limit)| *count <= limit));
        for Range { start, end } in dispatch.windows.iter().map(|window| window.range.clone()) {
            assert!(end - start <= target.max_window(), "{step:?}");
            assert!(start.is_multiple_of(4) && end.is_multiple_of(4), "{step:?}");
        }
    }
}

/// A device whose descriptors show `window` bytes wherever a tensor starts.
pub(crate) fn with_window(window: u64, alignment: u64) -> Capabilities {
    let mut capabilities = Capabilities::vulkan_minimum();
    capabilities.limits.min_storage_buffer_offset_alignment = alignment;
    capabilities.limits.max_storage_buffer_range = window + alignment;
    capabilities
}

fn check_everything(target: &Target<'_>) {
    for operator in OPERATORS {
        for data_type in DataType::ALL {
            for rank in (1..=8).filter(|rank| accepts(*operator, data_type, *rank)) {
                check_cases(*operator, data_type, rank, target);
            }
        }
    }
}

#[test]
fn every_case_lowers_to_what_the_reference_says() {
    let minimum = Capabilities::vulkan_minimum();
    let mut one_dimensional = Capabilities::vulkan_minimum();
    one_dimensional.limits.max_compute_work_group_count = [5, 1, 1];
    let tuning = Tuning::new();
    for (capabilities, tuning, transfer) in [
        (&minimum, tuning, TransferUse::Allowed),
        (&minimum, tuning, TransferUse::StorageOnly),
        (&one_dimensional, tuning.with_local_size(8), TransferUse::StorageOnly),
    ] {
        check_everything(&Target { capabilities, tuning, transfer });
    }
}

/// Every strategy wherever it can serve, with all preferences that move the others out of the way.
#[test]
fn every_case_is_the_same_with_every_strategy() {
    let minimum = Capabilities::vulkan_minimum();
    let small = with_window(268, 256);
    for strategy in Strategy::ALL {
        let tuning = Tuning::new().with_strategy(strategy);
        let short = tuning.with_local_size(8).with_sizes(0, 24, 4);
        for (capabilities, tuning) in [(&minimum, tuning), (&small, short)] {
            check_everything(&Target { capabilities, tuning, transfer: TransferUse::Allowed });
        }
    }
}

fn check_in_boxes(transfer: TransferUse) {
    let small = Tuning::new().with_local_size(8);
    for (window, alignment, tuning) in
        [(64, 16, small), (268, 256, small), (1024, 64, Tuning::new())]
    {
        let capabilities = &with_window(window, alignment);
        check_everything(&Target { capabilities, tuning, transfer });
    }
    let mut one_dimensional = with_window(100, 4);
    one_dimensional.limits.max_compute_work_group_count = [2, 1, 1];
    check_everything(&Target { capabilities: &one_dimensional, tuning: small, transfer });
}

#[test]
fn every_case_is_the_same_in_boxes() {
    check_in_boxes(TransferUse::Allowed);
}

#[test]
fn every_case_is_the_same_in_boxes_of_dispatches_alone() {
    check_in_boxes(TransferUse::StorageOnly);
}
