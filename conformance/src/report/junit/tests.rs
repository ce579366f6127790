use roxmltree::{Document, Node};

use super::*;
use crate::results::samples;

fn written(run: &Run) -> String {
    let mut xml = Vec::new();
    write(run, &mut xml).unwrap();
    String::from_utf8(xml).unwrap()
}

fn named<'a>(all: &'a Document<'_>, name: &str) -> Vec<Node<'a, 'a>> {
    all.descendants().filter(|descendant| descendant.has_tag_name(name)).collect()
}

#[test]
fn suites_count_and_cases_have_outcomes() {
    let xml = written(&samples::run());
    let all = Document::parse(&xml).unwrap();
    for name in ["testsuites", "testsuite"] {
        let attribute = |it| named(&all, name)[0].attribute(it).unwrap();
        let counts = ["tests", "failures", "errors", "skipped"].map(attribute);
        assert_eq!(counts, ["8", "2", "2", "3"], "{name}");
    }
    let suite = named(&all, "testsuite")[0];
    assert_eq!(suite.attribute("name"), Some("Sample <device> & co at 5_1"));
    let cases = named(&all, "testcase");
    assert_eq!(cases.len(), 8);
    assert_eq!(cases[0].attribute("classname"), Some("5_1.diagonal_matrix"));
    assert_eq!(cases[0].attribute("name"), Some("passed"));
    assert_eq!(named(&all, "system-out")[0].text(), Some("1 case passed, 1 executed"));
    assert_eq!(cases[1].attribute("classname"), Some("5_1.diagonal_matrix.int32.rank2"));
    assert_eq!(cases[1].attribute("name"), Some("offset_zero"));
    assert_eq!(cases[1].attribute("time"), Some("0.000250"));
    let outcomes = ["failure", "error", "skipped"].map(|name| named(&all, name));
    assert!(
        outcomes.iter().flatten().all(|outcome| outcome.parent().unwrap().has_tag_name("testcase"))
    );
    let types = |all: &[Node<'_, '_>]| -> Vec<String> {
        all.iter().map(|it| it.attribute("type").unwrap().to_owned()).collect()
    };
    assert_eq!(types(&outcomes[0]), ["fail", "unexpected-pass"]);
    assert_eq!(types(&outcomes[1]), ["crash", "timeout"]);
    assert_eq!(types(&outcomes[2]), ["unsupported", "expected-fail", "not-run"]);
}

#[test]
fn properties_say_what_it_ran_on() {
    let mut run = samples::run();
    run.targets[0].device.name = "<\"quoted\"> & 'co' \u{1b}[0m\u{fffe}".to_owned();
    let value = |run: &Run, name: &str| {
        let xml = written(run);
        let all = Document::parse(&xml).unwrap();
        let mut properties = named(&all, "property").into_iter();
        let found = properties.find(|property| property.attribute("name") == Some(name));
        found.map(|it| it.attribute("value").unwrap().to_owned())
    };
    let expected = [
        ("device", Some("<\"quoted\"> & 'co' \u{fffd}[0m\u{fffd}")),
        ("driver", Some("sample driver 1.2")),
        ("profile", None),
        ("feature level", Some("5_1")),
        ("verdict", Some("not conformant")),
        ("cases that dispatched kernels", Some("1")),
        ("cases that the host made", Some("0")),
    ];
    for (name, expected) in expected {
        assert_eq!(value(&run, name).as_deref(), expected, "{name}");
    }
    assert_eq!(value(&run, "not executed"), None);
    let passes = std::mem::take(&mut run.targets[0].passes);
    assert_eq!(value(&run, "not executed"), Some("diagonal_matrix".to_uppercase()));
    run.targets[0].passes = passes;
    let verdict = value(&samples::interpreted(), "verdict");
    assert_eq!(verdict.as_deref(), Some("plans verified"));
}

#[test]
fn failures_have_matrices_and_survive_every_character() {
    let mut run = samples::run();
    let failure = run.targets[0].cases[0].failure.as_mut().unwrap();
    failure.plan = "fill <zeros> & \"]]>\"\u{0}".to_owned();
    let xml = written(&run);
    let all = Document::parse(&xml).unwrap();
    let text = named(&all, "failure")[0].text().unwrap();
    assert!(text.contains("fill <zeros> & \"]]>\"\\u{0}"), "{text}");
    assert!(text.contains("[165]"), "{text}");
}
