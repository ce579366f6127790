//! The cost of steps, as their lowering states it, and the most work that a device is given at one time.

use std::ops::{Add, AddAssign};

use super::{Copy, Step};

/// The work of a step.
///
/// The algorithm's work is counted, not the traffic of a device: rows of a matrix that a kernel reads several
/// times count once, and caches do not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Operations: a function of an element-wise program on one element, joining an element to the state of
    /// its row, a multiplication or an addition of a product. At least one for each element that a kernel
    /// writes; none in fills, updates and copies.
    pub operations: u64,
    /// Bytes that are read plus bytes that are written: each byte once for each step, however often its kernel
    /// reads it.
    pub bytes: u64,
}

/// Operations that take about as long as moving a byte. An estimate: GPUs have 10 to 60 operations for each byte of
/// their bandwidth, and exact kernels reach a fraction of the former.
const OPERATIONS_OF_A_BYTE: u64 = 4;

/// The most work that a device is given at one time, in operations as [`Cost::as_operations`] counts them.
///
/// Drivers reset a device whose work takes longer than some seconds, and a desktop that it draws stands still
/// meanwhile. Figures are estimates: no clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkBound {
    /// The most operations of a dispatch. A single work group may have more, as nothing divides it.
    pub dispatch: u64,
    /// The most operations of a batch: the commands of a submission that a driver hands to the device as one
    /// piece. A single step of a plan may have more.
    pub batch: u64,
}

impl WorkBound {
    /// No bound: nothing is divided.
    pub const NONE: Self = Self { dispatch: u64::MAX, batch: u64::MAX };

    /// At most `operations` in a dispatch, and four times as many in a batch.
    pub const fn of_dispatch(operations: u64) -> Self {
        Self { dispatch: operations, batch: operations.saturating_mul(4) }
    }
}

impl Cost {
    /// The work as a number of operations. Each moved byte counts as [`OPERATIONS_OF_A_BYTE`] operations: an
    /// estimate, the same for all devices.
    pub fn as_operations(self) -> u64 {
        self.operations.saturating_add(self.bytes.saturating_mul(OPERATIONS_OF_A_BYTE))
    }

    /// The cost of `count` of `total` equal parts, rounded down. `total` is not 0.
    #[must_use]
    pub fn share(self, count: u64, total: u64) -> Self {
        let of = |all: u64| {
            let share = u128::from(all) * u128::from(count.min(total)) / u128::from(total);
            u64::try_from(share).expect("no more than all")
        };
        Self { operations: of(self.operations), bytes: of(self.bytes) }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

impl Step {
    /// The work of the step.
    pub fn cost(&self) -> Cost {
        let moved = |bytes| Cost { operations: 0, bytes };
        match self {
            Self::Fill(fill) => moved(fill.range.end.saturating_sub(fill.range.start)),
            Self::Update(update) => moved(update.data.len() as u64),
            Self::Copy(copy) => moved(copied(copy).saturating_mul(2)),
            Self::Dispatch(dispatch) => dispatch.cost,
        }
    }
}

fn copied(copy: &Copy) -> u64 {
    copy.regions.iter().map(super::CopyRegion::bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::super::{CopyRegion, Fill, Repeat, Slot, Update};
    use super::*;

    #[test]
    fn transfers_move_bytes_and_a_copy_moves_them_twice() {
        let slot = Slot::Output(0);
        let repeat = Repeat { count: 3, destination_stride: 8, ..Repeat::ONCE };
        let regions = vec![CopyRegion { repeat, ..CopyRegion::once(0, 16, 8) }];
        let steps = [
            Step::Fill(Fill { slot, range: 16..80, pattern: 7 }),
            Step::Update(Update { slot, offset: 40, data: vec![0; 8] }),
            Step::Copy(Copy { source: Slot::Constants, destination: slot, regions }),
        ];
        assert_eq!(steps.each_ref().map(|it| it.cost().bytes), [64, 8, 48]);
        let all: Cost = steps.iter().map(Step::cost).sum();
        assert_eq!(all, Cost { operations: 0, bytes: 120 });
    }

    #[test]
    fn bytes_count_as_operations() {
        assert_eq!(Cost { operations: 7, bytes: 3 }.as_operations(), 19);
        assert_eq!(Cost { operations: 1, bytes: u64::MAX / 2 }.as_operations(), u64::MAX);
        assert_eq!(WorkBound::of_dispatch(u64::MAX), WorkBound::NONE);
    }

    #[test]
    fn shares_of_a_cost_are_at_most_all_of_it() {
        let cost = Cost { operations: u64::MAX, bytes: 10 };
        assert_eq!(cost.share(1, 4), Cost { operations: u64::MAX / 4, bytes: 2 });
        // The last dispatch of several may have more groups than are left.
        assert_eq!(cost.share(5, 4), cost);
        assert_eq!((cost + cost).operations, u64::MAX);
    }
}
