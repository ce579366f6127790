//! The optional features that kernels may need.

use crate::types::named_enum::named_enum;

/// [`Feature`] and [`Features`], from a row for each feature: variant, member, Vulkan's name.
macro_rules! features {
    ($($feature:ident, $member:ident, $name:literal;)*) => {
        named_enum! {
            /// An optional feature of Vulkan that a kernel variant needs the device to have enabled.
            ///
            /// The names are those of Vulkan's feature structures.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            Feature,
            /// Vulkan's name of the feature.
            name;
            $(#[doc = concat!("`", $name, "`")] $feature, $name;)*
        }

        /// A set of optional features: what a device offers, or what of it is enabled.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Features {
            $(#[doc = concat!("`", $name, "`")] pub $member: bool,)*
        }

        impl Features {
            /// No feature.
            pub const NONE: Self = Self { $($member: false,)* };

            /// Whether `feature` is there.
            pub fn has(&self, feature: Feature) -> bool {
                match feature {
                    $(Feature::$feature => self.$member,)*
                }
            }

            /// The set with `feature`, or without it.
            #[must_use]
            pub fn with(mut self, feature: Feature, is_there: bool) -> Self {
                match feature {
                    $(Feature::$feature => self.$member = is_there,)*
                }
                self
            }
        }
    };
}

features! {
    ShaderInt8, shader_int8, "shaderInt8";
    ShaderInt16, shader_int16, "shaderInt16";
    ShaderInt64, shader_int64, "shaderInt64";
    ShaderFloat16, shader_float16, "shaderFloat16";
    ShaderFloat64, shader_float64, "shaderFloat64";
    StorageBuffer8BitAccess, storage_buffer_8bit_access, "storageBuffer8BitAccess";
    StorageBuffer16BitAccess, storage_buffer_16bit_access, "storageBuffer16BitAccess";
    BufferDeviceAddress, buffer_device_address, "bufferDeviceAddress";
}

impl Features {
    /// Every feature that is there, in the order of [`Feature::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(|feature| self.has(*feature))
    }
}
