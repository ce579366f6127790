//! Dispatches of kernels with one invocation for each element that they write.

use dml_core::kernel::KernelVariant;
use dml_core::plan::{Dispatch, Step, Window};
use dml_core::{DataType, Error, ScalarUnion};

use crate::Target;
use crate::grid::{self, Grid};

/// A kernel with one invocation for each of `count` elements of an output.
pub(crate) struct ElementKernel {
    /// The operator's name, for messages.
    pub(crate) operator: &'static str,
    /// The kernel.
    pub(crate) variant: &'static KernelVariant,
    /// One window for each binding of the kernel, with the field that needs it. The first one shows
    /// the whole output.
    pub(crate) windows: Vec<(&'static str, Window)>,
    /// Elements to write.
    pub(crate) count: u32,
}

impl ElementKernel {
    /// One dispatch, or several where the device's group counts do not suffice. `push_constants`
    /// makes the bytes to push from the first group of a dispatch.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: a window exceeds what a descriptor of the device can show.
    pub(crate) fn dispatches(
        &self,
        target: &Target<'_>,
        push_constants: impl Fn(u32) -> Vec<u8>,
    ) -> Result<Vec<Step>, Error> {
        self.check_windows(target)?;
        let dispatch = |grid: Grid| {
            Step::Dispatch(Dispatch {
                kernel: target.kernel_key(self.variant),
                windows: self.windows.iter().map(|(_, window)| window.clone()).collect(),
                push_constants: push_constants(grid.first_group),
                groups: grid.groups,
            })
        };
        let limits = target.capabilities.limits.max_compute_work_group_count;
        let grids = grid::split(self.count, target.local_size(), limits);
        Ok(grids.into_iter().map(dispatch).collect())
    }

    fn check_windows(&self, target: &Target<'_>) -> Result<(), Error> {
        for (field, window) in &self.windows {
            let needed = window.range.end - window.range.start;
            if needed > target.max_window() {
                return Err(Error::DeviceLimit {
                    operator: self.operator,
                    field,
                    needed,
                    limit: "maxStorageBufferRange less minStorageBufferOffsetAlignment",
                    available: target.max_window(),
                });
            }
        }
        Ok(())
    }
}

/// The low and the high 32 bits of an element.
pub(crate) fn words(bits: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = bits.to_le_bytes();
    [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
}

/// The bits of an element of `data_type` that is given as a scalar: the union's bytes beyond the
/// scalar mean nothing.
pub(crate) fn scalar_bits(scalar: ScalarUnion, data_type: DataType) -> u64 {
    scalar.to_bits() & (u64::MAX >> (64 - data_type.bits()))
}
