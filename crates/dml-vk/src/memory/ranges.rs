//! Sets of bytes.

use std::ops::Range;

/// The largest set that is united range by range; larger ones by sorting.
const MAX_ADDITIONS: usize = 16;

/// A set of bytes, as sorted ranges that neither touch nor overlap. `T` is how places of bytes are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges<T>(Vec<Range<T>>);

impl<T: Copy + Ord> Ranges<T> {
    /// The bytes in any of `ranges`, none of which is empty.
    pub(crate) fn of(mut ranges: Vec<Range<T>>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, kept| {
            let joined = next.start <= kept.end;
            if joined {
                kept.end = kept.end.max(next.end);
            }
            joined
        });
        Self(ranges)
    }

    /// Adds the bytes of `other`. The time depends on the size of `other` alone if most of its ranges are
    /// after the existing ones or within them.
    pub(crate) fn unite(&mut self, mut other: Self) {
        if self.0.len() < other.0.len() {
            std::mem::swap(&mut self.0, &mut other.0);
        }
        // Each addition may move all ranges after it.
        if other.0.len() > MAX_ADDITIONS {
            self.0.append(&mut other.0);
            *self = Self::of(std::mem::take(&mut self.0));
            return;
        }
        for range in other.0 {
            self.add(range);
        }
    }

    fn add(&mut self, range: Range<T>) {
        let from = self.0.partition_point(|one| one.end < range.start);
        let to = self.0.partition_point(|one| one.start <= range.end);
        let joined = match &self.0[from..to] {
            [] => range,
            [first, ..] => range.start.min(first.start)..range.end.max(self.0[to - 1].end),
        };
        self.0.splice(from..to, [joined]);
    }

    /// Whether any byte is in both.
    pub(crate) fn meet(&self, other: &Self) -> bool {
        let (few, many) = if self.0.len() < other.0.len() { (self, other) } else { (other, self) };
        few.0.iter().any(|range| {
            let at = many.0.partition_point(|one| one.end <= range.start);
            many.0.get(at).is_some_and(|one| one.start < range.end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranges: &[Range<u64>]) -> Ranges<u64> {
        Ranges::of(ranges.to_vec())
    }

    #[test]
    fn ranges_that_touch_join() {
        assert_eq!(of(&[8..12, 0..4, 4..8, 20..24, 21..22]).0, [0..12, 20..24]);
    }

    #[test]
    fn sets_meet_where_they_share_a_byte() {
        assert!(of(&[0..4, 8..12]).meet(&of(&[4..8, 11..20])));
        assert!(!of(&[0..4, 8..12]).meet(&of(&[4..8, 12..20])));
        assert!(of(&[9..10, 30..31]).meet(&of(&[0..4, 8..12, 16..20])));
        assert!(!of(&[]).meet(&of(&[0..4, 8..12])));
    }

    #[test]
    fn a_union_is_what_all_ranges_together_are() {
        let sets = |seed: u64| {
            let at = move |index: u64| (index * seed * 37) % 101;
            (1..7).map(move |index| at(index)..at(index) + 1 + at(index + 7) % 9)
        };
        let many = |seed| (0..40).map(move |at| (at * seed * 3)..(at * seed * 3 + 2));
        for (a, b) in (1..30).flat_map(|a| (1..30).map(move |b| (a, b))) {
            let mut united = Ranges::of(sets(a).take(4).collect());
            united.unite(Ranges::of(sets(b).collect()));
            assert_eq!(united, Ranges::of(sets(a).take(4).chain(sets(b)).collect()), "{a} {b}");
            let mut united = Ranges::of(many(a).collect());
            united.unite(Ranges::of(many(b).collect()));
            assert_eq!(united, Ranges::of(many(a).chain(many(b)).collect()), "{a} {b}");
        }
    }
}
