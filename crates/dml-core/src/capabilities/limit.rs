//! The limits of a device, one by one.

use crate::capabilities::Limits;
use crate::types::InvalidField;
use crate::types::named_enum::named_enum;

named_enum! {
    /// One of [`Limits`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    Limit,
    /// Vulkan's name of the limit, with the index where it is one of several.
    name;
    /// `maxStorageBufferRange`
    MaxStorageBufferRange, "maxStorageBufferRange";
    /// `minStorageBufferOffsetAlignment`
    MinStorageBufferOffsetAlignment, "minStorageBufferOffsetAlignment";
    /// `maxComputeWorkGroupCount[0]`
    MaxComputeWorkGroupCountX, "maxComputeWorkGroupCount[0]";
    /// `maxComputeWorkGroupCount[1]`
    MaxComputeWorkGroupCountY, "maxComputeWorkGroupCount[1]";
    /// `maxComputeWorkGroupCount[2]`
    MaxComputeWorkGroupCountZ, "maxComputeWorkGroupCount[2]";
    /// `maxComputeWorkGroupInvocations`
    MaxComputeWorkGroupInvocations, "maxComputeWorkGroupInvocations";
    /// `maxComputeWorkGroupSize[0]`
    MaxComputeWorkGroupSizeX, "maxComputeWorkGroupSize[0]";
    /// `maxComputeWorkGroupSize[1]`
    MaxComputeWorkGroupSizeY, "maxComputeWorkGroupSize[1]";
    /// `maxComputeWorkGroupSize[2]`
    MaxComputeWorkGroupSizeZ, "maxComputeWorkGroupSize[2]";
    /// `maxPushConstantsSize`
    MaxPushConstantsSize, "maxPushConstantsSize";
    /// `maxMemoryAllocationSize`
    MaxMemoryAllocationSize, "maxMemoryAllocationSize";
    /// `maxBufferSize`
    MaxBufferSize, "maxBufferSize";
}

impl Limit {
    /// The one of two values that promises less: for an alignment the larger one.
    pub(super) fn lower(self, one: u64, other: u64) -> u64 {
        match self {
            Self::MinStorageBufferOffsetAlignment => one.max(other),
            _ => one.min(other),
        }
    }

    /// Refuses what no device could have.
    pub(super) fn check(self, value: u64) -> Result<(), InvalidField> {
        let is_alignment = self == Self::MinStorageBufferOffsetAlignment;
        if is_alignment && !(value.is_power_of_two() && value <= 256) {
            let problem = "is no alignment that a device may have";
            return Err(InvalidField::new(self.name(), value, problem, "a power of two up to 256"));
        }
        if value == 0 {
            return Err(InvalidField::new(self.name(), value, "is too small", "1 and more"));
        }
        Ok(())
    }
}

impl Limits {
    /// The value of `limit`.
    pub fn get(&self, limit: Limit) -> u64 {
        let [x, y, z] = self.max_compute_work_group_count;
        let [size_x, size_y, size_z] = self.max_compute_work_group_size;
        match limit {
            Limit::MaxStorageBufferRange => self.max_storage_buffer_range,
            Limit::MinStorageBufferOffsetAlignment => self.min_storage_buffer_offset_alignment,
            Limit::MaxComputeWorkGroupCountX => x.into(),
            Limit::MaxComputeWorkGroupCountY => y.into(),
            Limit::MaxComputeWorkGroupCountZ => z.into(),
            Limit::MaxComputeWorkGroupInvocations => self.max_compute_work_group_invocations.into(),
            Limit::MaxComputeWorkGroupSizeX => size_x.into(),
            Limit::MaxComputeWorkGroupSizeY => size_y.into(),
            Limit::MaxComputeWorkGroupSizeZ => size_z.into(),
            Limit::MaxPushConstantsSize => self.max_push_constants_size.into(),
            Limit::MaxMemoryAllocationSize => self.max_memory_allocation_size,
            Limit::MaxBufferSize => self.max_buffer_size,
        }
    }

    /// The same with another value of `limit`; where Vulkan has 32 bits for it, at most what fits.
    #[must_use]
    pub fn with(mut self, limit: Limit, value: u64) -> Self {
        let short = u32::try_from(value).unwrap_or(u32::MAX);
        match limit {
            Limit::MaxStorageBufferRange => self.max_storage_buffer_range = value,
            Limit::MinStorageBufferOffsetAlignment => {
                self.min_storage_buffer_offset_alignment = value;
            }
            Limit::MaxComputeWorkGroupCountX => self.max_compute_work_group_count[0] = short,
            Limit::MaxComputeWorkGroupCountY => self.max_compute_work_group_count[1] = short,
            Limit::MaxComputeWorkGroupCountZ => self.max_compute_work_group_count[2] = short,
            Limit::MaxComputeWorkGroupInvocations => {
                self.max_compute_work_group_invocations = short;
            }
            Limit::MaxComputeWorkGroupSizeX => self.max_compute_work_group_size[0] = short,
            Limit::MaxComputeWorkGroupSizeY => self.max_compute_work_group_size[1] = short,
            Limit::MaxComputeWorkGroupSizeZ => self.max_compute_work_group_size[2] = short,
            Limit::MaxPushConstantsSize => self.max_push_constants_size = short,
            Limit::MaxMemoryAllocationSize => self.max_memory_allocation_size = value,
            Limit::MaxBufferSize => self.max_buffer_size = value,
        }
        self
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
            let error = Limit::MinStorageBufferOffsetAlignment.check(value).unwrap_err();
            assert!(error.to_string().ends_with("accepted: a power of two up to 256"), "{error}");
        }
        assert!(Limit::MaxComputeWorkGroupCountY.check(0).is_err());
        assert!(Limit::MaxComputeWorkGroupCountY.check(1).is_ok());
    }
}
