//! The limits of a device, one by one.

use crate::capabilities::Limits;
use crate::types::InvalidField;
use crate::types::named_enum::named_enum;

/// [`Limit`], and the access to [`Limits`] by it, from a row for each limit: variant, member, Vulkan's name,
/// and kind.
macro_rules! limits {
    ($($limit:ident, $member:ident $([$index:literal])?, $name:literal, $kind:ident;)*) => {
        named_enum! {
            /// One of [`Limits`].
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            Limit,
            /// Vulkan's name of the limit, with an index for a limit of several values.
            name;
            $(#[doc = concat!("`", $name, "`")] $limit, $name;)*
        }

        impl Limit {
            const fn kind(self) -> Kind {
                match self {
                    $(Self::$limit => Kind::$kind,)*
                }
            }
        }

        impl Limits {
            /// The value of `limit`.
            pub fn get(&self, limit: Limit) -> u64 {
                match limit {
                    $(Limit::$limit => self.$member $([$index])?.into(),)*
                }
            }

            /// The limits with another value of `limit`. A limit that has 32 bits in Vulkan is at most
            /// `u32::MAX`.
            #[must_use]
            pub fn with(mut self, limit: Limit, value: u64) -> Self {
                match limit {
                    $(Limit::$limit => {
                        self.$member $([$index])? = value.try_into().unwrap_or(u32::MAX.into());
                    })*
                }
                self
            }
        }
    };
}

/// The direction in which a limit is weaker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A maximum: lower is weaker.
    Most,
    /// An alignment of offsets: larger is weaker.
    Alignment,
    /// A property of the device that a cap cannot change.
    Fact,
}

limits! {
    MaxStorageBufferRange, max_storage_buffer_range, "maxStorageBufferRange", Most;
    MinStorageBufferOffsetAlignment, min_storage_buffer_offset_alignment,
        "minStorageBufferOffsetAlignment", Alignment;
    MaxUniformBufferRange, max_uniform_buffer_range, "maxUniformBufferRange", Most;
    MinUniformBufferOffsetAlignment, min_uniform_buffer_offset_alignment,
        "minUniformBufferOffsetAlignment", Alignment;
    MaxPerStageDescriptorStorageBuffers, max_per_stage_descriptor_storage_buffers,
        "maxPerStageDescriptorStorageBuffers", Most;
    MaxPerStageDescriptorUniformBuffers, max_per_stage_descriptor_uniform_buffers,
        "maxPerStageDescriptorUniformBuffers", Most;
    MaxComputeWorkGroupCountX, max_compute_work_group_count[0], "maxComputeWorkGroupCount[0]", Most;
    MaxComputeWorkGroupCountY, max_compute_work_group_count[1], "maxComputeWorkGroupCount[1]", Most;
    MaxComputeWorkGroupCountZ, max_compute_work_group_count[2], "maxComputeWorkGroupCount[2]", Most;
    MaxComputeWorkGroupInvocations, max_compute_work_group_invocations,
        "maxComputeWorkGroupInvocations", Most;
    MaxComputeWorkGroupSizeX, max_compute_work_group_size[0], "maxComputeWorkGroupSize[0]", Most;
    MaxComputeWorkGroupSizeY, max_compute_work_group_size[1], "maxComputeWorkGroupSize[1]", Most;
    MaxComputeWorkGroupSizeZ, max_compute_work_group_size[2], "maxComputeWorkGroupSize[2]", Most;
    MaxComputeSharedMemorySize, max_compute_shared_memory_size, "maxComputeSharedMemorySize", Most;
    SubgroupSize, subgroup_size, "subgroupSize", Fact;
    MinSubgroupSize, min_subgroup_size, "minSubgroupSize", Fact;
    MaxSubgroupSize, max_subgroup_size, "maxSubgroupSize", Fact;
    CooperativeMatrixM, cooperative_matrix_size[0], "MSize", Fact;
    CooperativeMatrixN, cooperative_matrix_size[1], "NSize", Fact;
    CooperativeMatrixK, cooperative_matrix_size[2], "KSize", Fact;
    MaxPushConstantsSize, max_push_constants_size, "maxPushConstantsSize", Most;
    MaxMemoryAllocationSize, max_memory_allocation_size, "maxMemoryAllocationSize", Most;
    MaxBufferSize, max_buffer_size, "maxBufferSize", Most;
}

impl Limit {
    /// The weaker of the device's value `available` and the cap's value `wanted`: for an alignment the larger
    /// one. A fact keeps the device's value.
    pub(super) fn lower(self, available: u64, wanted: u64) -> u64 {
        match self.kind() {
            Kind::Most => available.min(wanted),
            Kind::Alignment => available.max(wanted),
            Kind::Fact => available,
        }
    }

    /// Refuses values that no device could have.
    pub(super) fn check(self, value: u64) -> Result<(), InvalidField> {
        if self.kind() == Kind::Alignment && !(value.is_power_of_two() && value <= 256) {
            let problem = "is not an alignment that a device may have";
            return Err(InvalidField::new(self.name(), value, problem, "a power of two up to 256"));
        }
        if value == 0 {
            return Err(InvalidField::new(self.name(), value, "is too small", "1 and more"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Capabilities;

    #[test]
    fn each_limit_is_read_where_it_was_written() {
        for (limit, value) in Limit::ALL.into_iter().zip(1000..) {
            let before = Capabilities::vulkan_minimum().limits;
            let after = before.clone().with(limit, value);
            assert_eq!(after.get(limit), value, "{}", limit.name());
            for other in Limit::ALL.into_iter().filter(|other| *other != limit) {
                assert_eq!(after.get(other), before.get(other), "{}", limit.name());
            }
        }
    }

    #[test]
    fn what_a_device_is_cannot_be_lowered() {
        assert_eq!(Limit::SubgroupSize.lower(32, 8), 32);
        assert_eq!(Limit::MaxComputeSharedMemorySize.lower(32, 8), 8);
        assert_eq!(Limit::MinUniformBufferOffsetAlignment.lower(32, 8), 32);
    }

    #[test]
    fn what_no_device_has_is_refused() {
        for value in [0, 3, 512] {
            for limit in
                [Limit::MinStorageBufferOffsetAlignment, Limit::MinUniformBufferOffsetAlignment]
            {
                let error = limit.check(value).unwrap_err();
                let accepted = "accepted: a power of two up to 256";
                assert!(error.to_string().ends_with(accepted), "{error}");
            }
        }
        assert!(Limit::MaxComputeWorkGroupCountY.check(0).is_err());
        assert!(Limit::SubgroupSize.check(0).is_err());
        assert!(Limit::MaxComputeWorkGroupCountY.check(1).is_ok());
    }
}
