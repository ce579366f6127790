//! What runs where: data types by ranks, for every operator and feature level. Where tensors differ in
//! type it is types by types, over all ranks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use dml::{DataType, FeatureLevel};
use dml_ops::reference::Signature;

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

/// What is known about one signature at one level, or about types at every rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    answers: Vec<RankAnswer>,
    counts: Counts,
}

/// What the support query says of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RankAnswer {
    rank: usize,
    answer: String,
    text: String,
}

/// What holds at one level, or at several that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    levels: (FeatureLevel, FeatureLevel),
    places: BTreeMap<Signature, Entry>,
}

/// What a column stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Rank(usize),
    Type(DataType),
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rank(rank) => write!(f, "{rank}"),
            Self::Type(data_type) => f.write_str(data_type.name()),
        }
    }
}

/// The grids of a target's operators, by name.
pub(super) fn operators(target: &TargetRun) -> Vec<(String, Vec<Grid>)> {
    let mut entries = BTreeMap::<(String, FeatureLevel), BTreeMap<Signature, Entry>>::new();
    for cell in &target.support {
        let signature = Signature::from_names(&cell.data_type, cell.rank);
        let (Ok(level), Some(signature)) = (cell.level.parse(), signature) else { continue };
        let places = entries.entry((cell.operator.to_lowercase(), level)).or_default();
        let (answer, text) = (cell.answer.clone(), cell.text.clone());
        let answer = RankAnswer { rank: cell.rank, answer, text };
        places.entry(signature).or_default().answers.push(answer);
    }
    for CaseResult { id, result, .. } in &target.cases {
        let mut counts = Counts::on(&target.device);
        counts.add(*result);
        let places = entries.entry((id.operator.clone(), id.level)).or_default();
        places.entry(id.signature.clone()).or_default().counts.merge(counts);
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

    /// Whether it shows types by types: a column is the last type of a signature, an entry has every
    /// rank.
    pub(super) fn is_by_types(&self) -> bool {
        self.places.keys().any(|signature| signature.types.len() > 1)
    }

    /// The headings of the columns.
    pub(super) fn headings(&self) -> Vec<String> {
        self.columns().iter().map(ToString::to_string).collect()
    }

    fn columns(&self) -> BTreeSet<Column> {
        self.places.keys().map(|signature| self.place(signature).1).collect()
    }

    /// A row for each data type, or for each list of types but the last, with an entry for each
    /// column.
    pub(super) fn rows(&self) -> Vec<(String, Vec<Entry>)> {
        let columns = self.columns();
        let mut rows = BTreeMap::<Vec<DataType>, BTreeMap<Column, Entry>>::new();
        for (signature, entry) in &self.places {
            let (row, column) = self.place(signature);
            rows.entry(row).or_default().entry(column).or_default().merge(entry);
        }
        let row = |(types, mut entries): (Vec<DataType>, BTreeMap<Column, Entry>)| {
            let names: Vec<&str> = types.iter().map(|it| it.name()).collect();
            let entry = |column| entries.remove(column).unwrap_or_default();
            (names.join("-"), columns.iter().map(entry).collect())
        };
        rows.into_iter().map(row).collect()
    }

    /// The row and the column of a signature.
    fn place(&self, signature: &Signature) -> (Vec<DataType>, Column) {
        let mut types = signature.types.clone();
        let last = if self.is_by_types() { types.pop() } else { None };
        (types, last.map_or(Column::Rank(signature.rank), Column::Type))
    }
}

impl Entry {
    fn merge(&mut self, other: &Self) {
        self.answers.extend_from_slice(&other.answers);
        self.counts.merge(other.counts);
    }

    /// The best of the answers.
    pub(super) fn answer(&self) -> Answer {
        let is_said = |answer: &Answer| self.answers.iter().any(|it| it.answer == answer.name);
        ANSWERS.into_iter().find(is_said).unwrap_or(UNKNOWN)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark::of(self.counts)
    }

    /// Failures; 0 is not shown.
    pub(super) fn failures(&self) -> u64 {
        self.counts.failures()
    }

    /// The answers and the counts in words.
    pub(super) fn text(&self) -> String {
        format!("{}: {}", self.answer_text(), self.mark().words)
    }

    /// `native`, or `native at rank 4, needs feature level 3_0 at ranks 1, 2, 3`.
    fn answer_text(&self) -> String {
        let mut ranks = BTreeMap::<&str, Vec<String>>::new();
        for answer in &self.answers {
            ranks.entry(&answer.text).or_default().push(answer.rank.to_string());
        }
        if ranks.len() < 2 {
            let text = ranks.into_keys().next().filter(|text| !text.is_empty());
            return text.unwrap_or(self.answer().meaning).to_owned();
        }
        let part = |(text, ranks): (&str, Vec<String>)| {
            let word = if ranks.len() == 1 { "rank" } else { "ranks" };
            format!("{text} at {word} {}", ranks.join(", "))
        };
        ranks.into_iter().map(part).collect::<Vec<_>>().join(", ")
    }
}
