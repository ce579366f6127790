//! The generated table agrees with what plans and twins assume.

use std::collections::BTreeSet;

use dml_core::kernel::KernelVariant;
use dml_core::plan::MAX_PUSH_CONSTANT_BYTES;
use dml_spirv::{Family, Kernel, kernels, twins};

const SPIRV_MAGIC: [u8; 4] = 0x0723_0203_u32.to_le_bytes();

#[test]
fn names_are_unique_and_spirv_is_spirv() {
    let names: BTreeSet<&str> = kernels::ALL.iter().map(|variant| variant.name).collect();
    assert_eq!(names.len(), kernels::ALL.len());
    for variant in kernels::ALL {
        assert!(variant.spirv.starts_with(&SPIRV_MAGIC), "{}", variant.name);
        assert!(variant.spirv.len().is_multiple_of(4), "{}", variant.name);
    }
}

#[test]
fn push_constants_leave_room_on_every_device() {
    for variant in kernels::ALL {
        assert!(variant.push_constant_size as usize <= MAX_PUSH_CONSTANT_BYTES, "{}", variant.name);
    }
}

#[test]
fn no_kernel_needs_an_optional_feature() {
    for variant in kernels::ALL {
        assert_eq!(variant.required_features, [], "{}", variant.name);
    }
}

#[test]
fn the_local_size_can_be_specialized_and_suits_every_device() {
    for variant in kernels::ALL {
        let [local_size] = variant.specialization_constants else {
            panic!("{}: {:?}", variant.name, variant.specialization_constants);
        };
        assert_eq!((local_size.id, local_size.name, local_size.default), (0, "LOCAL_SIZE", 64));
    }
}

#[test]
fn each_family_has_its_own_variant() {
    let kernels: [(&str, &Kernel); 2] = [
        ("diagonal_scatter", &kernels::DIAGONAL_SCATTER),
        ("diagonal_write", &kernels::DIAGONAL_WRITE),
    ];
    for (name, kernel) in kernels {
        for family in Family::ALL {
            let expected = format!("{name}_b{}", family.bits());
            assert_eq!(kernel.variant(family).name, expected);
        }
    }
    assert_eq!(kernels::ALL.len(), kernels.len() * Family::ALL.len());
}

#[test]
fn push_constants_of_twins_are_as_long_as_those_of_shaders() {
    let check = |kernel: &Kernel, words: usize, base_word_at: u32| {
        let sizes = Family::ALL.map(|family| kernel.variant(family).push_constant_size);
        assert_eq!(sizes.map(|size| size as usize), [words * 4; 4]);
        assert_eq!(base_word_at, 0);
    };
    use twins::{diagonal_scatter, diagonal_write};
    check(
        &kernels::DIAGONAL_SCATTER,
        diagonal_scatter::PushConstants::WORDS,
        diagonal_scatter::PushConstants::BASE_WORD_AT,
    );
    check(
        &kernels::DIAGONAL_WRITE,
        diagonal_write::PushConstants::WORDS,
        diagonal_write::PushConstants::BASE_WORD_AT,
    );
}

#[test]
fn a_variant_is_identified_by_its_name() {
    let one: &KernelVariant = kernels::DIAGONAL_SCATTER.variant(Family::B8);
    assert_eq!(one, &kernels::DIAGONAL_SCATTER_B8);
    assert_ne!(one, &kernels::DIAGONAL_SCATTER_B16);
}
