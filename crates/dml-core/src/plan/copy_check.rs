//! Checks that the regions of a copy do not overlap. Vulkan executes them in any order, so a byte that one
//! region writes and another one reads or writes has no defined value.

use std::ops::Range;

use super::Copy;
use super::alias::Aliases;
use super::invalid::InvalidCopy;
use super::region::CopyRegion;
use super::slot::{Access, Use, span};

impl Copy {
    /// Checks Vulkan's rules for the regions of a copy. The time depends on the number of loops, and on the
    /// number of their regions only if loops interleave.
    ///
    /// # Errors
    /// The first [`InvalidCopy`].
    pub fn check(&self) -> Result<(), InvalidCopy> {
        self.check_with(&Aliases::NONE)
    }

    /// Like [`Copy::check`], with slots that share memory as `aliases` states.
    pub(super) fn check_with(&self, aliases: &Aliases) -> Result<(), InvalidCopy> {
        let destination = aliases.slot(self.destination);
        if self.regions.is_empty() {
            return Err(InvalidCopy::NoRegion { destination });
        }
        let overlap =
            |[one, other]: [Range<u64>; 2]| InvalidCopy::Overlap { destination, one, other };
        for region in &self.regions {
            if !region.is_within_64_bits() {
                return Err(InvalidCopy::Region(*region));
            }
            region.overlap_of_neighbours().map_or(Ok(()), |it| Err(overlap(it)))?;
        }
        // In most plans the ranges that enclose loops do not overlap.
        let touching = |mut uses: Vec<Use>| {
            uses.retain(|it| aliases.slot(it.slot) == destination);
            first_overlap(uses)
        };
        if touching(self.bounds()).is_none() {
            return Ok(());
        }
        touching(self.uses()).map_or(Ok(()), |it| Err(overlap(it)))
    }

    /// The byte ranges that the copy reads and writes.
    pub(super) fn uses(&self) -> Vec<Use> {
        self.touched(CopyRegion::sources, CopyRegion::destinations)
    }

    /// The byte ranges that the copy reads and writes: for each loop, from its first byte to its last.
    pub(super) fn bounds(&self) -> Vec<Use> {
        self.touched(
            |region| [enclosing(region, CopyRegion::source)],
            |region| [enclosing(region, CopyRegion::destination)],
        )
    }

    fn touched<R: IntoIterator<Item = Range<u64>>>(
        &self,
        sources: impl Fn(CopyRegion) -> R,
        destinations: impl Fn(CopyRegion) -> R,
    ) -> Vec<Use> {
        let read = |range| Use { slot: self.source, range, access: Access::Read };
        let written = |range| Use { slot: self.destination, range, access: Access::Write };
        let touched = self.regions.iter().flat_map(|region| {
            let written = destinations(*region).into_iter().map(written);
            sources(*region).into_iter().map(read).chain(written)
        });
        touched.collect()
    }
}

/// Two ranges of one buffer that share a byte, at least one of which is written.
fn first_overlap(mut uses: Vec<Use>) -> Option<[Range<u64>; 2]> {
    // Loops are sorted already, which makes this sort fast.
    uses.sort_by_key(|it| it.range.start);
    // The written and the read range with the greatest end among the ranges so far.
    let (mut written, mut read) = (0..0, 0..0);
    for Use { range, access, .. } in uses {
        let is_read_below = access.writes() && read.end > range.start;
        let below = if is_read_below { &read } else { &written };
        if below.end > range.start {
            return Some([below.clone(), range]);
        }
        let farthest = if access.writes() { &mut written } else { &mut read };
        if farthest.end < range.end {
            *farthest = range;
        }
    }
    None
}

/// The range from the first byte to the last that a loop reads or writes.
fn enclosing(region: CopyRegion, of: impl Fn(&CopyRegion) -> Range<u64>) -> Range<u64> {
    let (first, last) = (of(&region), of(&region.last()));
    first.start.min(last.start)..first.end.max(last.end)
}

impl CopyRegion {
    fn source(&self) -> Range<u64> {
        span(self.source_offset, self.size)
    }

    fn destination(&self) -> Range<u64> {
        span(self.destination_offset, self.size)
    }

    fn last(&self) -> Self {
        self.at(self.repeat.count.saturating_sub(1))
    }

    /// Whether no region of the loop passes 2^64. Offsets and sizes change linearly, so that the first and the
    /// last region decide, if the steps between them do not overflow.
    fn is_within_64_bits(&self) -> bool {
        let Some(steps) = self.repeat.count.checked_sub(1).map(i128::from) else { return false };
        let arrives = |from: u64, by: i64, at: u64| {
            i128::from(from) + steps * i128::from(by) == i128::from(at)
        };
        let has_end = |region: &Self| {
            let ends = [region.source_offset, region.destination_offset];
            region.size > 0 && ends.iter().all(|start| start.checked_add(region.size).is_some())
        };
        let (last, repeat) = (self.last(), &self.repeat);
        arrives(self.source_offset, repeat.source_stride, last.source_offset)
            && arrives(self.destination_offset, repeat.destination_stride, last.destination_offset)
            && arrives(self.size, repeat.growth, last.size)
            && has_end(self)
            && has_end(&last)
    }

    /// Two consecutive destinations of the loop that share a byte. If no consecutive ones do, no others do:
    /// each begins at or after the end of the one below it.
    fn overlap_of_neighbours(&self) -> Option<[Range<u64>; 2]> {
        let stride = self.repeat.destination_stride;
        // The longest regions are at an end of the loop.
        let firsts = [0, self.repeat.count.checked_sub(2)?];
        firsts.into_iter().find_map(|first| {
            let (one, other) = (self.at(first), self.at(first + 1));
            let lower = if stride < 0 { &other } else { &one };
            let overlaps = lower.size > stride.unsigned_abs();
            overlaps.then(|| [one.destination(), other.destination()])
        })
    }
}

#[cfg(test)]
mod tests;
