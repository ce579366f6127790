//! Vulkan's structures of features and properties, from the rows of
//! [`feature_table`](dml_core::feature_table): to ask a device with, and to create one with.
#![allow(non_snake_case, reason = "a structure's name is the name of the member that holds it")]

use std::collections::HashSet;
use std::ffi::CString;
use std::ptr;

use ash::vk;
use dml_core::capabilities::{Extension, Feature, Features};

use crate::instance::info::packed_version;

macro_rules! structures {
    (
        basic { $($basic:ident = $basic_number:literal, $basic_name:literal, $basic_member:ident,
            $basic_enabling:ident, [$($basic_capability:tt)*];)* }
        extended [
            chained {
                $($structure:ident of $extension:literal $(since $major:literal, $minor:literal)? {
                    $($feature:ident = $number:literal, $name:literal, $member:ident,
                        $enabling:ident, [$($capability:tt)*];)*
                })*
            }
            properties {
                $($properties:ident of $brought:literal $(since $since:literal, $then:literal)? {
                    $($property:ident = $property_number:literal, $property_name:literal,
                        $property_member:ident, $property_enabling:ident,
                        [$($property_capability:tt)*];)*
                })*
            }
        ]
        operations { $($operation:ident = $operation_number:literal, $operation_name:literal,
            $bit:ident, $operation_enabling:ident, [$($operation_capability:tt)*];)* }
    ) => {
        /// The feature structures that vkGetPhysicalDeviceFeatures2 fills and vkCreateDevice takes.
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct FeatureStructures {
            basic: vk::PhysicalDeviceFeatures,
            $($structure: vk::$structure<'static>,)*
        }

        impl FeatureStructures {
            /// The structures that enable `features`.
            pub(crate) fn enabling(features: Features) -> Self {
                let mut all = Self::default();
                $(all.basic.$basic_member = features.has(Feature::$basic).into();)*
                $($(all.$structure.$member = features.has(Feature::$feature).into();)*)*
                all
            }

            /// The features that the structures report.
            pub(crate) fn features(&self) -> Features {
                Features::NONE
                    $(.with(Feature::$basic, self.basic.$basic_member == vk::TRUE))*
                    $($(.with(Feature::$feature, self.$structure.$member == vk::TRUE))*)*
            }

            /// A chain of all structures that have a feature in `chosen`.
            pub(crate) fn chain(&mut self, chosen: Features) -> vk::PhysicalDeviceFeatures2<'_> {
                let mut chain = vk::PhysicalDeviceFeatures2::default().features(self.basic);
                $(if [$(Feature::$feature),*].iter().any(|it| chosen.has(*it)) {
                    // The structure that it was chained to before may no longer exist.
                    self.$structure.p_next = ptr::null_mut();
                    chain = chain.push_next(&mut self.$structure);
                })*
                chain
            }

            /// Stores the answers of `call` to a chain of the structures that have a feature in `known`.
            pub(crate) fn answered(
                known: Features,
                call: impl FnOnce(&mut vk::PhysicalDeviceFeatures2<'_>),
            ) -> Self {
                let mut all = Self::default();
                let mut chain = all.chain(known);
                call(&mut chain);
                all.basic = chain.features;
                all
            }
        }

        /// The property structures about features, which vkGetPhysicalDeviceProperties2 fills.
        #[derive(Default)]
        pub(crate) struct PropertyStructures {
            /// Properties of subgroups.
            pub(crate) subgroup: vk::PhysicalDeviceSubgroupProperties<'static>,
            $($properties: vk::$properties<'static>,)*
        }

        impl PropertyStructures {
            /// Chains all structures that a device knows to `chain`: those with a feature in `known`.
            pub(crate) fn chain<'a>(
                &'a mut self,
                known: Features,
                chain: vk::PhysicalDeviceProperties2<'a>,
            ) -> vk::PhysicalDeviceProperties2<'a> {
                let mut chain = chain.push_next(&mut self.subgroup);
                $(if [$(Feature::$property),*].iter().any(|it| known.has(*it)) {
                    chain = chain.push_next(&mut self.$properties);
                })*
                chain
            }

            /// The features that the structures report for compute shaders.
            pub(crate) fn features(&self) -> Features {
                let compute = vk::ShaderStageFlags::COMPUTE;
                let has_subgroups = self.subgroup.supported_stages.contains(compute);
                let has = |bit| has_subgroups && self.subgroup.supported_operations.contains(bit);
                let all = Features::NONE
                    $($(.with(
                        Feature::$property,
                        self.$properties.$property_member == vk::TRUE,
                    ))*)*
                    $(.with(Feature::$operation, has(vk::SubgroupFeatureFlags::$bit)))*;
                declared_together(all, &self.PhysicalDeviceFloatControlsProperties)
            }
        }
    };
}

dml_core::feature_table!(structures);

