//! The checked-in tables as files, with the command that writes each.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::budgets::{Change, Table};

/// A checked-in table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFile {
    name: &'static str,
    command: &'static str,
}

impl TableFile {
    /// The table of [`works`](super::works()).
    pub const WORKS: Self = Self { name: "budgets.txt", command: "cargo xtask budgets" };

    /// The table of the models that `cargo xtask models` runs.
    pub const MODELS: Self = Self { name: "models.txt", command: "cargo xtask budgets --models" };

    /// Where it is.
    pub fn path(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.name)
    }

    /// Reads it.
    ///
    /// # Errors
    /// There is no such file, or a line of it is no row.
    pub fn read(self) -> Result<Table> {
        let path = self.path();
        let text = std::fs::read_to_string(&path);
        text.map_err(anyhow::Error::from)
            .and_then(|text| Table::parse(&text))
            .with_context(|| format!("{}; `{}` writes it", path.display(), self.command))
    }

    /// Writes `now` in its place.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(self, now: &Table) -> Result<()> {
        let path = self.path();
        let text = format!(
            "# Written by `{}`: do not edit. docs/gpu-without-a-gpu.md explains it.\n{now}",
            self.command
        );
        dml_file::write(&path, |output| output.write_all(text.as_bytes()))
            .with_context(|| format!("writing {}", path.display()))
    }

    /// Whether the file says what was counted.
    ///
    /// # Errors
    /// The errors of [`TableFile::read`]; each number that differs, with the command that accepts it.
    pub fn check(self, now: &Table) -> Result<()> {
        match self.complaint(&self.read()?.changes(now)) {
            Some(complaint) => bail!("{}: {complaint}", self.name),
            None => Ok(()),
        }
    }

    /// These changes, and how to accept them; nothing where there are none.
    fn complaint(self, changes: &[Change]) -> Option<String> {
        let advice = match changes.iter().any(Change::is_worse) {
            true => "if that is worth it, accept it",
            false => "so that it stays like that, record it",
        };
        let lines: String = changes.iter().map(|change| format!("\n{change}")).collect();
        let text = format!("{lines}\n{advice}: `{}` writes the table", self.command);
        (!changes.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budgets::Column;

    fn number(before: u64, now: u64) -> Change {
        let (row, column) = ("softmax on card".to_owned(), Column::Dispatches);
        Change::Number { row, column, before: Some(before), now: Some(now) }
    }

    #[test]
    fn what_is_worse_is_named_with_both_numbers_and_the_command_that_accepts_it() {
        let expected = "\nworse: softmax on card: dispatches: 4 in the table, 5 now\n\
                        if that is worth it, accept it: `cargo xtask budgets` writes the table";
        assert_eq!(TableFile::WORKS.complaint(&[number(4, 5)]).as_deref(), Some(expected));
    }

    #[test]
    fn what_is_better_is_to_be_recorded() {
        let expected = "\nbetter: softmax on card: dispatches: 4 in the table, 1 now\n\
                        so that it stays like that, record it: `cargo xtask budgets --models` writes the table";
        assert_eq!(TableFile::MODELS.complaint(&[number(4, 1)]).as_deref(), Some(expected));
        // A better number makes up for no worse one.
        let both = TableFile::WORKS.complaint(&[number(4, 1), number(4, 5)]);
        assert!(both.is_some_and(|it| it.contains("if that is worth it")));
        assert_eq!(TableFile::WORKS.complaint(&[]), None);
    }
}
