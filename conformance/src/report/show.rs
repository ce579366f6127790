//! One case for a terminal: what was asked for, what was planned, and what came out of it.

use std::fmt::Write as _;

use crate::report::text::{milliseconds, one_line, printable};
use crate::results::{CaseResult, Excerpt, Failure};

/// The case with its descriptor and plan, and the expected and the actual matrix side by side.
/// Elements that differ stand in brackets.
pub fn side_by_side(case: &CaseResult) -> String {
    let mut text = String::new();
    write_case(&mut text, case).expect("writing to a String cannot fail");
    text
}

fn write_case(text: &mut String, case: &CaseResult) -> std::fmt::Result {
    let CaseResult { id, result, detail, expected, failure, microseconds } = case;
    writeln!(text, "{id}: {} ({})", result.name(), milliseconds(*microseconds))?;
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
    let [expected, actual] = [&matrices.expected, &matrices.actual];
    let rows = expected.len().max(actual.len());
    let columns = expected.iter().chain(actual).map(Vec::len).max().unwrap_or(0);
    let mut lines = vec![Line::headings(matrices.first_column, columns)];
    for row in 0..rows {
        lines.push(Line::elements(matrices, row, columns));
    }
    let widths = [0, 1].map(|side| {
        let width = |column: usize| lines.iter().map(|it| it.width(side, column)).max();
        (0..columns).map(|column| width(column).unwrap_or(0)).collect::<Vec<_>>()
    });
    let heading_width = lines.iter().map(|it| it.heading.len()).max().unwrap_or(0);
    let side_width = widths[0].iter().map(|width| width + 1).sum::<usize>();
    writeln!(text, "  {:heading_width$} {:<side_width$}  | actual", "", " expected")?;
    for line in &lines {
        write!(text, "  {:>heading_width$} ", line.heading)?;
        line.write_side(text, 0, &widths[0])?;
        text.push_str("  | ");
        line.write_side(text, 1, &widths[1])?;
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    Ok(())
}

/// A row of both matrices.
struct Line {
    heading: String,
    /// Expected, then actual.
    sides: [Vec<String>; 2],
}

impl Line {
    fn headings(first: u32, columns: usize) -> Self {
        let numbers = (u64::from(first)..).take(columns);
        // As wide as an element in its brackets.
        let numbers: Vec<_> = numbers.map(|it| format!("{it} ")).collect();
        Self { heading: String::new(), sides: [numbers.clone(), numbers] }
    }

    fn elements(matrices: &Excerpt, row: usize, columns: usize) -> Self {
        let sides = [&matrices.expected, &matrices.actual].map(|side| {
            let element = |column| {
                let text = matrices.element(side, row, column).unwrap_or_default();
                let text = one_line(text);
                if matrices.differs(row, column) { format!("[{text}]") } else { format!("{text} ") }
            };
            (0..columns).map(element).collect()
        });
        let heading = (u64::from(matrices.first_row)..).nth(row).unwrap_or_default().to_string();
        Self { heading, sides }
    }

    fn width(&self, side: usize, column: usize) -> usize {
        self.sides[side].get(column).map_or(0, |it| it.chars().count())
    }

    fn write_side(&self, text: &mut String, side: usize, widths: &[usize]) -> std::fmt::Result {
        for (element, width) in self.sides[side].iter().zip(widths) {
            write!(text, " {element:>width$}")?;
        }
        Ok(())
    }
}

impl Excerpt {
    /// An element of one of the matrices; rows may have different lengths.
    pub(super) fn element<'a>(
        &self,
        side: &'a [Vec<String>],
        row: usize,
        column: usize,
    ) -> Option<&'a str> {
        side.get(row)?.get(column).map(String::as_str)
    }

    /// Whether the element is another one than expected, or is missing on one side.
    pub(super) fn differs(&self, row: usize, column: usize) -> bool {
        self.element(&self.expected, row, column) != self.element(&self.actual, row, column)
    }

    /// Which matrix it is, and how much of it differs: `output 0, batch [1, 2]; wrong
    /// elements: 2 of the 9 shown`.
    pub(super) fn place(&self) -> String {
        let longest = |row: usize| {
            let length = |side: &[Vec<String>]| side.get(row).map_or(0, Vec::len);
            length(&self.expected).max(length(&self.actual))
        };
        let rows = self.expected.len().max(self.actual.len());
        let all: usize = (0..rows).map(longest).sum();
        let differ =
            |row: usize| (0..longest(row)).filter(move |it| self.differs(row, *it)).count();
        let wrong: usize = (0..rows).map(differ).sum();
        let batch =
            if self.batch.is_empty() { String::new() } else { format!(", batch {:?}", self.batch) };
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
