//! Caps lower capabilities, and report shortfalls.

use super::*;
use crate::capabilities::Features;

/// A device with all features, and with limits far above the minimum.
fn rich() -> Capabilities {
    let features = Features::ALL;
    let mut limits = Capabilities::vulkan_minimum().limits;
    for limit in Limit::ALL {
        limits = limits.with(limit, 1 << 30);
    }
    Capabilities { features, limits: limits.with(Limit::MinStorageBufferOffsetAlignment, 16) }
}

/// Whether `other` has every feature of `one`, and limits that are at least as good.
fn is_at_most(one: &Capabilities, other: &Capabilities) -> bool {
    one.features.iter().all(|feature| other.features.has(feature))
        && Limit::ALL.into_iter().all(|limit| {
            let (value, most) = (one.limits.get(limit), other.limits.get(limit));
            limit.lower(value, most) == value
        })
}

#[test]
fn no_cap_changes_nothing() {
    let capped = CapabilityCap::NONE.apply(&rich());
    assert_eq!(capped, CapResult { capabilities: rich(), shortfalls: vec![] });
    assert_eq!(CapabilityCap::default(), CapabilityCap::NONE);
}

#[test]
fn every_single_limit_and_feature_only_lowers() {
    for host in [rich(), Capabilities::vulkan_minimum()] {
        for limit in Limit::ALL {
            for value in [1, 16, 64, 256, 65_535, 1 << 40] {
                let Ok(cap) = CapabilityCap::NONE.with_limit(limit, value) else { continue };
                let CapResult { capabilities, shortfalls } = cap.apply(&host);
                assert!(is_at_most(&capabilities, &host), "{} {value}", limit.name());
                let is_exact = capabilities.limits.get(limit) == value;
                assert_eq!(shortfalls.is_empty(), is_exact, "{} {value}", limit.name());
            }
        }
        for feature in Feature::ALL {
            for offered in [false, true] {
                let cap = CapabilityCap::NONE.with_feature(feature, offered);
                let CapResult { capabilities, shortfalls } = cap.apply(&host);
                assert!(is_at_most(&capabilities, &host), "{feature}");
                let is_exact = capabilities.features.has(feature) == offered;
                assert_eq!(shortfalls.is_empty(), is_exact, "{feature}");
            }
        }
    }
}

#[test]
fn an_alignment_is_lowered_by_raising_it() {
    let limit = Limit::MinStorageBufferOffsetAlignment;
    let aligned = |value| CapabilityCap::NONE.with_limit(limit, value).unwrap().apply(&rich());
    assert_eq!(aligned(256).capabilities.limits.min_storage_buffer_offset_alignment, 256);
    assert_eq!(aligned(4).capabilities.limits.min_storage_buffer_offset_alignment, 16);
    let shortfall = Shortfall::Limit { limit, wanted: 4, available: 16 };
    assert_eq!(aligned(4).shortfalls, [shortfall]);
    assert_eq!(shortfall.to_string(), "minStorageBufferOffsetAlignment 4 (it is 16)");
}

#[test]
fn what_the_device_lacks_is_named() {
    let cap = CapabilityCap::NONE
        .with_feature(Feature::ShaderInt64, true)
        .with_api_version(ApiVersion::new(1, 3));
    let shortfalls = cap.apply(&Capabilities::vulkan_minimum()).shortfalls;
    assert_eq!(shortfalls[0].to_string(), "shaderInt64 (not offered)");
    let old = cap.api_version_shortfall(ApiVersion::new(1, 1)).unwrap();
    assert_eq!(old.to_string(), "Vulkan 1.3 (it is 1.1)");
    assert_eq!(cap.api_version_shortfall(ApiVersion::new(1, 3)), None);
}

#[test]
fn without_a_host_what_is_not_stated_is_the_least() {
    assert_eq!(CapabilityCap::NONE.alone(), Capabilities::vulkan_minimum());
    let cap = CapabilityCap::NONE
        .with_feature(Feature::ShaderFloat64, true)
        .with_limit(Limit::MaxMemoryAllocationSize, 1 << 31)
        .and_then(|cap| cap.with_limit(Limit::SubgroupSize, 32))
        .unwrap();
    let alone = cap.alone();
    assert_eq!(alone.features, Features::LEAST.with(Feature::ShaderFloat64, true));
    assert_eq!(alone.limits.max_buffer_size, 1 << 31);
    assert_eq!((alone.limits.min_subgroup_size, alone.limits.max_subgroup_size), (32, 32));
}

#[test]
fn what_a_submission_needs_is_no_feature_that_a_kernel_could_use() {
    let capped = CapabilityCap::NONE.without_features().apply(&rich());
    assert_eq!(capped.capabilities.features, Features::LEAST);
    assert!(capped.shortfalls.is_empty());
}
