//! Every operator's cases, lowered and run by the host interpreter, against its reference.

use dml_core::host::{HostBuffer, HostMemory, interpret};
use dml_core::plan::{MAX_PUSH_CONSTANT_BYTES, Plan, Step};
use dml_core::{Capabilities, DataType, FeatureLevel, TensorLayout, Traits, validate};

use crate::{OPERATORS, Operator, Target, TransferUse};

const SENTINEL: u8 = 0xa5;
const GUARD: usize = 64;

/// The steps of a plan by kind, dispatches by the name of their kernel.
pub(crate) fn kinds(plan: &Plan) -> Vec<&'static str> {
    let kind = |step: &Step| match step {
        Step::Fill(_) => "fill",
        Step::Update(_) => "update",
        Step::Copy(_) => "copy",
        Step::Dispatch(dispatch) => dispatch.kernel.variant.name,
    };
    plan.exec.iter().map(kind).collect()
}

/// What the output's buffer must hold: guards and padding keep the sentinel, except that the bytes
/// after the last element may be zeroed up to the next word.
fn expected_bytes(layout: &TensorLayout, elements: &[u64], found: &[u8]) -> Vec<u8> {
    let mut bytes = vec![SENTINEL; found.len()];
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

fn run(plan: &Plan, alignment: u64) -> Vec<u8> {
    let size = plan.outputs[0].as_ref().unwrap().size;
    let mut memory = HostMemory::for_plan(plan);
    memory.outputs[0] = Some(HostBuffer {
        bytes: vec![SENTINEL; GUARD * 2 + usize::try_from(size).unwrap()],
        offset: GUARD as u64,
        size,
    });
    interpret(&plan.exec, &mut memory, alignment).unwrap();
    memory.outputs[0].take().unwrap().bytes
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
        let reference = operator.reference().outputs(&validated, &[]).unwrap();
        let plan = operator.lower(&validated, target).expect(&name);
        check_limits(&plan, target);
        let found = run(&plan, target.capabilities.limits.min_storage_buffer_offset_alignment);
        assert!(found == expected_bytes(layout, &reference[0], &found), "{name} {target:?}");
    }
}

fn check_limits(plan: &Plan, target: &Target<'_>) {
    assert!(target.transfer == TransferUse::Allowed || plan.is_dispatch_only());
    for step in plan.init.iter().chain(&plan.exec) {
        let Step::Dispatch(dispatch) = step else { continue };
        assert!(dispatch.push_constants.len() <= MAX_PUSH_CONSTANT_BYTES);
        let limits = target.capabilities.limits.max_compute_work_group_count;
        assert!(dispatch.groups.iter().zip(limits).all(|(count, limit)| *count <= limit));
    }
}

#[test]
fn every_case_lowers_to_what_the_reference_says() {
    let minimum = Capabilities::vulkan_minimum();
    let mut one_dimensional = Capabilities::vulkan_minimum();
    one_dimensional.limits.max_compute_work_group_count = [5, 1, 1];
    let targets = [
        (&minimum, Traits::new(), TransferUse::Allowed),
        (&minimum, Traits::new(), TransferUse::StorageOnly),
        (&one_dimensional, Traits::new().with_local_size(8), TransferUse::StorageOnly),
    ];
    for operator in OPERATORS {
        for (data_type, rank) in
            DataType::ALL.into_iter().flat_map(|t| (1..=8).map(move |r| (t, r)))
        {
            if accepts(*operator, data_type, rank) {
                for (capabilities, traits, transfer) in targets {
                    check_cases(
                        *operator,
                        data_type,
                        rank,
                        &Target { capabilities, traits, transfer },
                    );
                }
            }
        }
    }
}
