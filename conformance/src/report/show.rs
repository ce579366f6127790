//! One case for a terminal: what was asked for, what was planned, and what came out of it.

use std::fmt::Write as _;
use std::ops::Range;

use crate::report::text::{one_line, printable};
use crate::results::{CaseResult, Excerpt, Failure};

/// The case with its descriptor and plan, and the expected and the actual matrix side by side.
/// Elements that differ stand in brackets.
pub fn side_by_side(case: &CaseResult) -> String {
    let mut text = String::new();
    write_case(&mut text, case).expect("writing to a String cannot fail");
    text
}

fn write_case(text: &mut String, case: &CaseResult) -> std::fmt::Result {
    let CaseResult { id, result, detail, expected, failure, .. } = case;
    writeln!(text, "{id}: {} ({})", result.name(), case.time())?;
    if let Some(detail) = detail {
        writeln!(text, "{}", one_line(detail))?;
    }
    if let Some(expected) = expected {
        let reason = one_line(&expected.reason);
        writeln!(text, "expected to fail ({}): {reason}", expected.kind.words())?;
    }
    let Some(failure) = failure.as_deref() else { return Ok(()) };
    let Failure { descriptor, plan, matrices } = failure;
    for (heading, lines) in [("descriptor", descriptor), ("plan", plan)] {
        writeln!(text, "\n{heading}")?;
        for line in lines.lines() {
            writeln!(text, "  {}", printable(line).trim_end())?;
        }
    }
    if let Some(matrices) = matrices {
        writeln!(text, "\n{}\n", matrices.place())?;
        write_matrices(text, matrices)?;
    }
    Ok(())
}

