//! What runs where: data types by ranks, for every operator and feature level.

use std::collections::{BTreeMap, BTreeSet};

use dml::{DataType, FeatureLevel};

use super::mark::Mark;
use crate::results::{CaseResult, Counts, TargetRun};

/// An answer of the support query, and how a cell shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Its name, which is the class that colours it.
    pub(super) name: &'static str,
    /// The same without colour.
    pub(super) letter: &'static str,
    /// What it means.
    pub(super) meaning: &'static str,
}

const fn answer(name: &'static str, letter: &'static str, meaning: &'static str) -> Answer {
    Answer { name, letter, meaning }
}

/// All of them, what runs first.
pub(super) const ANSWERS: [Answer; 6] = [
    answer("native", "N", "the device has what the type needs"),
    answer("emulated", "E", "the device lacks it; the runtime delivers the same bits"),
    answer("needs-level", "↑", "a higher feature level accepts it"),
    answer("not-implemented", "–", "this runtime does not have it"),
    answer("undocumented", "?", "DirectML's reference does not say"),
    answer("never", "·", "no feature level accepts it"),
];

/// For cases that the support query was not asked about, and for answers of other versions.
const UNKNOWN: Answer = answer("unknown", " ", "no answer");

/// A data type and a rank.
type Place = (DataType, usize);

/// What is known about a place at one level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    answer: String,
    text: String,
    counts: Counts,
}

/// What holds at one level, or at several that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    levels: (FeatureLevel, FeatureLevel),
    places: BTreeMap<Place, Entry>,
}

/// The grids of a target's operators, by name.
pub(super) fn operators(target: &TargetRun) -> Vec<(String, Vec<Grid>)> {
    let mut entries = BTreeMap::<(String, FeatureLevel), BTreeMap<Place, Entry>>::new();
    for cell in &target.support {
        let (Ok(level), Ok(data_type)) = (cell.level.parse(), cell.data_type.parse()) else {
            continue;
        };
        let places = entries.entry((cell.operator.to_lowercase(), level)).or_default();
        let entry = places.entry((data_type, cell.rank)).or_default();
        entry.answer.clone_from(&cell.answer);
        entry.text.clone_from(&cell.text);
    }
    for CaseResult { id, result, .. } in &target.cases {
        let mut counts = Counts::on(&target.device);
        counts.add(*result);
        let places = entries.entry((id.operator.clone(), id.level)).or_default();
        places.entry((id.data_type, id.rank)).or_default().counts.merge(counts);
    }
    let mut operators = Vec::<(String, Vec<Grid>)>::new();
    for ((name, level), places) in entries {
        let name = name.to_uppercase();
        if operators.last().is_none_or(|(other, _)| *other != name) {
            operators.push((name, Vec::new()));
        }
        let Some((_, grids)) = operators.last_mut() else { continue };
        match grids.last_mut() {
            Some(grid) if grid.places == places => grid.levels.1 = level,
            _ => grids.push(Grid { levels: (level, level), places }),
        }
    }
    operators
}

impl Grid {
    /// Whether it stands for several levels.
    pub(super) fn is_several(&self) -> bool {
        self.levels.0 != self.levels.1
    }

    /// `5_1`, or `5_1 to 6_4`.
    pub(super) fn levels(&self) -> String {
        let (first, last) = self.levels;
        if self.is_several() { format!("{first} to {last}") } else { first.to_string() }
    }

    pub(super) fn mark(&self) -> Mark {
        let mut total = Counts::default();
        self.places.values().for_each(|entry| total.merge(entry.counts));
        Mark::of(total)
    }

    pub(super) fn ranks(&self) -> BTreeSet<usize> {
        self.places.keys().map(|(_, rank)| *rank).collect()
    }

    /// A row for each data type, with an entry for each rank.
    pub(super) fn rows(&self) -> Vec<(&'static str, Vec<Entry>)> {
        let ranks = self.ranks();
        let has = |data_type: &DataType| self.places.keys().any(|(it, _)| it == data_type);
        let entry = |place: Place| self.places.get(&place).cloned().unwrap_or_default();
        let row = |data_type: DataType| {
            (data_type.name(), ranks.iter().map(|rank| entry((data_type, *rank))).collect())
        };
        DataType::ALL.into_iter().filter(has).map(row).collect()
    }
}

impl Entry {
    pub(super) fn answer(&self) -> Answer {
        ANSWERS.into_iter().find(|answer| answer.name == self.answer).unwrap_or(UNKNOWN)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark::of(self.counts)
    }

    /// Failures; 0 is not shown.
    pub(super) fn failures(&self) -> u64 {
        self.counts.failures()
    }

    /// The answer and the counts in words.
    pub(super) fn text(&self) -> String {
        let text = if self.text.is_empty() { self.answer().meaning } else { &self.text };
        format!("{text}: {}", self.mark().words)
    }
}
