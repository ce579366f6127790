//! Attention of some queries at a time.

use dml_core::operators::MultiheadAttentionDesc;
use dml_core::plan::{Plan, Step};
use dml_core::{Capabilities, DataType, FeatureLevel, Strategy, TensorDesc, Tuning, validate};
use dml_reference::{Memory, Signature, descriptors, run_on_host};

use super::{OPERATORS, lowering};
use crate::schedule;
use crate::tests::reference;
use crate::{Target, TransferUse};

#[test]
fn queries_that_are_answered_apart_find_the_same() {
    let capabilities = &Capabilities::vulkan_minimum();
    let target = &Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let mut compared = 0;
    for operator in OPERATORS {
        let parameters = operator.schema().type_parameters().map(|field| match field.name {
            "OutputTensor" => DataType::Float32,
            _ => DataType::Int32,
        });
        let signature = Signature { types: parameters.collect(), rank: 5 };
        for case in reference(operator).cases(&signature) {
            let validated = validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
            let memory = Memory::new(reference(operator), &validated, &case).unwrap();
            // As they are recorded, like the parts.
            let recorded = crate::implementation(&validated).unwrap();
            let recorded = recorded.recorded(&validated, target).unwrap();
            let whole = schedule::plan(&recorded, target).unwrap();
            let program = lowering::in_parts(&validated, target, 8).unwrap();
            let plan = schedule::plan(&program, target).unwrap();
            if plan.steps().count() > whole.steps().count() {
                let after = run_on_host(&plan, &case.aliases(), &memory, capabilities).unwrap();
                memory.check(&after).expect(&case.name);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 10);
}

/// Attention of a sequence of so many steps, with twelve heads of 64 elements.
fn of_steps(steps: u32) -> MultiheadAttentionDesc {
    let tensor = || TensorDesc::packed(DataType::Float32, &[1, steps, 12 * 64]);
    MultiheadAttentionDesc {
        scale: 0.125,
        ..descriptors::attention([tensor(), tensor(), tensor(), tensor()], 12)
    }
}

#[test]
fn a_long_sequence_has_no_place_for_all_its_scores() {
    let capabilities = &Capabilities::vulkan_minimum();
    let target = &Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    let temporary = |steps: u32| {
        let validated = validate(&of_steps(steps).into(), FeatureLevel::HIGHEST).unwrap();
        crate::lower(&validated, target).unwrap().temporary_size
    };
    // Scores and powers of 4 M each, and as many words as queries, keys and values have, at most.
    let most = |steps: u64| 4 * (2 * (1 << 22) + 4 * steps * 12 * 64);
    for steps in [1024, 4096, 16_384] {
        let found = temporary(steps);
        assert!(found <= most(steps.into()), "{steps}: {found}");
    }
    // All scores alone would be 768 MiB.
    assert!(temporary(4096) < 72 << 20);
}

/// The least device with a tuning.
fn target(capabilities: &Capabilities, tuning: Tuning) -> Target<'_> {
    Target { capabilities, tuning, transfer: TransferUse::Allowed }
}

/// The names of the kernels that a plan dispatches.
fn kernels(plan: &Plan) -> Vec<String> {
    let kernel = |step: &Step| match step {
        Step::Dispatch(dispatch) => Some(dispatch.kernel.variant.name.to_string()),
        _ => None,
    };
    plan.exec.iter().filter_map(kernel).collect()
}

fn is_attention(kernel: &str) -> bool {
    kernel.starts_with("attention_")
}

#[test]
fn one_kernel_has_the_bits_of_its_members() {
    let least = Capabilities::vulkan_minimum();
    let groups = target(&least, Tuning::new().with_strategy(Strategy::RowGroups));
    let alone = target(&least, Tuning::new());
    let mut fused = 0;
    for operator in OPERATORS {
        for data_type in [DataType::Float32, DataType::Float16] {
            let parameters = operator.schema().type_parameters().map(|field| match field.name {
                "OutputTensor" => data_type,
                _ => DataType::Int32,
            });
            let signature = Signature { types: parameters.collect(), rank: 5 };
            for case in reference(operator).cases(&signature) {
                let validated = validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
                let memory = Memory::new(reference(operator), &validated, &case).unwrap();
                let [one, several] = [&groups, &alone].map(|target| {
                    let plan = crate::lower(&validated, target).unwrap();
                    let after = run_on_host(&plan, &case.aliases(), &memory, target.capabilities);
                    let after = after.unwrap();
                    memory.check(&after).expect(&case.name);
                    (plan, after)
                });
                fused += usize::from(kernels(&one.0).iter().any(|it| is_attention(it)));
                assert!(one.1.outputs == several.1.outputs, "{}", case.name);
            }
        }
    }
    assert!(fused > 20, "{fused}");
}

#[test]
fn a_long_sequence_is_one_dispatch_on_a_gpu() {
    let least = Capabilities::vulkan_minimum();
    let target = target(&least, Tuning::new().with_shared_tiles());
    let validated = validate(&of_steps(1024).into(), FeatureLevel::HIGHEST).unwrap();
    let plan = crate::lower(&validated, &target).unwrap();
    assert!(matches!(kernels(&plan).as_slice(), [it] if is_attention(it)), "{:?}", kernels(&plan));
    assert_eq!(plan.temporary_size, 0);
}

/// A block of one query would be added up as a vector, and few sums of many keys in parts, in another order than a GPU's.
#[test]
fn a_gpu_adds_in_the_order_of_blocks_of_queries() {
    let mut card = Capabilities::vulkan_minimum();
    card.limits.max_storage_buffer_range = 1 << 30;
    let [cpu, gpu] =
        [Tuning::new(), Tuning::new().with_shared_tiles()].map(|tuning| target(&card, tuning));
    let mut fused = 0;
    // With 12 heads, 4 Mi scores are those of 336 queries and 1,040 keys.
    for steps in [64, 337, 592, 1040, 1041, 2048, 8192] {
        let validated = validate(&of_steps(steps).into(), FeatureLevel::HIGHEST).unwrap();
        let on_gpu = kernels(&crate::lower(&validated, &gpu).unwrap());
        if on_gpu.iter().any(|it| is_attention(it)) {
            fused += 1;
            let on_cpu = kernels(&crate::lower(&validated, &cpu).unwrap());
            // Each block has two products, neither of which is reduced or added up in parts.
            let products = on_cpu.iter().filter(|it| it.starts_with("product_")).count();
            let softmaxes = on_cpu.iter().filter(|it| it.contains("greatest_f32")).count();
            assert_eq!(products, 2 * softmaxes, "{steps}: {on_cpu:?}");
            assert!(on_cpu.iter().all(|it| !it.contains("rounded_sum")), "{steps}: {on_cpu:?}");
        }
    }
    assert_eq!(fused, 6);
}
