//! The checked-in table: how it is written, read and compared.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use anyhow::{Context as _, Result, ensure};

use crate::budgets::Counts;

/// The counts of one work on one profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkCount {
    /// The name of the work.
    pub work: String,
    /// The name of the profile.
    pub profile: String,
    /// The counts.
    pub counts: Counts,
}

/// Rows, each of another work or profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// In the order in which they are written.
    pub rows: Vec<WorkCount>,
}

/// A number of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// [`Counts::dispatches`].
    Dispatches,
    /// [`Counts::barriers`].
    Barriers,
    /// [`Counts::bytes_over_least`].
    BytesOverLeast,
    /// [`Counts::invocations`].
    Invocations,
    /// [`Counts::kernel_bytes`].
    KernelBytes,
    /// [`Counts::pipelines`].
    Pipelines,
}

impl Column {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 6] = [
        Self::Dispatches,
        Self::Barriers,
        Self::BytesOverLeast,
        Self::Invocations,
        Self::KernelBytes,
        Self::Pipelines,
    ];

    /// Its title in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dispatches => "dispatches",
            Self::Barriers => "barriers",
            Self::BytesOverLeast => "bytes/least",
            Self::Invocations => "invocations",
            Self::KernelBytes => "kernel-bytes",
            Self::Pipelines => "pipelines",
        }
    }

    /// Its number in `counts`; `None` where there is none to state.
    fn of(self, counts: &Counts) -> Option<u64> {
        match self {
            Self::Dispatches => Some(counts.dispatches),
            Self::Barriers => Some(counts.barriers),
            Self::BytesOverLeast => Some(counts.bytes_over_least),
            Self::Invocations => counts.invocations,
            Self::KernelBytes => Some(counts.kernel_bytes),
            Self::Pipelines => Some(counts.pipelines),
        }
    }

    /// Whether `now` asks more of a GPU than `before` did: more of anything but invocations, of which a GPU
    /// wants many.
    fn is_worse(self, before: Option<u64>, now: Option<u64>) -> bool {
        match self {
            Self::Invocations => now.unwrap_or(u64::MAX) < before.unwrap_or(u64::MAX),
            _ => now > before,
        }
    }

    /// A number of this column as the table has it.
    fn text(self, value: Option<u64>) -> String {
        match (self, value) {
            (_, None) => "-".to_owned(),
            (Self::BytesOverLeast, Some(hundredths)) => {
                format!("{}.{:02}", hundredths / 100, hundredths % 100)
            }
            (_, Some(value)) => value.to_string(),
        }
    }

    fn parse(self, text: &str) -> Option<Option<u64>> {
        match (self, text) {
            (Self::Invocations, "-") => Some(None),
            (Self::BytesOverLeast, _) => {
                let (whole, hundredths) = text.split_once('.')?;
                let is_two_digits = hundredths.len() == 2;
                let all = format!("{whole}{hundredths}").parse().ok();
                all.filter(|_| is_two_digits).map(Some)
            }
            _ => text.parse().ok().map(Some),
        }
    }
}

/// A difference from the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A number differs.
    Number {
        /// `work on profile`.
        row: String,
        /// Which number.
        column: Column,
        /// The number of the table.
        before: Option<u64>,
        /// The number now.
        now: Option<u64>,
    },
    /// The table has no such row yet.
    New(String),
    /// The table has a row that nothing belongs to any more.
    Gone(String),
}

impl Change {
    /// Whether the GPU is asked for more than before.
    pub fn is_worse(&self) -> bool {
        match self {
            Self::Number { column, before, now, .. } => column.is_worse(*before, *now),
            Self::New(_) | Self::Gone(_) => false,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { row, column, before, now } => {
                let how = if self.is_worse() { "worse" } else { "better" };
                let [before, now] = [before, now].map(|it| column.text(*it));
                write!(f, "{how}: {row}: {}: {before} in the table, {now} now", column.name())
            }
            Self::New(row) => write!(f, "new: {row}: not in the table"),
            Self::Gone(row) => write!(f, "gone: {row}: in the table, and no such work or profile"),
        }
    }
}

impl WorkCount {
    /// `work on profile`.
    fn name(&self) -> String {
        format!("{} on {}", self.work, self.profile)
    }

    fn cells(&self) -> Vec<String> {
        let numbers = Column::ALL.map(|column| column.text(column.of(&self.counts)));
        [self.work.clone(), self.profile.clone()].into_iter().chain(numbers).collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let (names, numbers) = cells.split_at_checked(2)?;
        let numbers: &[&str; Column::ALL.len()] = numbers.try_into().ok()?;
        let mut values = Column::ALL.into_iter().zip(numbers).map(|(it, text)| it.parse(text));
        let mut next = || values.next().flatten();
        let counts = Counts {
            dispatches: next()??,
            barriers: next()??,
            bytes_over_least: next()??,
            invocations: next()?,
            kernel_bytes: next()??,
            pipelines: next()??,
        };
        Some(Self { work: names[0].to_owned(), profile: names[1].to_owned(), counts })
    }
}

impl Table {
    /// Reads a table that [`Table`]'s `Display` has written. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// Names the line that is no row.
    pub fn parse(text: &str) -> Result<Self> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#'));
        let row = |(number, line)| {
            WorkCount::parse(line).with_context(|| format!("line {number} is not a row: `{line}`"))
        };
        let table = Self { rows: lines.map(row).collect::<Result<_>>()? };
        let names: BTreeSet<String> = table.rows.iter().map(WorkCount::name).collect();
        ensure!(names.len() == table.rows.len(), "two rows are of one work on one profile");
        Ok(table)
    }

    /// The differences, in the table's order; `self` is the table, `now` the new counts.
    pub fn changes(&self, now: &Self) -> Vec<Change> {
        let row_of = |table: &Self, row: &WorkCount| {
            table.rows.iter().find(|it| it.name() == row.name()).map(|it| it.counts)
        };
        let mut changes = Vec::new();
        for row in &self.rows {
            let Some(counts) = row_of(now, row) else {
                changes.push(Change::Gone(row.name()));
                continue;
            };
            for column in Column::ALL {
                let (before, now) = (column.of(&row.counts), column.of(&counts));
                if before != now {
                    changes.push(Change::Number { row: row.name(), column, before, now });
                }
            }
        }
        let new = now.rows.iter().filter(|row| row_of(self, row).is_none());
        changes.extend(new.map(|row| Change::New(row.name())));
        changes
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles = ["# work", "profile"].into_iter().chain(Column::ALL.map(Column::name));
        let mut lines: Vec<Vec<String>> = vec![titles.map(str::to_owned).collect()];
        lines.extend(self.rows.iter().map(WorkCount::cells));
        let width = |column: usize| lines.iter().map(|cells| cells[column].len()).max();
        let widths: Vec<usize> = (0..lines[0].len()).filter_map(width).collect();
        for cells in &lines {
            let mut line = String::new();
            for (index, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                match index {
                    // Names are on the left, numbers on the right.
                    0 => write!(line, "{cell:<width$}")?,
                    1 => write!(line, "  {cell:<width$}")?,
                    _ => write!(line, "  {cell:>width$}")?,
                }
            }
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