/// Removes float modes of 16 bits that the device does not allow beside those of 32 bits. Kernels round both
/// to nearest where they can, and declare no mode for subnormal numbers of 32 bits.
fn declared_together(
    features: Features,
    controls: &vk::PhysicalDeviceFloatControlsProperties<'_>,
) -> Features {
    const NONE: vk::ShaderFloatControlsIndependence = vk::ShaderFloatControlsIndependence::NONE;
    let rounds_alike = features.has(Feature::ShaderRoundingModeRteFloat32)
        || controls.rounding_mode_independence != NONE;
    let preserves_alone = controls.denorm_behavior_independence != NONE;
    let keep = |features: Features, feature: Feature, is_allowed: bool| {
        features.with(feature, is_allowed && features.has(feature))
    };
    let features = keep(features, Feature::ShaderRoundingModeRteFloat16, rounds_alike);
    keep(features, Feature::ShaderDenormPreserveFloat16, preserves_alone)
}

/// The features whose structures a device of `version` with these extensions knows.
pub(crate) fn known(version: u32, extensions: &HashSet<CString>) -> Features {
    let is_known =
        |extension: Extension| is_core(extension, version) || extensions.contains(extension.name);
    Feature::ALL.into_iter().filter(|it| it.extension().is_none_or(is_known)).collect()
}

/// Whether `extension` is part of the core of `version`.
pub(crate) fn is_core(extension: Extension, version: u32) -> bool {
    extension.promoted.is_some_and(|promoted| version >= packed_version(promoted))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every feature but those that are properties, of which nothing can be enabled.
    fn enabled() -> Features {
        FeatureStructures::enabling(Features::ALL).features()
    }

    #[test]
    fn each_feature_is_a_member_of_one_structure_or_a_property() {
        for feature in Feature::ALL {
            let alone = Features::NONE.with(feature, true);
            let found = FeatureStructures::enabling(alone).features();
            assert_eq!(found, if enabled().has(feature) { alone } else { Features::NONE });
        }
        let properties = PropertyStructures {
            subgroup: vk::PhysicalDeviceSubgroupProperties {
                supported_stages: vk::ShaderStageFlags::COMPUTE,
                supported_operations: vk::SubgroupFeatureFlags::from_raw(u32::MAX),
                ..Default::default()
            },
            PhysicalDeviceFloatControlsProperties: vk::PhysicalDeviceFloatControlsProperties {
                shader_rounding_mode_rte_float16: 1,
                shader_rounding_mode_rte_float32: 1,
                shader_denorm_preserve_float16: 1,
                shader_denorm_preserve_float32: 1,
                shader_signed_zero_inf_nan_preserve_float16: 1,
                shader_signed_zero_inf_nan_preserve_float32: 1,
                ..Default::default()
            },
        };
        assert_eq!(properties.features(), Features::ALL.without(enabled()));
        let elsewhere = vk::PhysicalDeviceSubgroupProperties {
            supported_stages: vk::ShaderStageFlags::FRAGMENT,
            ..properties.subgroup
        };
        let properties = PropertyStructures { subgroup: elsewhere, ..properties };
        assert!(!properties.features().has(Feature::SubgroupShuffle));
    }

    #[test]
    fn modes_of_16_bits_are_left_out_where_widths_depend_on_each_other() {
        let dependent = vk::PhysicalDeviceFloatControlsProperties::default()
            .rounding_mode_independence(vk::ShaderFloatControlsIndependence::NONE)
            .denorm_behavior_independence(vk::ShaderFloatControlsIndependence::NONE);
        let both = [Feature::ShaderRoundingModeRteFloat16, Feature::ShaderRoundingModeRteFloat32];
        let both: Features = both.into_iter().collect();
        let preserving = both.with(Feature::ShaderDenormPreserveFloat16, true);
        assert_eq!(declared_together(preserving, &dependent), both);
        let alone = both.with(Feature::ShaderRoundingModeRteFloat32, false);
        assert_eq!(declared_together(alone, &dependent), Features::NONE);
        let free = vk::PhysicalDeviceFloatControlsProperties::default();
        assert_eq!(declared_together(preserving, &free), preserving);
    }

    /// How many structures follow the first one of `chain`.
    fn length(chain: &vk::PhysicalDeviceFeatures2<'_>) -> usize {
        let mut count = 0;
        let mut next = chain.p_next.cast::<vk::BaseOutStructure<'_>>();
        while !next.is_null() {
            count += 1;
            // SAFETY: the chain is of structures that are alive, and each begins like this.
            next = unsafe { (*next).p_next };
        }
        count
    }

    #[test]
    fn only_structures_of_chosen_features_are_chained() {
        let mut all = FeatureStructures::enabling(Features::ALL);
        let of = |features: &[Feature]| features.iter().copied().collect::<Features>();
        let chosen = of(&[Feature::ShaderInt8, Feature::ShaderFloat16, Feature::ShaderInt64]);
        for _ in 0..2 {
            assert_eq!(length(&all.chain(chosen)), 1);
            assert_eq!(length(&all.chain(Features::NONE)), 0);
            assert_eq!(length(&all.chain(Features::ALL)), 8);
        }
        assert_eq!(all.chain(Features::NONE).features.shader_int64, vk::TRUE);
    }
}
