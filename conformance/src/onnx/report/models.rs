//! A run of whole models, as tables in Markdown with a row for each.

use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{CellAlignment, Table};

use super::markdown::{empty, milliseconds};
use super::{Run, libraries};
use crate::onnx::measure::{Figures, Measurement, Peer};
use crate::onnx::suite::Test;
use crate::results::onnx::{Ended, Outcome};

/// Writes the outcome of each model on each target, and wrong results: as one table, or with figures as one
/// table for each target.
///
/// # Errors
/// Errors of writing to `output`.
pub fn write(run: &Run, figures: Option<&Figures>, output: &mut dyn Write) -> io::Result<()> {
    match figures {
        None => writeln!(output, "{}", differences(run))?,
        Some(figures) => write_measured(run, figures, output)?,
    }
    for target in &run.targets {
        for (test, ended) in run.with(target) {
            if let Some(detail) = &ended.detail {
                writeln!(output, "{}: {}: {detail}", target.title, test.id)?;
            }
        }
    }
    Ok(())
}

/// Writes a table for each target, with its title before it.
///
/// # Errors
/// Errors of writing to `output`.
pub(super) fn write_measured(
    run: &Run,
    figures: &Figures,
    output: &mut dyn Write,
) -> io::Result<()> {
    for (target, measured) in run.targets.iter().zip(&figures.targets) {
        writeln!(output, "## {}\n", target.title)?;
        let mut table = empty();
        let peer = figures.peer.as_ref();
        let compared =
            peer.map(|peer| [peer.name.clone(), "ratio".to_owned()]).into_iter().flatten();
        let columns = ["model", "nodes", "dispatches", "status", "difference", "latency"];
        table.set_header(columns.map(str::to_owned).into_iter().chain(compared));
        let numbers = table.column_iter_mut().enumerate().filter(|(at, _)| ![0, 3].contains(at));
        numbers.for_each(|(_, it)| it.set_cell_alignment(CellAlignment::Right));
        for ((test, ended), measured) in run.with(target).zip(&measured.models) {
            table.add_row(row(test, ended, measured.as_ref(), peer));
        }
        writeln!(output, "{table}\n")?;
        if !figures.libraries.is_empty() {
            libraries::write(run, target, measured, &figures.libraries, output)?;
        }
    }
    Ok(())
}

fn row(
    test: &Test,
    ended: &Ended,
    measured: Option<&Measurement>,
    peer: Option<&Peer>,
) -> Vec<String> {
    let difference = ended.distance.map(|distance| format!("{:.1e}", distance.difference));
    let mut cells = vec![
        test.id.clone(),
        measured.map(|measured| measured.nodes.to_string()).unwrap_or_default(),
        measured.map(|measured| measured.dispatches.to_string()).unwrap_or_default(),
        ended.outcome.name().to_owned(),
        difference.unwrap_or_default(),
        measured.map(|measured| milliseconds(measured.latency)).unwrap_or_default(),
    ];
    if let Some(peer) = peer {
        let takes = peer.seconds.get(&test.id).map(|it| Duration::from_secs_f64(it.max(0.0)));
        let ratio = measured.zip(takes.filter(|take| !take.is_zero()));
        let ratio = ratio.map(|(own, other)| own.latency.as_secs_f64() / other.as_secs_f64());
        cells.push(takes.map(milliseconds).unwrap_or_default());
        cells.push(ratio.map(|ratio| format!("{ratio:.1}")).unwrap_or_default());
    }
    cells
}

fn differences(run: &Run) -> Table {
    let mut table = empty();
    let titles = run.targets.iter().map(|target| target.title.replace('|', "\\|"));
    table.set_header(["Model".to_owned()].into_iter().chain(titles));
    for (at, test) in run.tests.iter().enumerate() {
        let cells = run.targets.iter().map(|target| cell(&target.ended[at]));
        table.add_row([test.id.clone()].into_iter().chain(cells));
    }
    table
}

/// The largest difference of a model that passed, else its outcome.
fn cell(ended: &Ended) -> String {
    match (ended.outcome, ended.distance) {
        (Outcome::Passed, Some(distance)) => format!("{:.1e}", distance.difference),
        (outcome, _) => outcome.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::onnx::measure::OfTarget;

    #[test]
    fn a_model_has_its_figures_beside_those_of_another_library() {
        let run = samples::run();
        let latency = Duration::from_micros(1500);
        let measurement = Measurement { nodes: 3, dispatches: 7, latency, answers: Vec::new() };
        let models = vec![Some(measurement), None, None, None];
        let measured = OfTarget { driver: String::new(), models };
        let seconds = [("node/a".to_owned(), 0.001), ("node/b".to_owned(), 0.002)];
        let peer = Peer { name: "other 1.0".to_owned(), seconds: seconds.into() };
        let figures =
            Figures { targets: vec![measured; 3], peer: Some(peer), libraries: Vec::new() };
        let mut text = Vec::new();
        write(&run, Some(&figures), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let cells = |name: &str| -> Vec<String> {
            let line = text.lines().find(|it| it.starts_with(&format!("| {name} "))).unwrap();
            line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect()
        };
        let titles =
            ["model", "nodes", "dispatches", "status", "difference", "latency", "other 1.0"];
        assert_eq!(cells("model")[..7], titles);
        let row = ["node/a", "3", "7", "passed", "", "1.50 ms", "1.00 ms", "1.5"];
        assert_eq!(cells("node/a"), row);
        let row = ["node/b", "", "", "not run", "", "", "2.00 ms", ""];
        assert_eq!(cells("node/b"), row);
        assert!(text.starts_with("## one\n\n") && text.contains("\n## three\n"), "{text}");
    }
}
