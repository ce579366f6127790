//! The results as grids: data types by ranks, for every operator and feature level. If tensors differ in
//! type, types by types, over all ranks. Equal rows are merged, and equal columns too: a page of all
//! operators has some thousand cells, not a million.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dml::{DataType, FeatureLevel};
use dml_reference::Signature;

use super::mark::Mark;
use crate::report::text::thousands;
use crate::results::{CaseResult, Counts, Passes, Support, TargetRun};

/// An answer of the support query, and its look in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Its name, which is the CSS class for its colour.
    pub(super) name: &'static str,
    /// The letter that shows it without colour.
    pub(super) letter: &'static str,
    /// The meaning of the answer.
    pub(super) meaning: &'static str,
}

const fn answer(name: &'static str, letter: &'static str, meaning: &'static str) -> Answer {
    Answer { name, letter, meaning }
}

/// All answers, those that run first.
pub(super) const ANSWERS: [Answer; 6] = [
    answer("native", "N", "the device has what the type needs"),
    answer("emulated", "E", "the device lacks it; the runtime delivers the same bits"),
    answer("needs-level", "↑", "a higher feature level accepts it"),
    answer("not-implemented", "–", "this runtime does not have it"),
    answer("undocumented", "?", "DirectML's reference does not say"),
    answer("never", "·", "no feature level accepts it"),
];

/// For cases without an answer of the support query, and for answers of other versions.
const UNKNOWN: Answer = answer("unknown", " ", "no answer");

/// The answers and counts of one signature at one level, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The ranks of each answer of the support query, which is a name and a text.
    answers: BTreeMap<(String, String), BTreeSet<usize>>,
    counts: Counts,
}

/// The entries at one level, or at several with equal entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    levels: (FeatureLevel, FeatureLevel),
    places: BTreeMap<Signature, Entry>,
}

/// An operator's name, the results of all its cases, and its grids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperatorView {
    pub(super) name: String,
    pub(super) mark: Mark,
    /// The number of cases that were executed.
    pub(super) executed: String,
    pub(super) grids: Vec<Grid>,
}

/// A grid for the template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GridView {
    /// The headings of the columns.
    pub(super) headings: Vec<String>,
    /// The heading of each row, and its entries.
    pub(super) rows: Vec<(String, Vec<Entry>)>,
}

/// The heading of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Rank(usize),
    Type(DataType),
}

/// The grids of a target's operators, by name.
pub(super) fn operators(target: &TargetRun) -> Vec<OperatorView> {
    let counts = target.operators();
    let view = |(name, grids): (String, Vec<Grid>)| {
        let counts = counts.get(&name).copied().unwrap_or_default();
        let executed = thousands(counts.executed());
        OperatorView { name, mark: Mark::of(counts), executed, grids }
    };
    grids(target).into_iter().map(view).collect()
}

fn grids(target: &TargetRun) -> BTreeMap<String, Vec<Grid>> {
    let mut grids = BTreeMap::<String, Vec<Grid>>::new();
    for ((name, level), places) in entries(target) {
        let grids = grids.entry(name.to_uppercase()).or_default();
        match grids.last_mut() {
            Some(grid) if grid.places == places => grid.levels.1 = level,
            _ => grids.push(Grid { levels: (level, level), places }),
        }
    }
    grids
}

type Entries = BTreeMap<(String, FeatureLevel), BTreeMap<Signature, Entry>>;

/// The entries of each operator at each level.
fn entries(target: &TargetRun) -> Entries {
    let mut entries = Entries::new();
    for Support { operator, at, answer, text } in &target.support {
        for level in at.levels() {
            let places = entries.entry((operator.to_lowercase(), *level)).or_default();
            for signature in at.signatures() {
                let rank = signature.rank;
                let answers = &mut places.entry(signature).or_default().answers;
                answers.entry((answer.clone(), text.clone())).or_default().insert(rank);
            }
        }
    }
    for passes in &target.passes {
        let Passes { operator, at, .. } = passes;
        for level in at.levels() {
            let places = entries.entry((operator.to_lowercase(), *level)).or_default();
            for signature in at.signatures() {
                let mut counts = Counts::on(&target.device);
                counts.passed(passes, 1);
                places.entry(signature).or_default().counts.merge(counts);
            }
        }
    }
    for case in &target.cases {
        let mut counts = Counts::on(&target.device);
        counts.add(case.result, case.execution());
        let CaseResult { id, .. } = case;
        let places = entries.entry((id.operator.clone(), id.level)).or_default();
        places.entry(id.signature.clone()).or_default().counts.merge(counts);
    }
    entries
}

impl Grid {
    /// Whether the grid is for several levels.
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

    /// Whether the grid shows types by types: a column is the last type of a signature, an entry has every rank.
    pub(super) fn is_by_types(&self) -> bool {
        self.places.keys().any(|signature| signature.types.len() > 1)
    }

