//! Parts of data that do not fit one descriptor, each with a kernel that leaves all other parts alone.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{QUAD, Value};
use dml_spirv::functions as f;

use crate::ir::space::{Displacement, Operand, bytes_shown};
use crate::lowering::map_builder::MapBuilder;
use crate::target::MAX_STEPS;

/// The part of the data at offsets from `first` on.
#[derive(Clone, Copy)]
pub(super) struct DataRange {
    first: u32,
    /// The number of offsets in the part; `None` for all.
    length: Option<u32>,
}

impl DataRange {
    /// The parts of data whose offsets are at most `reach`, for descriptors of `most_shown` bytes. Half of
    /// the bytes are for the elements around an offset.
    pub(super) fn all(width: ElementWidth, reach: u64, most_shown: u64) -> Vec<Self> {
        let whole = vec![Self { first: 0, length: None }];
        if bytes_shown(width, reach) <= most_shown {
            return whole;
        }
        let lead = bytes_shown(width, 0);
        let length = (most_shown / 2).saturating_sub(lead) / u64::from(width.bytes());
        let length = length - length % u64::from(QUAD);
        // Without room for a few elements the data are refused as a whole.
        let Some(length) = u32::try_from(length).ok().filter(|length| *length > 0) else {
            return whole;
        };
        // More parts than a plan can have are refused as a whole, too.
        if reach / u64::from(length) >= u64::from(MAX_STEPS) {
            return whole;
        }
        let firsts = (0..=reach).step_by(length as usize).map_while(|it| u32::try_from(it).ok());
        firsts.map(|first| Self { first, length: Some(length) }).collect()
    }

    /// The data from the beginning of the part on, as an operand.
    pub(super) fn data(self, data: Operand) -> Operand {
        Operand { base: data.base + i64::from(self.first), ..data }
    }

    /// The displacement within the part; nowhere for offsets in other parts.
    pub(super) fn displaced(self, map: &mut MapBuilder, by: Displacement) -> Displacement {
        let Some(length) = self.length else { return by };
        let within = self.within(map, by.by);
        let within = map.apply(&f::CHECKED_U32, &[within], &[length, 1]);
        // The last part may be shorter.
        let most = by.most.saturating_sub(self.first.into()).min(u64::from(length) - 1);
        Displacement { by: within, most, ..by }
    }

    /// The displacement that keeps other operands from being accessed for offsets in other parts.
    pub(super) fn kept(self, map: &mut MapBuilder, by: Value) -> Option<Displacement> {
        let length = self.length?;
        let within = self.within(map, by);
        Some(Displacement::new(map.apply(&f::CHECKED_U32, &[within], &[length, 0]), 0))
    }

    /// The offset from the part's beginning, modulo 2^32; nowhere stays nowhere.
    fn within(self, map: &mut MapBuilder, by: Value) -> Value {
        if self.first == 0 {
            return by;
        }
        // 1 for every number: the weight by which the neighbour after an element counts.
        let one = map.apply(&f::WINDOW_AT, &[by], &[1, 1, 0, 1]);
        map.apply(&f::UPPER_NEIGHBOUR, &[by, one], &[0_u32.wrapping_sub(self.first)])
    }
}
