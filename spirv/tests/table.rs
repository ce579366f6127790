//! The generated table agrees with what plans and twins assume.

use std::collections::BTreeSet;

use dml_core::Capabilities;
use dml_core::capabilities::Limit;
use dml_core::kernel::{Feature, KernelDescription, KernelModule, PushField, Shared};
use dml_core::plan::MAX_PUSH_CONSTANT_BYTES;
use dml_spirv::element_wise::{
    AccessPattern, ElementFormula, ElementWise, KernelOperand, MAX_INPUTS,
};
use dml_spirv::{ElementWidth, NativeTypes, kernels};

const SPIRV_MAGIC: [u8; 4] = 0x0723_0203_u32.to_le_bytes();

#[test]
fn names_are_unique_and_spirv_is_spirv() {
    let names: BTreeSet<&str> = kernels::ALL.iter().map(|variant| &*variant.name).collect();
    assert_eq!(names.len(), kernels::ALL.len());
    for variant in kernels::ALL {
        assert!(variant.spirv.starts_with(&SPIRV_MAGIC), "{}", variant.name);
        assert!(variant.spirv.len().is_multiple_of(4), "{}", variant.name);
    }
}

#[test]
fn push_constants_leave_room_on_every_device() {
    for variant in kernels::ALL {
        assert!(
            variant.push_constant_size() as usize <= MAX_PUSH_CONSTANT_BYTES,
            "{}",
            variant.name
        );
    }
}

#[test]
fn no_kernel_binds_more_than_every_device_takes() {
    let limits = Capabilities::vulkan_minimum().limits;
    let operand = KernelOperand { width: ElementWidth::B32, access: AccessPattern::Whole };
    let inputs = vec![operand; MAX_INPUTS];
    let (program, output) = (ElementFormula::default(), operand);
    let linked = ElementWise { program, inputs, output, second: None, outer_dimensions: 0 }
        .variant(NativeTypes::NONE);
    for variant in kernels::ALL.iter().copied().map(Shared::Static).chain([linked.clone()]) {
        for (limit, needed) in variant.needed_limits() {
            assert!(needed <= limits.get(limit), "{}: {}", variant.name, limit.name());
        }
    }
    let needed: Vec<u64> = linked.needed_limits().map(|needed_limit| needed_limit.1).collect();
    assert_eq!(needed, [40, MAX_INPUTS as u64 + 1, 1]);
}

#[test]
fn no_kernel_needs_an_optional_feature() {
    for variant in kernels::ALL {
        assert_eq!(*variant.required_features, [], "{}", variant.name);
    }
}

#[test]
fn the_local_size_can_be_specialized_and_suits_every_device() {
    for variant in kernels::ALL {
        let constants: Vec<_> = variant
            .specialization_constants
            .iter()
            .map(|constant| (constant.id, constant.name, constant.default))
            .collect();
        let expected = [(0, "LOCAL_SIZE", 64), (1, "RUN_LENGTH", 16)];
        let is_scatter = variant.name.starts_with("diagonal_scatter_");
        assert_eq!(constants, expected[..if is_scatter { 1 } else { 2 }], "{}", variant.name);
    }
}

#[test]
fn a_kernel_is_asked_for_by_width() {
    for element_width in ElementWidth::ALL {
        let expected = format!("diagonal_scatter_b{}", element_width.bits());
        assert_eq!(kernels::DIAGONAL_SCATTER.variant(element_width).name, expected);
    }
}

#[test]
fn a_variant_is_identified_by_what_it_is() {
    let one: &KernelModule = kernels::DIAGONAL_SCATTER.variant(ElementWidth::B8);
    assert_eq!(one, &kernels::DIAGONAL_SCATTER_B8);
    assert_ne!(one, &kernels::DIAGONAL_SCATTER_B16);
    const OTHER: &[PushField] = &[PushField::word("other", 0)];
    let it = || one.description().clone();
    assert_eq!(
        one,
        &KernelModule::new(KernelDescription { host: Shared::Static(&|_| Ok(())), ..it() })
    );
    let others = [
        KernelDescription { name: "other".into(), ..it() },
        KernelDescription { spirv: kernels::DIAGONAL_SCATTER_B16.spirv.clone(), ..it() },
        KernelDescription { entry_point: "other", ..it() },
        KernelDescription { bindings: vec![].into(), ..it() },
        KernelDescription { push_fields: OTHER, ..it() },
        KernelDescription { uniform_binding: Some(1), ..it() },
        KernelDescription { specialization_constants: &[], ..it() },
        KernelDescription { required_features: vec![Feature::ShaderInt64].into(), ..it() },
        KernelDescription {
            required_limits: vec![(Limit::MaxPushConstantsSize, 1)].into(),
            ..it()
        },
    ];
    others.into_iter().for_each(|other| assert_ne!(one, &KernelModule::new(other)));
}

#[test]
fn identities_are_all_different_and_the_same_again() {
    let all: BTreeSet<u128> = kernels::ALL.iter().map(|variant| variant.identity()).collect();
    assert_eq!(all.len(), kernels::ALL.len());
    for variant in kernels::ALL {
        // What the compiler has computed, computed again.
        let again = KernelModule::new(variant.description().clone());
        assert_eq!(again.identity(), variant.identity(), "{}", variant.name);
    }
}

#[test]
fn every_window_has_a_base_word_of_its_own() {
    for variant in kernels::ALL {
        let fields = variant.push_fields.iter().filter(|push_field| push_field.takes_base_words());
        let words: u32 = fields.map(|field| field.size / 4).sum();
        assert_eq!(words as usize, variant.bindings.len(), "{}", variant.name);
    }
}
