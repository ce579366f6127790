//! Attention of some queries at a time.

use dml_core::operators::MultiheadAttentionDesc;
use dml_core::{
    Capabilities, DataType, FeatureLevel, MultiheadAttentionMaskType, TensorDesc, Tuning, validate,
};
use dml_reference::{Memory, Signature, run_on_host};

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

/// Of a sequence of so many steps, with twelve heads of 64 elements.
fn of_steps(steps: u32) -> MultiheadAttentionDesc {
    let tensor = || TensorDesc::packed(DataType::Float32, &[1, steps, 12 * 64]);
    MultiheadAttentionDesc {
        query_tensor: Some(tensor()),
        key_tensor: Some(tensor()),
        value_tensor: Some(tensor()),
        stacked_query_key_tensor: None,
        stacked_key_value_tensor: None,
        stacked_query_key_value_tensor: None,
        bias_tensor: None,
        mask_tensor: None,
        relative_position_bias_tensor: None,
        past_key_tensor: None,
        past_value_tensor: None,
        output_tensor: tensor(),
        output_present_key_tensor: None,
        output_present_value_tensor: None,
        scale: 0.125,
        mask_filter_value: 0.0,
        head_count: 12,
        mask_type: MultiheadAttentionMaskType::None,
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
