//! A run of whole models, as a table in Markdown with a row for each.

use std::io::{self, Write};

use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

use super::Run;
use crate::results::onnx::{Ended, Outcome};

/// Writes how each model has ended on each target, and what is wrong.
///
/// # Errors
/// Those of `output`.
pub fn write(run: &Run, output: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let titles = run.targets.iter().map(|target| target.title.replace('|', "\\|"));
    table.set_header(["Model".to_owned()].into_iter().chain(titles));
    for (at, test) in run.tests.iter().enumerate() {
        let cells = run.targets.iter().map(|target| cell(&target.ended[at]));
        table.add_row([test.id.clone()].into_iter().chain(cells));
    }
    writeln!(output, "{table}")?;
    for target in &run.targets {
        for (test, ended) in run.with(target) {
            if let Some(detail) = &ended.detail {
                writeln!(output, "{}: {}: {detail}", target.title, test.id)?;
            }
        }
    }
    Ok(())
}

/// The largest difference of one that passed, else how it ended.
fn cell(ended: &Ended) -> String {
    match (ended.outcome, ended.distance) {
        (Outcome::Passed, Some(distance)) => format!("{:.1e}", distance.difference),
        (outcome, _) => outcome.name().to_owned(),
    }
}
