//! The limits of a device, one by one.

use crate::capabilities::Limits;
use crate::types::InvalidField;
use crate::types::named_enum::named_enum;

/// [`Limit`], and how [`Limits`] is read and changed by it, from a row for each limit: variant, where
/// it is, Vulkan's name.
macro_rules! limits {
    ($($limit:ident, $member:ident $([$index:literal])?, $name:literal;)*) => {
        named_enum! {
            /// One of [`Limits`].
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            Limit,
            /// Vulkan's name of the limit, with the index where it is one of several.
            name;
            $(#[doc = concat!("`", $name, "`")] $limit, $name;)*
        }

        impl Limits {
            /// The value of `limit`.
            pub fn get(&self, limit: Limit) -> u64 {
                match limit {
                    $(Limit::$limit => self.$member $([$index])?.into(),)*
                }
            }

            /// The same with another value of `limit`; where Vulkan has 32 bits for it, at most what
            /// fits.
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

limits! {
    MaxStorageBufferRange, max_storage_buffer_range, "maxStorageBufferRange";
    MinStorageBufferOffsetAlignment, min_storage_buffer_offset_alignment,
        "minStorageBufferOffsetAlignment";
    MaxUniformBufferRange, max_uniform_buffer_range, "maxUniformBufferRange";
    MinUniformBufferOffsetAlignment, min_uniform_buffer_offset_alignment,
        "minUniformBufferOffsetAlignment";
    MaxPerStageDescriptorStorageBuffers, max_per_stage_descriptor_storage_buffers,
        "maxPerStageDescriptorStorageBuffers";
    MaxPerStageDescriptorUniformBuffers, max_per_stage_descriptor_uniform_buffers,
        "maxPerStageDescriptorUniformBuffers";
    MaxComputeWorkGroupCountX, max_compute_work_group_count[0], "maxComputeWorkGroupCount[0]";
    MaxComputeWorkGroupCountY, max_compute_work_group_count[1], "maxComputeWorkGroupCount[1]";
    MaxComputeWorkGroupCountZ, max_compute_work_group_count[2], "maxComputeWorkGroupCount[2]";
    MaxComputeWorkGroupInvocations, max_compute_work_group_invocations,
        "maxComputeWorkGroupInvocations";
    MaxComputeWorkGroupSizeX, max_compute_work_group_size[0], "maxComputeWorkGroupSize[0]";
    MaxComputeWorkGroupSizeY, max_compute_work_group_size[1], "maxComputeWorkGroupSize[1]";
    MaxComputeWorkGroupSizeZ, max_compute_work_group_size[2], "maxComputeWorkGroupSize[2]";
    MaxPushConstantsSize, max_push_constants_size, "maxPushConstantsSize";
    MaxMemoryAllocationSize, max_memory_allocation_size, "maxMemoryAllocationSize";
    MaxBufferSize, max_buffer_size, "maxBufferSize";
}

impl Limit {
    /// The one of two values that promises less: for an alignment the larger one.
    pub(super) fn lower(self, one: u64, other: u64) -> u64 {
        if self.is_alignment() { one.max(other) } else { one.min(other) }
    }

    fn is_alignment(self) -> bool {
        matches!(
            self,
            Self::MinStorageBufferOffsetAlignment | Self::MinUniformBufferOffsetAlignment
        )
    }

    /// Refuses what no device could have.
    pub(super) fn check(self, value: u64) -> Result<(), InvalidField> {
        if self.is_alignment() && !(value.is_power_of_two() && value <= 256) {
            let problem = "is no alignment that a device may have";
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
        assert!(Limit::MaxComputeWorkGroupCountY.check(1).is_ok());
    }
}
