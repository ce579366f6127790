//! The optional features that kernels may need, as [`feature_table`](crate::feature_table) lists them.

use std::ffi::CStr;

use super::ApiVersion;
use crate::types::named_enum::named_enum;

/// [`Feature`] and its properties, from the table.
macro_rules! features {
    (
        basic { $($basic:ident = $basic_number:literal, $basic_name:literal, $basic_member:ident,
            $basic_enabling:ident,
            [$($basic_capability:ident = $basic_code:literal)?];)* }
        extended [$($kind:ident {
            $($structure:ident of $extension:literal $(since $major:literal, $minor:literal)? {
                $($feature:ident = $number:literal, $name:literal, $member:ident, $enabling:ident,
                    [$($capability:ident = $code:literal $(for $width:literal)?)?];)*
            })*
        })*]
        operations { $($operation:ident = $operation_number:literal, $operation_name:literal,
            $operation_member:ident, $operation_enabling:ident,
            [$operation_capability:ident = $operation_code:literal];)* }
    ) => {
        named_enum! {
            /// An optional feature of Vulkan that a kernel may need the device to have enabled. Its
            /// number is that of its bit in [`Features`].
            ///
            /// The names are those of Vulkan's structures and bits.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            Feature,
            /// Vulkan's name of the feature.
            name;
            $(#[doc = concat!("`", $basic_name, "`")] $basic = $basic_number, $basic_name;)*
            $($($(#[doc = concat!("`", $name, "`")] $feature = $number, $name;)*)*)*
            $(#[doc = concat!("`", $operation_name, "`")]
                $operation = $operation_number, $operation_name;)*
        }

        impl Feature {
            /// When a device that this runtime creates enables the feature.
            pub const fn enabling(self) -> Enabling {
                match self {
                    $(Self::$basic => Enabling::$basic_enabling,)*
                    $($($(Self::$feature => Enabling::$enabling,)*)*)*
                    $(Self::$operation => Enabling::$operation_enabling,)*
                }
            }

            /// The member in Rust, or the bit of an operation.
            #[cfg(test)]
            const fn member(self) -> &'static str {
                match self {
                    $(Self::$basic => stringify!($basic_member),)*
                    $($($(Self::$feature => stringify!($member),)*)*)*
                    $(Self::$operation => stringify!($operation_member),)*
                }
            }

            /// The extension that introduced the feature; `None` if it is in Vulkan 1.1.
            pub const fn extension(self) -> Option<Extension> {
                match self {
                    $(Self::$basic => None,)*
                    $($($(Self::$feature)|* => Some(Extension {
                        name: $extension,
                        promoted: [
                            $(Some(ApiVersion::new($major, $minor)),)?
                            None,
                        ][0],
                    }),)*)*
                    $(Self::$operation => None,)*
                }
            }

            /// The SPIR-V capability that the feature allows.
            pub const fn capability(self) -> Option<SpirvCapability> {
                match self {
                    $(Self::$basic => {
                        [$(Some(capability!($basic_capability, $basic_code)),)? None][0]
                    })*
                    $($($(Self::$feature => {
                        [$(Some(capability!($capability, $code $(, $width)?)),)? None][0]
                    })*)*)*
                    $(Self::$operation => {
                        Some(capability!($operation_capability, $operation_code))
                    })*
                }
            }
        }
    };
}

macro_rules! capability {
    ($name:ident, $code:literal) => {
        SpirvCapability { name: stringify!($name), code: $code, float_width: None }
    };
    ($name:ident, $code:literal, $width:literal) => {
        SpirvCapability { name: stringify!($name), code: $code, float_width: Some($width) }
    };
}

crate::feature_table!(features);

/// An extension of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The extension's name.
    pub name: &'static CStr,
    /// The version of Vulkan that includes the extension in its core; `None` if there is none.
    pub promoted: Option<ApiVersion>,
}

/// A capability of SPIR-V that a feature allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpirvCapability {
    /// The capability's name in SPIR-V.
    pub name: &'static str,
    /// The capability's number in SPIR-V.
    pub code: u32,
    /// For a capability of a float execution mode: the width of the floats in bits.
    pub float_width: Option<u32>,
}

/// When a device that this runtime creates enables a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enabling {
    /// Always: the runtime cannot submit work without it.
    Always,
    /// If the device offers it: a kernel may have a variant that uses it.
    WhereOffered,
    /// Unless the creator of the device disables it.
    ByChoice,
}

/// A set of optional features: the offered or the enabled features of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(u64);

impl Features {
    /// No feature.
    pub const NONE: Self = Self(0);

