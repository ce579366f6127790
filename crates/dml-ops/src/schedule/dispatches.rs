//! Dispatches of kernels that have an index for each element, or group of elements, that they write.

use std::ops::Range;

use dml_core::Error;
use dml_core::kernel::{KernelModule, Shared};
use dml_core::plan::{Cost, Dispatch, Slot, Step, Window};
use dml_spirv::element_wise::{DIMENSIONS, QUAD};
use dml_spirv::twins::PushBlock;

use crate::Target;
use crate::ir::space::Operand;
use crate::schedule::boxes::{self, Boxes, Placement, WORD};
use crate::schedule::grid::{self, Grid};
use crate::target::{MAX_STEPS, beyond_steps};

/// The largest number of copy regions in a plan, counted one by one: 24 MiB of them in a command buffer.
pub(crate) const MAX_REGIONS: u64 = 1 << 20;
/// The largest number of loops of regions that a plan keeps.
pub(crate) const MAX_LOOPS: u64 = 1 << 15;

/// Windows of fewer bytes hold hardly more than a quad, so they begin at any word. No known device has such
/// small windows.
const SMALL_WINDOW: u64 = 64;

/// Kernels access up to four words at a time, and four elements: windows begin at a multiple of both.
const FOUR_WORDS: u64 = 16;

/// The most parts that a dispatch is divided into for its work: each step takes memory and some time of the device.
const MOST_PARTS: u64 = 1 << 14;

/// The alignment of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    /// At four words and four elements, for kernels that access so many at a time.
    Quads,
    /// At a word, if a descriptor may be too small for more.
    Words,
}

impl Operand<Slot> {
    /// The position of its elements, with windows that begin where kernels can access several words, or one.
    pub(crate) fn placement(&self, alignment: Alignment) -> Placement<DIMENSIONS> {
        let granule = match alignment {
            Alignment::Quads => FOUR_WORDS.max(self.width.bytes_of(QUAD.into())),
            Alignment::Words => WORD,
        };
        Placement {
            first: self.base,
            strides: self.strides,
            repeats: self.repeats,
            element_bits: self.width.bits(),
            granule,
            beyond: self.beyond(),
        }
    }
}

/// Dispatches of one operator, while they are being collected.
pub(crate) struct Dispatches<'a> {
    /// The operator's name, for messages.
    operator: &'static str,
    /// The field that messages name.
    field: &'static str,
    target: &'a Target<'a>,
    steps: Vec<Step>,
}

impl<'a> Dispatches<'a> {
    /// No dispatches yet. Errors name `operator` and `field`.
    pub(crate) fn new(operator: &'static str, field: &'static str, target: &'a Target<'a>) -> Self {
        Self { operator, field, target, steps: Vec::new() }
    }

    /// The target of the dispatches.
    pub(crate) fn target(&self) -> &'a Target<'a> {
        self.target
    }

    /// The alignment of windows: words if descriptors may be too small for quads.
    pub(crate) fn alignment(&self) -> Alignment {
        if self.target.max_window() < SMALL_WINDOW { Alignment::Words } else { Alignment::Quads }
    }

    /// The boxes of a tensor of `sizes` that fit the target's descriptors in every operand.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: not even one element fits, or there are more boxes than
    /// [`MAX_STEPS`].
    pub(crate) fn boxes<const N: usize>(
        &self,
        sizes: [u32; N],
        operands: &[Placement<N>],
    ) -> Result<Boxes<N>, Error> {
        let boxes = boxes::divide(sizes, operands, self.target.max_window()).ok_or_else(|| {
            self.beyond_window(
                operands.iter().map(|operand| operand.window([1; N])).max().unwrap_or_default(),
            )
        })?;
        match boxes.total() {
            total if total > u64::from(MAX_STEPS) => Err(self.beyond_steps(total)),
            _ => Ok(boxes),
        }
    }

    /// Adds one dispatch, or several if the device's group counts do not suffice for the indices, or if one would
    /// exceed the bound on the work of a dispatch. There is a window for each binding of the kernel. `cost` is the
    /// cost of all of them.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: a window exceeds the range of the device's descriptors, or there are more than
    /// [`MAX_STEPS`] dispatches.
    pub(crate) fn push(
        &mut self,
        variant: &Shared<KernelModule>,
        windows: &[Window],
        push: &impl PushBlock,
        cost: Cost,
    ) -> Result<(), Error> {
        self.push_with_block(variant, windows, push, None, cost)
    }

