//! How rows are divided into parts, which a dispatch reduces before another one joins their states.

use dml_spirv::element_wise::QUAD;

/// Parts of a row that are equally long and equally far apart: one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The number of parts before the first one, which begin at multiples of `step` as well.
    pub(super) first: u32,
    pub(super) count: u32,
    /// The elements from the beginning of a part to that of the next one.
    pub(super) step: u32,
    pub(super) length: u32,
}

impl Parts {
    /// The parts, of at most `longest` elements, of a row of more elements. Parts that may overlap are equally long;
    /// else the last part is a dispatch of its own where it is shorter.
    pub(super) fn of(row: u32, longest: u32, may_overlap: bool) -> Vec<Self> {
        if may_overlap && let Some(parts) = Self::overlapping(row, longest) {
            return vec![parts];
        }
        let (count, rest) = (row / longest, row % longest);
        let whole = Self { first: 0, count, step: longest, length: longest };
        // It begins where the whole parts end.
        let last = Self { first: count, count: 1, step: longest, length: rest };
        [whole, last].into_iter().filter(|it| it.length > 0).collect()
    }

    /// Parts of which the last one ends with the row: each has as many elements in common with the next one as the row
    /// has beyond whole steps. `None` where no such parts begin with whole quads.
    fn overlapping(row: u32, longest: u32) -> Option<Self> {
        let mut steps = (1..=longest).rev().filter(|step| step.is_multiple_of(QUAD));
        let step = steps.find(|step| step + row % step <= longest)?;
        Some(Self { first: 0, count: row / step, step, length: step + row % step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_row_and_end_with_it() {
        for longest in [2, 7, 16, 128, 256, 4096] {
            for row in [longest + 1, 2 * longest, 50_304, 50_257, 4_194_309, u32::MAX] {
                for may_overlap in [false, true] {
                    let all = Parts::of(row, longest, may_overlap);
                    let mut end = 0;
                    for Parts { first, count, step, length } in &all {
                        assert!(first * step <= end && step <= length.max(&longest));
                        assert!((1..=longest).contains(length) && *count > 0);
                        end = (first + count - 1) * step + length;
                    }
                    assert_eq!(end, row, "{longest} {may_overlap}: {all:?}");
                    let has_quads = longest >= 8;
                    assert!(all.len() == 1 || !may_overlap || !has_quads, "{longest} {row}");
                }
            }
        }
    }

    #[test]
    fn parts_that_overlap_have_few_elements_in_common() {
        for row in [50_257, 50_304, 128_256, 4_194_309] {
            let [Parts { count, length, .. }] = Parts::of(row, 4096, true)[..] else { panic!() };
            assert!(u64::from(count) * u64::from(length) <= u64::from(row) * 17 / 16, "{row}");
        }
    }
}
