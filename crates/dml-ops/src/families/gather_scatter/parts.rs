//! Data that one descriptor cannot show: in parts, each with a kernel of its own that leaves all others alone.

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{QUAD, Value};
use dml_spirv::functions as f;

use crate::ir::space::{Displacement, Operand, bytes_shown};
use crate::lowering::map_builder::MapBuilder;
use crate::target::MAX_STEPS;

/// The part of the data that offsets from `first` on lead to.
#[derive(Clone, Copy)]
pub(super) struct Part {
    first: u32,
    /// How many offsets lead into it; `None` where all of them do.
    length: Option<u32>,
}

impl Part {
    /// The parts of data whose offsets are at most `reach`, for descriptors that show so many bytes. Half of these are
    /// for what lies around an element that an offset leads to.
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
        // So many parts are more than a plan takes: refused as a whole too.
        if reach / u64::from(length) >= u64::from(MAX_STEPS) {
            return whole;
        }
        let firsts = (0..=reach).step_by(length as usize).map_while(|it| u32::try_from(it).ok());
        firsts.map(|first| Self { first, length: Some(length) }).collect()
    }

    /// The data with offsets from the beginning of the part, in a part of its own.
    pub(super) fn data(self, data: Operand) -> Operand {
        Operand { base: data.base + i64::from(self.first), ..data }
    }

    /// An operand that is displaced by an offset within the part, and by nowhere where it leads to another one.
    pub(super) fn displaced(self, map: &mut MapBuilder, by: Displacement) -> Displacement {
        let Some(length) = self.length else { return by };
        let within = self.within(map, by.by);
        let within = map.apply(&f::CHECKED_U32, &[within], &[length, 1]);
        // The last part may be shorter.
        let most = by.most.saturating_sub(self.first.into()).min(u64::from(length) - 1);
        Displacement { by: within, most, ..by }
    }

    /// What keeps an operand that is not displaced from being touched where an offset leads to another part.
    pub(super) fn kept(self, map: &mut MapBuilder, by: Value) -> Option<Displacement> {
        let length = self.length?;
        let within = self.within(map, by);
        Some(Displacement::new(map.apply(&f::CHECKED_U32, &[within], &[length, 0]), 0))
    }

    /// The offset less that of the part's beginning, modulo 2^32; nowhere stays so.
    fn within(self, map: &mut MapBuilder, by: Value) -> Value {
        if self.first == 0 {
            return by;
        }
        // Whatever the number is, 1 and no further on: what the neighbour after an element counts.
        let one = map.apply(&f::WINDOW_AT, &[by], &[1, 1, 0, 1]);
        map.apply(&f::UPPER_NEIGHBOUR, &[by, one], &[0_u32.wrapping_sub(self.first)])
    }
}