    /// A row for each data type, or for each list of types without the last, with an entry for each column;
    /// equal rows and columns are merged.
    pub(super) fn shown(&self) -> GridView {
        let columns: BTreeSet<Column> = self.places.keys().map(|it| self.place(it).1).collect();
        let mut table = BTreeMap::<Vec<DataType>, BTreeMap<Column, Entry>>::new();
        for (signature, entry) in &self.places {
            let (row, column) = self.place(signature);
            table.entry(row).or_default().entry(column).or_default().merge(entry);
        }
        let row = |(types, mut entries): (Vec<DataType>, BTreeMap<Column, Entry>)| {
            let names: Vec<&str> = types.iter().map(|data_type| data_type.name()).collect();
            let entry = |column| entries.remove(column).unwrap_or_default();
            (vec![names.join("-")], columns.iter().map(entry).collect())
        };
        let rows = merged(table.into_iter().map(row).collect());
        let heading = |column: &Column| vec![*column];
        let columns = merged(transposed(columns.iter().map(heading).collect(), &rows));
        let headings = columns.iter().map(|(columns, _)| column_heading(columns)).collect();
        let row_headings: Vec<Vec<String>> = rows.into_iter().map(|(names, _)| names).collect();
        let rows = transposed(row_headings, &columns).into_iter();
        GridView {
            headings,
            rows: rows.map(|(names, entries)| (names.join(", "), entries)).collect(),
        }
    }

    /// The row and the column of a signature.
    fn place(&self, signature: &Signature) -> (Vec<DataType>, Column) {
        let mut types = signature.types.clone();
        let last = if self.is_by_types() { types.pop() } else { None };
        (types, last.map_or(Column::Rank(signature.rank), Column::Type))
    }
}

/// The names of a row or column, and its entries.
type Line<H> = (Vec<H>, Vec<Entry>);

/// The lines with equal ones merged, at the position of the first of them.
fn merged<H>(lines: Vec<Line<H>>) -> Vec<Line<H>> {
    let mut places = HashMap::new();
    let mut merged = Vec::<Line<H>>::new();
    for (names, entries) in lines {
        let look: Vec<Look> = entries.iter().map(Entry::look).collect();
        let place = *places.entry(look).or_insert(merged.len());
        match merged.get_mut(place) {
            Some((of, sums)) => {
                of.extend(names);
                sums.iter_mut().zip(&entries).for_each(|(sum, entry)| sum.merge(entry));
            }
            None => merged.push((names, entries)),
        }
    }
    merged
}

/// The transposed `lines`, with these names.
fn transposed<H, I>(names: Vec<Vec<H>>, lines: &[Line<I>]) -> Vec<Line<H>> {
    let across = |(place, names)| {
        let entries = lines.iter().filter_map(|(_, entries)| entries.get(place).cloned());
        (names, entries.collect())
    };
    names.into_iter().enumerate().map(across).collect()
}

/// `1-4, 8` for ranks, or the names of types.
fn column_heading(columns: &[Column]) -> String {
    let mut parts = Vec::<(String, Option<[usize; 2]>)>::new();
    for column in columns {
        match (column, parts.last_mut()) {
            (Column::Rank(rank), Some((_, Some([_, last])))) if *last + 1 == *rank => *last = *rank,
            (Column::Rank(rank), _) => parts.push((String::new(), Some([*rank; 2]))),
            (Column::Type(data_type), _) => parts.push((data_type.name().to_owned(), None)),
        }
    }
    let text = |(name, ranks): (String, Option<[usize; 2]>)| match ranks {
        Some([first, last]) if first == last => first.to_string(),
        Some([first, last]) => format!("{first}-{last}"),
        None => name,
    };
    parts.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The visible part of an entry: its text, its class, and its counts if something did not pass.
type Look = (String, &'static str, Option<String>);

impl Entry {
    fn merge(&mut self, other: &Self) {
        for (answer, ranks) in &other.answers {
            self.answers.entry(answer.clone()).or_default().extend(ranks);
        }
        self.counts.merge(other.counts);
    }

    fn look(&self) -> Look {
        let mark = self.mark();
        let words = matches!(mark.class, "part" | "bad").then_some(mark.words);
        (self.answer_text(), mark.class, words)
    }

    /// The best of the answers.
    pub(super) fn answer(&self) -> Answer {
        let is_said = |answer: &Answer| self.answers.keys().any(|(name, _)| name == answer.name);
        ANSWERS.into_iter().find(is_said).unwrap_or(UNKNOWN)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark::of(self.counts)
    }

    /// The number of failures; 0 is not shown.
    pub(super) fn failures(&self) -> u64 {
        self.counts.failures()
    }

    /// The answers and the counts as text.
    pub(super) fn text(&self) -> String {
        format!("{}: {}", self.answer_text(), self.mark().words)
    }

    /// `native`, or `native at rank 4, needs feature level 3_0 at ranks 1, 2, 3`.
    fn answer_text(&self) -> String {
        let mut by_text = BTreeMap::<&str, BTreeSet<usize>>::new();
        for ((_, text), ranks) in &self.answers {
            by_text.entry(text).or_default().extend(ranks);
        }
        if by_text.len() < 2 {
            let text = by_text.into_keys().next().filter(|text| !text.is_empty());
            return text.unwrap_or(self.answer().meaning).to_owned();
        }
        let part = |(text, ranks): (&str, BTreeSet<usize>)| {
            let word = if ranks.len() == 1 { "rank" } else { "ranks" };
            let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
            format!("{text} at {word} {}", ranks.join(", "))
        };
        by_text.into_iter().map(part).collect::<Vec<_>>().join(", ")
    }
}
