//! Regions of a copy: single regions, and loops of equally spaced regions.

use std::ops::Range;

use super::slot::span;

/// One region of a [`struct@super::Copy`], or a loop of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRegion {
    /// Bytes relative to the start of the source binding.
    pub source_offset: u64,
    /// Bytes relative to the start of the destination binding.
    pub destination_offset: u64,
    /// Length in bytes, at least 1.
    pub size: u64,
    /// The repetitions of the region.
    pub repeat: Repeat,
}

/// The repetitions of a region: the bytes that each repetition adds to the offsets and size of the one before
/// it. This describes the rows of a matrix or of a triangle, or a repeated block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The number of regions, including the first one; at least 1.
    pub count: u32,
    /// Added to the source's offset.
    pub source_stride: i64,
    /// Added to the destination's offset.
    pub destination_stride: i64,
    /// Added to the size.
    pub growth: i64,
}

impl Repeat {
    /// A single region.
    pub const ONCE: Self = Self { count: 1, source_stride: 0, destination_stride: 0, growth: 0 };
}

impl CopyRegion {
    /// A single region.
    pub const fn once(source_offset: u64, destination_offset: u64, size: u64) -> Self {
        Self { source_offset, destination_offset, size, repeat: Repeat::ONCE }
    }

    /// All regions. A region whose offset or size overflows 64 bits wraps around: it is outside of every
    /// buffer or, if not, a region like any other.
    pub fn regions(self) -> impl DoubleEndedIterator<Item = Self> {
        (0..self.repeat.count).map(move |index| self.at(index))
    }

    /// The region with this index.
    pub(super) fn at(&self, index: u32) -> Self {
        let moved =
            |from: u64, by: i64| from.wrapping_add_signed(by.wrapping_mul(i64::from(index)));
        let Repeat { source_stride, destination_stride, growth, .. } = self.repeat;
        Self::once(
            moved(self.source_offset, source_stride),
            moved(self.destination_offset, destination_stride),
            moved(self.size, growth),
        )
    }

    /// The total bytes of all regions.
    pub fn bytes(&self) -> u64 {
        let count = u64::from(self.repeat.count);
        let all = self.size.saturating_mul(count);
        // Of as many regions as a 32-bit number counts, this is below 2^63 / 2^31 times a growth.
        let steps = (count * count.saturating_sub(1) / 2).cast_signed();
        all.saturating_add_signed(steps.saturating_mul(self.repeat.growth))
    }

    /// The bytes that are read.
    pub(super) fn sources(self) -> Vec<Range<u64>> {
        let stride = self.repeat.source_stride;
        self.spans(stride, |region| span(region.source_offset, region.size))
    }

    /// The bytes that are written.
    pub(super) fn destinations(self) -> Vec<Range<u64>> {
        let stride = self.repeat.destination_stride;
        self.spans(stride, |region| span(region.destination_offset, region.size))
    }

    /// A single range if each region is adjacent to the next or overlaps it, else a range for each region.
    fn spans(self, stride: i64, of: impl Fn(&Self) -> Range<u64>) -> Vec<Range<u64>> {
        let ends: Vec<Self> =
            [self.regions().next(), self.regions().next_back()].into_iter().flatten().collect();
        let touch = ends.iter().all(|region| stride.unsigned_abs() <= region.size);
        if !touch {
            return self.regions().map(|region| of(&region)).collect();
        }
        let start = ends.iter().map(|region| of(region).start).min();
        let end = ends.iter().map(|region| of(region).end).max();
        start.zip(end).map(|(start, end)| start..end).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(stride: i64, growth: i64) -> CopyRegion {
        let repeat = Repeat { count: 3, source_stride: 0, destination_stride: stride, growth };
        CopyRegion { source_offset: 4, destination_offset: 100, size: 8, repeat }
    }

    #[test]
    fn a_loop_is_its_regions() {
        let regions: Vec<_> = rows(10, -2).regions().collect();
        let expected =
            [CopyRegion::once(4, 100, 8), CopyRegion::once(4, 110, 6), CopyRegion::once(4, 120, 4)];
        assert_eq!(regions, expected);
        assert_eq!((rows(10, -2).bytes(), rows(10, 3).bytes()), (18, 33));
        assert_eq!(CopyRegion::once(1, 2, 3).regions().collect::<Vec<_>>().len(), 1);
    }

    #[test]
    fn regions_that_touch_are_one_range() {
        assert_eq!(rows(8, 0).destinations(), vec![100..124]);
        assert_eq!(rows(-8, 0).destinations(), vec![84..108]);
        assert_eq!(rows(8, -1).destinations(), vec![100..108, 108..115, 116..122]);
        assert_eq!(rows(4, -2).destinations(), vec![100..112]);
        // The end of an earlier region may come after that of the last one.
        assert_eq!(rows(1, -3).destinations(), vec![100..108]);
        assert_eq!(rows(8, 0).sources(), vec![4..12]);
    }
}