fn write_matrices(text: &mut String, matrices: &Excerpt) -> std::fmt::Result {
    let [(_, rows), (_, actual)] = matrices.sides();
    let [expected, actual] = [&rows, &actual].map(|rows| lines(matrices.columns(), rows));
    let numbers = rows.iter().map(|(number, _)| number.to_string());
    let headings: Vec<String> = std::iter::once(String::new()).chain(numbers).collect();
    let heading_width = headings.iter().map(String::len).max().unwrap_or(0);
    let side_width = expected[0].chars().count();
    writeln!(text, "  {:heading_width$} {:<side_width$}  | actual", "", " expected")?;
    for ((heading, expected), actual) in headings.iter().zip(expected).zip(actual) {
        let line = format!("  {heading:>heading_width$} {expected}  | {actual}");
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A matrix below the numbers of its columns, each as wide as its widest element.
fn lines(columns: Range<u64>, rows: &[ExcerptRow<'_>]) -> Vec<String> {
    // As wide as an element in its brackets.
    let mut table = vec![columns.map(|number| format!("{number} ")).collect::<Vec<_>>()];
    let element = |(text, differs): &(&str, bool)| match (one_line(text), differs) {
        (text, true) => format!("[{text}]"),
        (text, false) => format!("{text} "),
    };
    table.extend(rows.iter().map(|(_, row)| row.iter().map(element).collect()));
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..table[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        row.iter().zip(&widths).map(|(element, width)| format!(" {element:>width$}")).collect()
    };
    table.iter().map(line).collect()
}

/// The index of a row, and its elements with whether each differs from the other matrix's.
pub(super) type ExcerptRow<'a> = (u64, Vec<(&'a str, bool)>);

impl Excerpt {
    /// The indices of the columns.
    pub(super) fn columns(&self) -> Range<u64> {
        let widths = self.expected.iter().chain(&self.actual).map(Vec::len);
        let first = u64::from(self.first_column);
        first..first + widths.max().unwrap_or(0) as u64
    }

    /// The expected and the actual matrix with their names, of the same size. An element that only
    /// one of them has differs.
    pub(super) fn sides(&self) -> [(&'static str, Vec<ExcerptRow<'_>>); 2] {
        let cells = self.cells();
        [("expected", 0), ("actual", 1)].map(|(name, side)| {
            let rows = cells.iter().map(|row| {
                let element =
                    |cell: [Option<_>; 2]| (cell[side].unwrap_or_default(), cell[0] != cell[1]);
                row.iter().copied().map(element).collect()
            });
            (name, (u64::from(self.first_row)..).zip(rows).collect())
        })
    }

    /// The expected and the actual element of each place; rows may have different lengths.
    fn cells(&self) -> Vec<Vec<[Option<&str>; 2]>> {
        let columns = self.columns().count();
        let cell = |row: usize, column: usize| {
            [&self.expected, &self.actual].map(|side| Some(side.get(row)?.get(column)?.as_str()))
        };
        let row = |row| (0..columns).map(|column| cell(row, column)).collect();
        (0..self.expected.len().max(self.actual.len())).map(row).collect()
    }

    /// Which matrix it is, and how much of it differs: `output 0, batch [1, 2]; wrong
    /// elements: 2 of the 9 shown`.
    pub(super) fn place(&self) -> String {
        let cells = self.cells().into_iter().flatten();
        let shown: Vec<_> = cells.filter(|cell| *cell != [None; 2]).collect();
        let wrong = shown.iter().filter(|[expected, actual]| expected != actual).count();
        let batch =
            if self.batch.is_empty() { String::new() } else { format!(", batch {:?}", self.batch) };
        let all = shown.len();
        format!("output {}{batch}; wrong elements: {wrong} of the {all} shown", self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ResultCode, samples};

    const ID: &str = "5_1/diagonal_matrix/int64/rank2/offset_zero";

    fn with_matrices(expected: &[&[&str]], actual: &[&[&str]]) -> String {
        let rows = |all: &[&[&str]]| {
            all.iter().map(|row| row.iter().map(|it| (*it).to_owned()).collect()).collect()
        };
        let mut case = samples::case(ID, ResultCode::Fail);
        let matrices = Excerpt {
            output: 1,
            batch: vec![0, 3],
            first_row: 9,
            first_column: 0,
            expected: rows(expected),
            actual: rows(actual),
        };
        case.failure.as_mut().unwrap().matrices = Some(matrices);
        side_by_side(&case)
    }

    #[test]
    fn columns_are_aligned_and_differences_marked_without_colour() {
        let text = with_matrices(
            &[&["1", "0", "0"], &["0", "1", "0"]],
            &[&["1", "0", "0"], &["0", "165", "0"]],
        );
        let expected = "
output 1, batch [0, 3]; wrong elements: 1 of the 6 shown

      expected   | actual
      0   1  2   |  0     1  2
   9  1   0  0   |  1     0  0
  10  0  [1] 0   |  0  [165] 0
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn missing_elements_differ() {
        let text = with_matrices(&[&["1", "2"]], &[&["1"], &["3"]]);
        assert!(text.contains(": 2 of the 3 shown"), "{text}");
        assert!(text.contains("[2]"), "{text}");
    }

    #[test]
    fn descriptor_plan_and_result_stand_above() {
        let text = side_by_side(&samples::case(ID, ResultCode::Fail));
        assert!(text.starts_with(&format!("{ID}: fail (0.250 ms)\nfail & why\n")), "{text}");
        assert!(text.contains("\ndescriptor\n  DIAGONAL_MATRIX { Offset: 0 }\n"), "{text}");
        assert!(text.contains("\nplan\n  fill Output(0) 0..16 <zeros>\n"), "{text}");
    }

    #[test]
    fn a_case_without_failure_has_its_reason() {
        let text = side_by_side(&samples::case(ID, ResultCode::ExpectedFail));
        assert!(text.ends_with("expected to fail (not yet): a reason\n"), "{text}");
        assert!(!side_by_side(&samples::case(ID, ResultCode::Pass)).contains("plan"));
    }

    #[test]
    fn the_terminal_is_not_controlled_by_a_result() {
        let mut case = samples::case(ID, ResultCode::Fail);
        case.detail = Some("a\u{1b}[2Jb\nc".to_owned());
        let text = side_by_side(&case);
        assert!(text.contains("a\\u{1b}[2Jb\\nc"), "{text}");
    }
}
