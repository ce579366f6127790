//! Levels, types and ranks that have something in common, told in few words.

use std::collections::{BTreeMap, BTreeSet};

use dml::{DataType, FeatureLevel};
use dml_reference::Signature;
use serde::{Deserialize, Serialize};

/// Every one of some data types at every one of some ranks at every level of a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The first and the last feature level.
    pub levels: [String; 2],
    /// The data types; where tensors differ in type, the types with a dash between them.
    pub data_types: Vec<String>,
    /// Dimensions.
    pub ranks: Vec<usize>,
}

/// A signature at a level.
pub(crate) type SignatureAtLevel = (FeatureLevel, Signature);

impl Block {
    /// Blocks for the places of each value: together they have every place once.
    pub(crate) fn group<V: Ord>(
        places: impl IntoIterator<Item = (SignatureAtLevel, V)>,
    ) -> Vec<(Self, V)> {
        let mut by_signature = BTreeMap::<Signature, BTreeMap<FeatureLevel, V>>::new();
        for ((level, signature), value) in places {
            by_signature.entry(signature).or_default().insert(level, value);
        }
        let mut ranks = BTreeMap::<_, BTreeSet<usize>>::new();
        for (signature, levels) in by_signature {
            for (range, value) in ranges(levels) {
                let key = (range, signature.types.clone(), value);
                ranks.entry(key).or_default().insert(signature.rank);
            }
        }
        let mut types = BTreeMap::<_, Vec<Vec<DataType>>>::new();
        for ((range, list, value), ranks) in ranks {
            types.entry((range, ranks, value)).or_default().push(list);
        }
        let block = |((range, ranks, value), types): ((_, BTreeSet<usize>, V), Vec<Vec<_>>)| {
            let names = |types| Signature { types, rank: 1 }.type_names();
            let levels = <[FeatureLevel; 2]>::map(range, |level| level.to_string());
            let data_types = types.into_iter().map(names).collect();
            (Self { levels, data_types, ranks: ranks.into_iter().collect() }, value)
        };
        types.into_iter().map(block).collect()
    }

    /// The levels; none where this version does not know one of their names.
    pub fn levels(&self) -> &'static [FeatureLevel] {
        let place = |name: &String| {
            let level = name.parse().ok()?;
            FeatureLevel::ALL.iter().position(|it| *it == level)
        };
        let [first, last] = self.levels.each_ref().map(place);
        let range = first.zip(last).and_then(|(first, last)| FeatureLevel::ALL.get(first..=last));
        range.unwrap_or_default()
    }

    /// The signatures at each level, but for those with types that this version does not know.
    pub fn signatures(&self) -> impl Iterator<Item = Signature> {
        let of_rank = |rank: &usize| {
            let rank = *rank;
            self.data_types.iter().filter_map(move |types| Signature::from_names(types, rank))
        };
        self.ranks.iter().flat_map(of_rank)
    }

    /// How many places it has at one level.
    pub fn places_at_a_level(&self) -> u64 {
        self.data_types.len() as u64 * self.ranks.len() as u64
    }
}

/// Ranges of neighbouring levels with the same value.
fn ranges<V: Ord>(levels: BTreeMap<FeatureLevel, V>) -> Vec<([FeatureLevel; 2], V)> {
    let next = |level| {
        let place = FeatureLevel::ALL.iter().position(|it| *it == level)?;
        FeatureLevel::ALL.get(place + 1).copied()
    };
    let mut ranges = Vec::<([FeatureLevel; 2], V)>::new();
    for (level, value) in levels {
        match ranges.last_mut() {
            Some((range, last)) if *last == value && next(range[1]) == Some(level) => {
                range[1] = level;
            }
            _ => ranges.push(([level; 2], value)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_each_place_once_with_its_value() {
        let value = |level: FeatureLevel, signature: &Signature| {
            let is_old = level < FeatureLevel::V3_0;
            let is_wide = signature.rank > 4 || signature.data_type() == DataType::Int8;
            (!(is_old && is_wide))
                .then_some(u64::from(is_wide) + u64::from(level.to_string() == "4_1"))
        };
        let mut places = Vec::new();
        for level in FeatureLevel::ALL {
            let valued = |it: Signature| Some((value(level, &it)?, it));
            let all = Signature::all(&dml::core::operators::ELEMENT_WISE_ADD).filter_map(valued);
            places.extend(all.map(|(value, signature)| ((level, signature), value)));
        }
        let blocks = Block::group(places.clone());
        assert!(blocks.len() < 20, "{blocks:?}");
        let mut found = Vec::new();
        for (block, value) in &blocks {
            assert_eq!(block.signatures().count() as u64, block.places_at_a_level());
            for level in block.levels() {
                found.extend(block.signatures().map(|signature| ((*level, signature), *value)));
            }
        }
        found.sort();
        places.sort();
        assert_eq!(found, places);
    }

    #[test]
    fn names_of_other_versions_have_no_places() {
        let block = |level: &str, data_type: &str| Block {
            levels: ["5_1".to_owned(), level.to_owned()],
            data_types: vec!["INT8".to_owned(), data_type.to_owned()],
            ranks: vec![1, 2],
        };
        assert_eq!(block("9_9", "INT8").levels(), []);
        assert_eq!(block("5_0", "INT8").levels(), []);
        assert_eq!(block("6_4", "INT7").signatures().count(), 2);
    }
}
