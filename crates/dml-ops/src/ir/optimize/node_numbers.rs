//! A set of node numbers.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Numbers in ascending order. Most buffers have one reader and one writer, which takes no allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeNumbers {
    /// The only number; `None` where there is none, or where there were several.
    one: Option<usize>,
    several: BTreeSet<usize>,
}

impl NodeNumbers {
    /// No numbers.
    pub(super) const NONE: &Self = &Self { one: None, several: BTreeSet::new() };

    pub(super) fn insert(&mut self, number: usize) {
        if self.several.is_empty() && self.one.is_none_or(|one| one == number) {
            self.one = Some(number);
        } else {
            self.several.extend(self.one.take());
            self.several.insert(number);
        }
    }

    pub(super) fn remove(&mut self, number: usize) {
        if self.one == Some(number) {
            self.one = None;
        } else {
            self.several.remove(&number);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.one.into_iter().chain(self.several.iter().copied())
    }

    /// Whether a number is in `range`.
    pub(super) fn has_within(&self, range: RangeInclusive<usize>) -> bool {
        self.one.is_some_and(|one| range.contains(&one))
            || self.several.range(range).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_a_set_in_its_order() {
        let (mut numbers, mut set) = (NodeNumbers::default(), BTreeSet::new());
        let mut state = 1usize;
        for _ in 0..2000 {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) % (1 << 31);
            let number = (state >> 8) % 5;
            // Half of the time there is at most one.
            match (state >> 16).is_multiple_of(2) && set.len() < 3 {
                true => {
                    numbers.insert(number);
                    set.insert(number);
                }
                false => {
                    numbers.remove(number);
                    set.remove(&number);
                }
            }
            assert!(numbers.iter().eq(set.iter().copied()), "{numbers:?} {set:?}");
            for range in (0..5).flat_map(|first| (first..5).map(move |last| first..=last)) {
                let expected = set.range(range.clone()).next().is_some();
                assert_eq!(numbers.has_within(range), expected, "{numbers:?}");
            }
        }
    }
}