    /// All features.
    pub const ALL: Self = {
        let (mut all, mut at) = (Self::NONE, 0);
        while at < Feature::ALL.len() {
            all = all.with(Feature::ALL[at], true);
            at += 1;
        }
        all
    };

    /// The features of every device that this runtime supports: those that Vulkan 1.1 guarantees, and
    /// timeline semaphores.
    pub const LEAST: Self =
        Self::NONE.with(Feature::RobustBufferAccess, true).with(Feature::TimelineSemaphore, true);

    /// Whether the set has `feature`.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & 1 << feature as u32 != 0
    }

    /// The set with `feature`, or without it.
    #[must_use]
    pub const fn with(self, feature: Feature, is_there: bool) -> Self {
        let bit = 1 << feature as u32;
        Self(if is_there { self.0 | bit } else { self.0 & !bit })
    }

    /// The union of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The features of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The features of the set, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |feature| self.has(*feature))
    }

    /// The set as bits: bit `n` for the feature with the number `n`.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set of these bits; `None` if one of them is not a feature's. Bits of retired features, which no kernel
    /// uses any more, are ignored, so that older programs continue to work.
    pub const fn from_bits(bits: u64) -> Option<Self> {
        const RETIRED: u64 = 1 << 7 | 1 << 10 | 1 << 21 | 1 << 23 | 1 << 25;
        if bits & !(Self::ALL.0 | RETIRED) == 0 { Some(Self(bits & Self::ALL.0)) } else { None }
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        features.into_iter().fold(Self::NONE, |all, feature| all.with(feature, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_has_a_bit_and_a_name_of_its_own() {
        let mut numbers = Feature::ALL.map(|it| it as usize);
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        for feature in Feature::ALL {
            let same = Feature::ALL.into_iter().filter(|it| it.name() == feature.name());
            assert_eq!(same.count(), 1, "{feature}");
            let alone = Features::NONE.with(feature, true);
            assert_eq!(alone.iter().collect::<Vec<_>>(), [feature]);
            assert_eq!(Features::from_bits(alone.bits()), Some(alone));
            assert_eq!(alone.with(feature, false), Features::NONE);
        }
        assert_eq!(Features::from_bits(1 << 63), None);
        // The lowest bit, and one that had a feature once.
        let known = Features::NONE.with(Feature::ShaderInt8, true);
        assert_eq!(Features::from_bits(1 | 1 << 7), Some(known));
        assert_eq!(Features::ALL.iter().count(), Feature::ALL.len());
        let [one, both] = [Features::LEAST.with(Feature::ShaderInt8, true), Features::LEAST];
        assert_eq!((one.and(both), one.without(both).iter().count()), (both, 1));
        assert_eq!(one.without(both).or(both), one);
    }

    /// The row of a feature names nothing of another one's.
    #[test]
    fn variant_member_and_name_are_the_same_words() {
        for feature in Feature::ALL {
            let plain = |text: &str| text.replace('_', "").to_lowercase();
            let (variant, member) = (plain(&format!("{feature:?}")), plain(feature.member()));
            match feature.name().strip_prefix("VK_SUBGROUP_FEATURE_") {
                Some(bit) => {
                    assert_eq!(variant, format!("subgroup{member}"));
                    assert_eq!(plain(bit), format!("{member}bit"));
                }
                None => {
                    assert_eq!(variant, plain(feature.name()));
                    assert_eq!(member, variant);
                }
            }
        }
    }

    #[test]
    fn a_feature_comes_from_its_extension_until_the_core_has_it() {
        let of = |feature: Feature| feature.extension().unwrap();
        assert_eq!(of(Feature::ShaderInt8).name, c"VK_KHR_shader_float16_int8");
        assert_eq!(of(Feature::ShaderInt8).promoted, Some(ApiVersion::new(1, 2)));
        assert_eq!(of(Feature::SubgroupSizeControl).promoted, Some(ApiVersion::new(1, 3)));
        assert_eq!(of(Feature::CooperativeMatrix).promoted, None);
        assert_eq!(Feature::ShaderInt64.extension(), None);
        assert_eq!(Feature::SubgroupShuffle.extension(), None);
    }

    #[test]
    fn no_two_features_allow_the_same() {
        for feature in Feature::ALL {
            let Some(allowed) = feature.capability() else { continue };
            for other in Feature::ALL.into_iter().filter(|other| *other != feature) {
                let Some(also) = other.capability() else { continue };
                let is_same = (also.code, also.float_width) == (allowed.code, allowed.float_width);
                assert!(!is_same, "{feature} and {other}");
                assert_eq!(also.name == allowed.name, also.code == allowed.code, "{feature}");
            }
        }
    }
}
