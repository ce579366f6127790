//! What runs where: data types by ranks, for every operator and feature level.

use std::collections::BTreeMap;

use dml::{DataType, FeatureLevel};

use super::mark::Mark;
use crate::results::{Counts, TargetRun};

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

/// One operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperatorView {
    pub(super) name: String,
    pub(super) grids: Vec<GridView>,
}

/// What holds at one level, or at several that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GridView {
    /// `5_1`, or `5_1 to 6_4`.
    pub(super) levels: String,
    /// Whether it stands for several levels.
    pub(super) is_several: bool,
    pub(super) mark: Mark,
    pub(super) ranks: Vec<usize>,
    pub(super) rows: Vec<RowView>,
}

/// One data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowView {
    pub(super) data_type: &'static str,
    pub(super) cells: Vec<CellView>,
}

/// One data type at one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CellView {
    /// The answer's class, and the verdict's.
    pub(super) class: String,
    pub(super) letter: &'static str,
    /// Failures; 0 is not shown.
    pub(super) failures: u64,
    /// The answer and the counts in words.
    pub(super) text: String,
}

/// A data type and a rank.
type Place = (DataType, usize);

/// What is known about a place at one level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    answer: String,
    text: String,
    counts: Counts,
}

type Level = BTreeMap<Place, Entry>;

/// The operators of a target, by name.
pub(super) fn operators(target: &TargetRun) -> Vec<OperatorView> {
    let mut operators = BTreeMap::<String, BTreeMap<FeatureLevel, Level>>::new();
    for cell in &target.support {
        let (Ok(level), Ok(data_type)) = (cell.level.parse(), cell.data_type.parse()) else {
            continue;
        };
        let levels = operators.entry(cell.operator.to_lowercase()).or_default();
        let entry = levels.entry(level).or_default().entry((data_type, cell.rank)).or_default();
        entry.answer.clone_from(&cell.answer);
        entry.text.clone_from(&cell.text);
    }
    for case in &target.cases {
        let id = &case.id;
        let levels = operators.entry(id.operator.clone()).or_default();
        let mut counts = Counts::on(&target.device);
        counts.add(case.result);
        let entry = levels.entry(id.level).or_default().entry((id.data_type, id.rank)).or_default();
        entry.counts.merge(counts);
    }
    operators.into_iter().map(|(name, levels)| OperatorView::new(&name, &levels)).collect()
}

impl OperatorView {
    fn new(name: &str, levels: &BTreeMap<FeatureLevel, Level>) -> Self {
        let levels: Vec<(&FeatureLevel, &Level)> = levels.iter().collect();
        let alike = levels.chunk_by(|(_, one), (_, other)| one == other);
        let grids = alike.map(GridView::new).collect();
        Self { name: name.to_uppercase(), grids }
    }
}

impl GridView {
    /// Of levels that are alike, of which there is at least one.
    fn new(levels: &[(&FeatureLevel, &Level)]) -> Self {
        let ((first, level), (last, _)) = (levels[0], levels[levels.len() - 1]);
        let mut total = Counts::default();
        level.values().for_each(|entry| total.merge(entry.counts));
        let mut ranks: Vec<usize> = level.keys().map(|(_, rank)| *rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let row = |data_type: DataType| {
            let cell = |rank: &usize| CellView::new(level.get(&(data_type, *rank)));
            RowView { data_type: data_type.name(), cells: ranks.iter().map(cell).collect() }
        };
        let has = |data_type: &DataType| level.keys().any(|(it, _)| it == data_type);
        let is_several = first != last;
        Self {
            levels: if is_several { format!("{first} to {last}") } else { first.to_string() },
            is_several,
            mark: Mark::of(total),
            rows: DataType::ALL.into_iter().filter(has).map(row).collect(),
            ranks,
        }
    }
}

impl CellView {
    fn new(entry: Option<&Entry>) -> Self {
        let nothing = Entry::default();
        let entry = entry.unwrap_or(&nothing);
        let known = ANSWERS.into_iter().find(|answer| answer.name == entry.answer);
        let answer = known.unwrap_or(UNKNOWN);
        let mark = Mark::of(entry.counts);
        let text = match entry.text.as_str() {
            "" => answer.meaning,
            text => text,
        };
        Self {
            class: format!("{} {}", answer.name, mark.class),
            letter: answer.letter,
            failures: entry.counts.failures(),
            text: format!("{text}: {}", mark.words),
        }
    }
}
