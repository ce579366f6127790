//! Tests that the HTML report works in a browser: it renders, its script ends without a message, and failures
//! are found. `cargo xtask nightly --only html-report` provides a browser.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A run with every result except `not-run`, which only the host interpreter has.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reports/sample.json");
/// The folder for the page and its screenshots.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/html-report");

/// The search texts: everything, cases with one kind of failure, a level, nothing.
const QUERIES: [&str; 5] = ["", "int64", "rank2/offset_past", "4_1/", "no-such-case"];
/// A failure with matrices, which are unfolded if it is the only one found.
const ONE_CASE: &str = "#q=uint32/rank3/offset_zero";

/// The screenshots, for people to look at: name, width, height, whether in dark colours, and the fragment of
/// the page's address. At least 500 wide, because Chromium's windows are not narrower.
const PICTURES: [(&str, u32, u32, bool, &str); 4] = [
    ("light", 1280, 2400, false, ""),
    ("dark", 1280, 2400, true, ""),
    ("narrow", 500, 2400, false, ""),
    ("found", 1280, 1000, false, ONE_CASE),
];
/// The size that a screenshot of an empty page would not reach.
const SMALLEST_PICTURE: u64 = 20_000;

/// The time for a page's scripts in virtual time, and for waiting for a page in real time.
const MILLISECONDS: u32 = 30_000;

/// Opens `file`, with `fragment` (`#...`, or nothing) after its address, in the browser that
/// `DML_TEST_BROWSER` names, and lets its scripts end. Returns the document and the console's
/// messages.
fn open(file: &Path, fragment: &str, options: &[String]) -> (String, Vec<String>) {
    let program = std::env::var_os("DML_TEST_BROWSER").expect("DML_TEST_BROWSER names no browser");
    // The sandbox needs privileges that containers lack, and the pages are this project's.
    let output = Command::new(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--hide-scrollbars", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={FOLDER}/browser"))
        .arg(format!("--virtual-time-budget={MILLISECONDS}"))
        .arg(format!("--timeout={MILLISECONDS}"))
        .args(options)
        .arg(format!("file://{}{fragment}", file.display()))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the browser ended with {}:\n{log}", output.status);
    (String::from_utf8(output.stdout).unwrap(), console(&log))
}

/// The messages of the console in the browser's log, including uncaught exceptions and refusals of the
/// content security policy.
fn console(log: &str) -> Vec<String> {
    log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect()
}

/// The ids of the failures in `document` that are not hidden.
fn shown(document: &str) -> Vec<&str> {
    let tags = document.split("<details class=\"case\"").skip(1);
    let tags = tags.filter_map(|rest| rest.split_once('>').map(|(tag, _)| tag));
    let visible = tags.filter(|tag| !tag.contains(" hidden"));
    visible.filter_map(|tag| tag.split("data-id=\"").nth(1)?.split('"').next()).collect()
}

/// The ids of the sample's failures, in its order.
fn failures() -> Vec<String> {
    let run = dml_conformance::report::read(Path::new(SAMPLE)).unwrap();
    let cases = run.targets.iter().flat_map(|target| &target.cases);
    cases.filter(|case| case.result.is_failure()).map(|case| case.id.to_string()).collect()
}

/// Makes the page from the sample.
fn page() -> PathBuf {
    std::fs::create_dir_all(FOLDER).unwrap();
    let page = Path::new(FOLDER).join("report.html");
    let mut convert = Command::new(env!("CARGO_BIN_EXE_dml-conformance"));
    convert.args(["convert", SAMPLE, "--format", "html", "--output"]).arg(&page);
    assert!(convert.status().unwrap().success());
    page
}

#[test]
#[ignore = "needs a browser: `cargo xtask nightly --only html-report`"]
fn the_page_works_in_a_browser() {
    let page = page();
    // The positive control: an error in a page's script is noticed.
    let control = Path::new(FOLDER).join("control.html");
    let text = "<!DOCTYPE html><title>x</title><script>missing.call()</script>";
    std::fs::write(&control, text).unwrap();
    let dump = ["--dump-dom".to_owned()];
    let (_, console) = open(&control, "", &dump);
    assert!(console.iter().any(|line| line.contains("missing")), "no error is reported");

    let failures = failures();
    assert!(!failures.is_empty(), "{SAMPLE} has no failure that could be found");
    for query in QUERIES {
        let (document, console) = open(&page, &format!("#q={query}"), &dump);
        assert!(console.is_empty(), "{query:?}: the console says:\n{}", console.join("\n"));
        assert!(document.contains("data-ready=\"true\""), "{query:?}: the script did not end");
        let expected: Vec<&String> = failures.iter().filter(|id| id.contains(query)).collect();
        assert_eq!(shown(&document), expected, "{query:?}");
        let count = format!("{} of {} failures", expected.len(), failures.len());
        assert!(document.contains(&count), "{query:?}: the page does not say {count:?}");
    }

    for (name, width, height, is_dark, fragment) in PICTURES {
        let picture = Path::new(FOLDER).join(format!("{name}.png"));
        let _ = std::fs::remove_file(&picture);
        let options = [
            format!("--screenshot={}", picture.display()),
            format!("--window-size={width},{height}"),
            // The index in Chromium's list of colour schemes.
            format!("--blink-settings=preferredColorScheme={}", if is_dark { 0 } else { 1 }),
        ];
        open(&page, fragment, &options);
        let size = picture.metadata().unwrap().len();
        assert!(size > SMALLEST_PICTURE, "{} has {size} bytes: it is empty", picture.display());
    }
}

#[test]
fn hidden_failures_are_not_shown() {
    let document = "<details class=\"case\" data-id=\"a/b\"><p></details>\n\
        <details class=\"case\" data-id=\"c\" hidden=\"\"></details>\
        <details class=\"target\" id=\"d\"></details>";
    assert_eq!(shown(document), ["a/b"]);
}

#[test]
fn only_messages_of_the_console_count() {
    let log = "[1121/140751.002624:ERROR:dbus/bus.cc:405] Failed to connect to the bus\n\
        [1121/140751.1:INFO:CONSOLE:3] \"Uncaught Error: x\", source: file:///a.html (3)\n\
        12 bytes written to file a.png\n";
    let messages = console(log);
    assert!(messages.len() == 1 && messages[0].contains("Uncaught Error: x"), "{messages:?}");
}
