//! The largest errors of results with a tolerance, as tables.

use std::collections::BTreeMap;
use std::io::{self, Write};

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use super::text::{one_line, thousands};
use crate::figures;
use crate::results::{LargestError, Run};

/// The errors of one operator and data type on all targets.
pub(super) struct OperatorErrors<'a> {
    pub(super) operator: &'a str,
    pub(super) data_type: &'a str,
    /// The errors on each target, one for each bound; empty if it executed no such case.
    targets: Vec<Vec<&'a LargestError>>,
}

/// The rows of a run, by operator.
pub(super) fn rows(run: &Run) -> Vec<OperatorErrors<'_>> {
    let mut rows = BTreeMap::new();
    for (index, target) in run.targets.iter().enumerate() {
        for error in &target.errors {
            let key = (&*error.operator, &*error.data_type);
            let row = rows.entry(key).or_insert_with(|| vec![vec![]; run.targets.len()]);
            row[index].push(error);
        }
    }
    let row = |((operator, data_type), targets)| OperatorErrors { operator, data_type, targets };
    rows.into_iter().map(row).collect()
}

/// The largest of some errors: an error without a distance is the largest, and of equal ones the first is taken.
fn farthest<'a, 'b: 'a>(
    errors: impl DoubleEndedIterator<Item = &'a &'b LargestError>,
) -> Option<&'b LargestError> {
    errors.rev().copied().max_by_key(|error| (error.ulp.is_none(), error.ulp))
}

impl OperatorErrors<'_> {
    /// The allowed error in units in the last place: the least and the greatest one, if cases differ.
    pub(super) fn allowed(&self) -> String {
        let bounds = || self.targets.iter().flatten().map(|error| u64::from(error.allowed));
        match (bounds().min(), bounds().max()) {
            (Some(least), Some(most)) if least < most => {
                format!("{} to {}", thousands(least), thousands(most))
            }
            (Some(least), _) => thousands(least),
            _ => String::new(),
        }
    }

    /// The largest error of all targets.
    pub(super) fn largest(&self) -> String {
        self.farthest().map_or_else(String::new, |(_, error)| error.words())
    }

    /// The index of the first target with the largest error, unless that is 0.
    pub(super) fn worst_target(&self) -> Option<usize> {
        self.farthest().filter(|(_, error)| error.ulp != Some(0)).map(|(target, _)| target)
    }

    /// The number of cases that were executed, on all targets.
    pub(super) fn cases(&self) -> String {
        thousands(self.targets.iter().flatten().map(|error| error.cases).sum())
    }

    fn farthest(&self) -> Option<(usize, &LargestError)> {
        let errors = self.targets.iter().enumerate();
        let errors = errors.filter_map(|(target, errors)| Some((target, farthest(errors.iter())?)));
        errors.rev().max_by_key(|(_, error)| (error.ulp.is_none(), error.ulp))
    }
}

impl LargestError {
    /// The error in units, or that it has no distance.
    fn words(&self) -> String {
        self.ulp.map_or_else(|| "no number".to_owned(), thousands)
    }
}

/// Writes the largest errors as a table in Markdown with a column for each target, and with the errors that
/// WebNN's tests allow.
pub(super) fn write(run: &Run, output: &mut dyn Write) -> io::Result<()> {
    let rows = rows(run);
    if rows.is_empty() {
        return writeln!(output, "largest errors: no result that may be some ULP off was executed");
    }
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let titles = run.targets.iter().map(|target| one_line(&target.title()).replace('|', "\\|"));
    let names = ["Operator", "Data type", "Allowed, ULP", "By WebNN"].map(str::to_owned);
    table.set_header(names.into_iter().chain(titles));
    for row in rows {
        let by_webnn = figures::of_operator(row.operator, row.data_type).unwrap_or_default();
        let (operator, data_type) = (row.operator.to_owned(), row.data_type.to_owned());
        let cells = [operator, data_type, row.allowed(), by_webnn];
        let error = |errors: &Vec<&LargestError>| {
            farthest(errors.iter()).map_or_else(|| "not executed".to_owned(), LargestError::words)
        };
        table.add_row(cells.into_iter().chain(row.targets.iter().map(error)));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(output, "{table}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples;

    fn error(operator: &str, ulp: Option<u64>) -> LargestError {
        let (operator, data_type) = (operator.to_owned(), "FLOAT32".to_owned());
        LargestError { operator, data_type, allowed: 2000, ulp, cases: 1234 }
    }

    /// A run of targets with these errors.
    fn run(targets: &[&[LargestError]]) -> Run {
        let mut run = samples::run();
        let name = ["one", "two | half", "three"];
        let target = |(index, errors): (usize, &&[LargestError])| {
            let mut target = samples::target();
            name[index].clone_into(&mut target.device.name);
            target.errors = errors.to_vec();
            target
        };
        run.targets = targets.iter().enumerate().map(target).collect();
        run
    }

    #[test]
    fn each_target_has_a_column_and_nothing_is_not_0() {
        let run = run(&[
            &[error("B", Some(0)), error("C", Some(1500))],
            &[error("A", None), error("C", Some(0))],
        ]);
        let mut text = Vec::new();
        write(&run, &mut text).unwrap();
        let expected = "\
| Operator | Data type | Allowed, ULP | By WebNN |          one |  two \\| half |
|----------|-----------|--------------|----------|--------------|--------------|
| A        | FLOAT32   |        2,000 |          | not executed |    no number |
| B        | FLOAT32   |        2,000 |          |            0 | not executed |
| C        | FLOAT32   |        2,000 |          |        1,500 |            0 |
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn without_errors_there_is_a_sentence() {
        let mut text = Vec::new();
        write(&run(&[&[]]), &mut text).unwrap();
        assert_eq!(text, b"largest errors: no result that may be some ULP off was executed\n");
    }

    #[test]
    fn the_worst_target_is_the_first_with_the_largest_error() {
        let run = run(&[
            &[error("A", Some(7)), error("B", Some(0)), error("C", Some(2))],
            &[error("A", None), error("B", Some(0)), error("C", Some(3))],
            &[error("A", None), error("C", Some(3))],
        ]);
        let found: Vec<_> =
            rows(&run).iter().map(|row| (row.largest(), row.worst_target(), row.cases())).collect();
        let row =
            |largest: &str, target, cases: &str| (largest.to_owned(), target, cases.to_owned());
        let expected = [
            row("no number", Some(1), "3,702"),
            row("0", None, "2,468"),
            row("3", Some(1), "3,702"),
        ];
        assert_eq!(found, expected);
    }
}