    /// As [`Self::push`], for a kernel with a uniform block, given the block's range in the constants.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(crate) fn push_with_block(
        &mut self,
        variant: &Shared<KernelModule>,
        windows: &[Window],
        push: &impl PushBlock,
        uniform: Option<Range<u64>>,
        cost: Cost,
    ) -> Result<(), Error> {
        let group_length = self.target.group_length(variant);
        self.push_groups(variant, windows, push, uniform, group_length, cost)
    }

    /// As [`Self::push_with_block`], for work groups with so many indices each.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(crate) fn push_groups(
        &mut self,
        variant: &Shared<KernelModule>,
        windows: &[Window],
        push: &impl PushBlock,
        uniform: Option<Range<u64>>,
        group_length: u32,
        cost: Cost,
    ) -> Result<(), Error> {
        let sizes = windows.iter().map(|window| window.range.end - window.range.start);
        if let Some(size) = sizes.max().filter(|size| *size > self.target.max_window()) {
            return Err(self.beyond_window(size));
        }
        let limits = self.target.capabilities.limits.max_compute_work_group_count;
        let all_groups = u64::from(push.count().div_ceil(group_length));
        let at_most = most_groups(cost, all_groups, self.target.tuning.dispatch_bound);
        let grids = grid::split(push.count(), group_length, limits, at_most);
        for Grid { first_group, groups } in grids {
            if self.steps.len() >= MAX_STEPS as usize {
                return Err(self.beyond_steps(u64::from(MAX_STEPS) + 1));
            }
            self.steps.push(Step::Dispatch(Dispatch {
                kernel: self.target.kernel_key(variant),
                windows: windows.to_vec(),
                push_constants: push.with_first_group(first_group).to_bytes(),
                uniform: uniform.clone(),
                groups,
                // They would run at the same time as one dispatch.
                is_concurrent: first_group > 0,
                // Groups past the end of the range do nothing.
                cost: cost.share(
                    groups
                        .map(u64::from)
                        .iter()
                        .product::<u64>()
                        .min(all_groups - u64::from(first_group)),
                    all_groups,
                ),
            }));
        }
        Ok(())
    }

    /// The steps, in the order in which they were added.
    pub(crate) fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// The error for a device whose descriptors cannot cover `needed` bytes.
    pub(crate) fn beyond_window(&self, needed: u64) -> Error {
        Error::DeviceLimit {
            operator: self.operator,
            field: self.field,
            needed,
            unit: "bytes",
            limit: "maxStorageBufferRange less minStorageBufferOffsetAlignment",
            available: self.target.max_window(),
        }
    }

    fn beyond_steps(&self, needed: u64) -> Error {
        beyond_steps(self.operator, self.field, needed)
    }
}

/// How many of all groups, which have this cost together, one dispatch may have: at least one, as nothing divides that.
fn most_groups(cost: Cost, all_groups: u64, bound: u64) -> u32 {
    let work = u128::from(cost.as_operations().max(1));
    let groups = u128::from(all_groups) * u128::from(bound) / work;
    let in_most_parts = u128::from(all_groups.div_ceil(MOST_PARTS));
    u32::try_from(groups.max(in_most_parts).max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_the_work_of_a_dispatch_and_the_last_one_is_not_divided() {
        let cost = Cost { operations: 600, bytes: 100 };
        assert_eq!(
            [1000, 999, 500, 100, 10, 0].map(|it| most_groups(cost, 10, it)),
            [10, 9, 5, 1, 1, 1]
        );
        assert_eq!(most_groups(cost, 10, u64::MAX), u32::MAX);
        assert_eq!(most_groups(Cost::default(), 10, 1), 10);
        // However low the bound is, a plan does not grow beyond measure.
        let (groups, cost) = (1 << 20, Cost { operations: 1 << 40, bytes: 0 });
        assert_eq!(u64::from(most_groups(cost, groups, 1)) * MOST_PARTS, groups);
    }
}
