use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::BytesStart;

use super::*;
use crate::results::samples;

/// An element with its attributes and the text right inside it.
#[derive(Debug)]
struct Element {
    name: String,
    parents: Vec<String>,
    attributes: BTreeMap<String, String>,
    text: String,
}

impl Element {
    fn new(start: &BytesStart<'_>, parents: &[String]) -> Self {
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let value = unescape(&attribute.value).unwrap().into_owned();
            (attribute.key.as_ref().to_owned(), value)
        });
        Self {
            name: start.name().as_ref().to_owned(),
            parents: parents.to_vec(),
            attributes: attributes.collect(),
            text: String::new(),
        }
    }
}

/// Reads everything back; fails where it is no well-formed XML.
fn parsed(run: &Run) -> Vec<Element> {
    let mut xml = Vec::new();
    write(run, &mut xml).unwrap();
    let xml = String::from_utf8(xml).unwrap();
    let mut reader = Reader::from_str(&xml);
    reader.config_mut().check_end_names = true;
    let (mut all, mut open) = (Vec::<Element>::new(), Vec::<usize>::new());
    loop {
        let parents: Vec<String> = open.iter().map(|index| all[*index].name.clone()).collect();
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                open.push(all.len());
                all.push(Element::new(&start, &parents));
            }
            Event::Empty(start) => all.push(Element::new(&start, &parents)),
            Event::End(_) => drop(open.pop().unwrap()),
            Event::Text(text) => {
                if let Some(index) = open.last() {
                    all[*index].text += &text.xml10_content();
                }
            }
            Event::GeneralRef(name) => {
                let reference = format!("&{};", name.xml10_content());
                let text = unescape(&reference).unwrap().into_owned();
                all[*open.last().unwrap()].text += &text;
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(open.is_empty());
    all
}

fn named<'a>(all: &'a [Element], name: &str) -> Vec<&'a Element> {
    all.iter().filter(|it| it.name == name).collect()
}

#[test]
fn suites_count_and_cases_have_outcomes() {
    let all = parsed(&samples::run());
    for name in ["testsuites", "testsuite"] {
        let attributes = &named(&all, name)[0].attributes;
        let counts = ["tests", "failures", "errors", "skipped"].map(|it| attributes[it].as_str());
        assert_eq!(counts, ["8", "2", "2", "3"], "{name}");
    }
    assert_eq!(named(&all, "testsuite")[0].attributes["name"], "Sample <device> & co at 5_1");
    let cases = named(&all, "testcase");
    assert_eq!(cases.len(), 8);
    assert_eq!(cases[0].attributes["classname"], "5_1.diagonal_matrix.int64.rank2");
    assert_eq!(cases[0].attributes["name"], "offset_zero");
    assert_eq!(cases[0].attributes["time"], "0.000250");
    let outcomes = ["failure", "error", "skipped"].map(|name| named(&all, name));
    assert!(outcomes.iter().flatten().all(|it| it.parents.last().unwrap() == "testcase"));
    let types =
        |all: &[&Element]| all.iter().map(|it| it.attributes["type"].clone()).collect::<Vec<_>>();
    assert_eq!(types(&outcomes[0]), ["fail", "unexpected-pass"]);
    assert_eq!(types(&outcomes[1]), ["crash", "timeout"]);
    assert_eq!(types(&outcomes[2]), ["unsupported", "expected-fail", "not-run"]);
}

#[test]
fn properties_say_what_it_ran_on() {
    let mut run = samples::run();
    run.targets[0].device.name = "<\"quoted\"> & 'co' \u{1b}[0m\u{fffe}".to_owned();
    let all = parsed(&run);
    let properties = named(&all, "property");
    let value = |name: &str| {
        let found = properties.iter().find(|it| it.attributes["name"] == name);
        found.map(|it| it.attributes["value"].as_str())
    };
    assert_eq!(value("device"), Some("<\"quoted\"> & 'co' \u{fffd}[0m\u{fffd}"));
    assert_eq!(value("driver"), Some("sample driver 1.2"));
    assert_eq!(value("profile"), None);
    assert_eq!(value("feature level"), Some("5_1"));
    assert_eq!(value("verdict"), Some("not conformant"));
    let all = parsed(&samples::interpreted());
    let is_verdict = |it: &&&Element| it.attributes["name"] == "verdict";
    let verdict =
        named(&all, "property").iter().find(is_verdict).unwrap().attributes["value"].clone();
    assert_eq!(verdict, "plans verified");
}

#[test]
fn failures_have_matrices_and_survive_every_character() {
    let mut run = samples::run();
    let failure = run.targets[0].cases[1].failure.as_mut().unwrap();
    failure.plan = "fill <zeros> & \"]]>\"\u{0}".to_owned();
    let all = parsed(&run);
    let text = &named(&all, "failure")[0].text;
    assert!(text.contains("fill <zeros> & \"]]>\"\\u{0}"), "{text}");
    assert!(text.contains("[165]"), "{text}");
}
