//! The times of other libraries on the same device, as a table in Markdown with a row for each model, and the
//! reasons for missing ones.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use comfy_table::CellAlignment;

use super::Run;
use super::markdown::{empty, milliseconds};
use crate::onnx::libraries::{Answer, Library};
use crate::onnx::measure::{Measurement, OfTarget};
use crate::results::onnx::TargetResults;

/// Writes the models of one target that were measured.
///
/// # Errors
/// Errors of writing to `output`.
pub(super) fn write(
    run: &Run,
    target: &TargetResults,
    measured: &OfTarget,
    libraries: &[Library],
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut table = empty();
    let compared = libraries.iter().flat_map(|library| [library.name.clone(), "ratio".to_owned()]);
    table.set_header(["model", "latency"].map(str::to_owned).into_iter().chain(compared));
    table.column_iter_mut().skip(1).for_each(|it| it.set_cell_alignment(CellAlignment::Right));
    let mut reasons: BTreeMap<(usize, String), Vec<&str>> = BTreeMap::new();
    for ((test, _), measured) in run.with(target).zip(&measured.models) {
        let Some(measured) = measured else { continue };
        table.add_row([vec![test.id.clone()], row(measured)].concat());
        for (at, answer) in measured.answers.iter().enumerate() {
            if let Some(reason) = reason(answer) {
                reasons.entry((at, reason)).or_default().push(&test.id);
            }
        }
    }
    writeln!(output, "Other libraries on this device:\n\n{table}\n")?;
    for ((at, reason), models) in &reasons {
        writeln!(output, "- {}, {}: {reason}", libraries[*at].name, models.join(", "))?;
    }
    if !reasons.is_empty() {
        writeln!(output)?;
    }
    Ok(())
}

fn row(measured: &Measurement) -> Vec<String> {
    let own = measured.latency.as_secs_f64();
    let cells = measured.answers.iter().flat_map(|answer| match answer {
        Answer::Seconds(seconds) => {
            let time = Duration::try_from_secs_f64(*seconds).unwrap_or(Duration::MAX);
            [milliseconds(time), format!("{:.3}", own / seconds)]
        }
        Answer::Wrong(_) => ["wrong".to_owned(), String::new()],
        Answer::Reason(_) => ["none".to_owned(), String::new()],
    });
    [milliseconds(measured.latency)].into_iter().chain(cells).collect()
}

/// The reason, with angle brackets escaped, which Markdown would take for HTML.
fn reason(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Seconds(_) => None,
        Answer::Wrong(how) => Some(format!("wrong are {how}")),
        Answer::Reason(reason) => Some(reason.replace('<', "\\<")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn a_library_has_its_ratio_where_its_answer_is_right_and_else_a_reason() {
        let run = samples::run();
        let library = |name: &str| {
            serde_json::from_value(serde_json::json!({ "name": name, "command": ["x"] })).unwrap()
        };
        let model = |answers: [Answer; 2]| {
            let latency = Duration::from_millis(3);
            Some(Measurement { nodes: 3, dispatches: 7, latency, answers: answers.into() })
        };
        let none = || Answer::Reason("no tensor<1xf32>".to_owned());
        let wrong = Answer::Wrong("2 of 9 numbers, by 1.0e0".to_owned());
        let models = vec![
            model([Answer::Seconds(0.012), none()]),
            model([wrong, Answer::Seconds(0.002)]),
            None,
            model([Answer::Seconds(1.0), none()]),
        ];
        let measured = OfTarget { driver: String::new(), models };
        let libraries = [library("one 1.0"), library("two 2.0")];
        let mut text = Vec::new();
        write(&run, &run.targets[0], &measured, &libraries, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let mut rows = text.lines().filter(|it| it.starts_with('|')).map(|line| {
            line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect::<Vec<_>>()
        });
        assert_eq!(
            rows.next().unwrap(),
            ["model", "latency", "one 1.0", "ratio", "two 2.0", "ratio"]
        );
        rows.next();
        assert_eq!(rows.next().unwrap(), ["node/a", "3.00 ms", "12.00 ms", "0.250", "none", ""]);
        assert_eq!(rows.next().unwrap(), ["node/b", "3.00 ms", "wrong", "", "2.00 ms", "1.500"]);
        assert_eq!(rows.next().unwrap()[..4], ["node/d", "3.00 ms", "1000.00 ms", "0.003"]);
        assert_eq!(rows.next(), None);
        let reasons = "\n\n- one 1.0, node/b: wrong are 2 of 9 numbers, by 1.0e0\n\
            - two 2.0, node/a, node/d: no tensor\\<1xf32>\n\n";
        assert!(text.ends_with(reasons), "{text}");
    }
}
