//! Whether the conformance runner's HTML report works in a browser: it renders, its script runs to
//! the end without a message, and failures are found.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::browser::{Browser, View};
use crate::process::succeed;
use crate::programs;
use crate::workspace;

/// A run in which every kind of result occurs.
const SAMPLE: &str = "conformance/tests/reports/format-1.json";
/// What is looked for: everything, something with one kind of failure, a level, nothing.
const QUERIES: [&str; 5] = ["", "int64", "rank2/offset_past", "4_1/", "no-such-case"];

/// A failure with matrices, which opens when it is the only one found.
const ONE_CASE: &str = "#q=uint32/rank3/offset_zero";

/// How the pictures are taken, for people to look at. 500 wide, since Chromium's windows are not
/// narrower.
const VIEWS: [View; 4] = [
    View { name: "light", width: 1280, height: 2400, is_dark: false, fragment: "" },
    View { name: "dark", width: 1280, height: 2400, is_dark: true, fragment: "" },
    View { name: "narrow", width: 500, height: 2400, is_dark: false, fragment: "" },
    View { name: "found", width: 1280, height: 1000, is_dark: false, fragment: ONE_CASE },
];

/// A page without a picture of anything is smaller.
const SMALLEST_PICTURE: u64 = 20_000;

/// Checks the page, and leaves it and its pictures in `target/html-report`.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let browser = Browser::ensure(sh)?;
    let folder = workspace::root().join("target/html-report");
    notices_errors(sh, &browser, &folder.join("control.html"))?;
    let page = folder.join("report.html");
    let program = programs::build(sh, "dml-conformance", "dml-conformance")?;
    succeed(cmd!(sh, "{program} convert {SAMPLE} --format html --output {page}"))?;
    let failures = failures(&sh.read_file(SAMPLE)?)?;
    ensure!(!failures.is_empty(), "{SAMPLE} has no failure that could be found");
    for query in QUERIES {
        finds(sh, &browser, &page, &failures, query)
            .with_context(|| format!("{} with the query {query:?}", page.display()))?;
    }
    for view in &VIEWS {
        let picture = folder.join(format!("{}.png", view.name));
        browser
            .draw(sh, &page, view, &picture)
            .with_context(|| format!("drawing {}", view.name))?;
        let size = picture.metadata()?.len();
        ensure!(size > SMALLEST_PICTURE, "{} has {size} bytes: it is empty", picture.display());
        println!("{}", picture.strip_prefix(workspace::root()).unwrap_or(&picture).display());
    }
    Ok(())
}

/// A positive control: an error in a page's script is seen.
fn notices_errors(sh: &Shell, browser: &Browser, file: &Path) -> Result<()> {
    sh.write_file(file, "<!DOCTYPE html><title>x</title><script>missing.call()</script>")?;
    let page = browser.open(sh, file, "")?;
    ensure!(
        page.console.iter().any(|line| line.contains("missing")),
        "the browser does not report an error in a script, so it cannot show that there is none"
    );
    Ok(())
}

/// The page, opened with `query`, shows those of `failures` that match it, and no other.
fn finds(
    sh: &Shell,
    browser: &Browser,
    file: &Path,
    failures: &[String],
    query: &str,
) -> Result<()> {
    let page = browser.open(sh, file, &format!("#q={query}"))?;
    ensure!(page.console.is_empty(), "the console says:\n{}", page.console.join("\n"));
    ensure!(page.document.contains("data-ready=\"true\""), "the script did not run to its end");
    let expected: Vec<&String> = failures.iter().filter(|id| id.contains(query)).collect();
    let shown = shown(&page.document);
    ensure!(shown == expected, "shown are {shown:?}, expected {expected:?}");
    let count = format!("{} of {} failures", expected.len(), failures.len());
    ensure!(page.document.contains(&count), "the page does not say {count:?}");
    Ok(())
}

/// The ids of the failures in `document` that are not hidden.
fn shown(document: &str) -> Vec<&str> {
    let tags = document.split("<details class=\"case\"").skip(1);
    let tags = tags.filter_map(|rest| rest.split_once('>').map(|(tag, _)| tag));
    let visible = tags.filter(|tag| !tag.contains(" hidden"));
    visible.filter_map(|tag| tag.split("data-id=\"").nth(1)?.split('"').next()).collect()
}

/// The ids of the failures in a run's JSON form, in its order.
fn failures(json: &str) -> Result<Vec<String>> {
    let run: Value = serde_json::from_str(json).with_context(|| SAMPLE.to_owned())?;
    let failed = ["fail", "unexpected-pass", "crash", "timeout"];
    let targets = run["targets"].as_array().context("the run has no targets")?;
    let cases = targets.iter().filter_map(|target| target["cases"].as_array()).flatten();
    let failed = cases.filter(|case| failed.iter().any(|result| case["result"] == *result));
    Ok(failed.filter_map(|case| case["id"].as_str()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_failures_are_not_shown() {
        let document = "<details class=\"case\" data-id=\"a/b\"><p></details>\n\
            <details class=\"case\" data-id=\"c\" hidden=\"\"></details>\
            <details class=\"target\" id=\"d\"></details>";
        assert_eq!(shown(document), ["a/b"]);
    }

    #[test]
    fn failures_are_what_fails_a_run() {
        let json = r#"{"targets": [{"cases": [
            {"id": "a", "result": "pass"}, {"id": "b", "result": "crash"},
            {"id": "c", "result": "expected-fail"}, {"id": "d", "result": "unexpected-pass"}
        ]}]}"#;
        assert_eq!(failures(json).unwrap(), ["b", "d"]);
        assert!(failures("{}").is_err());
    }
}
