//! JUnit XML: a suite for each target and feature level, a test case for each case that did not pass, and
//! one for all that passed of an operator.

use std::borrow::Cow;
use std::io;

use dml::FeatureLevel;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::show;
use super::text::{count, on_or_off, one_line, thousands};
use crate::results::{CaseResult, Counts, ResultCode, Run, TargetRun};

/// Writes `run` as JUnit XML.
pub(super) fn write(run: &Run, output: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = Writer::new_with_indent(output, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let seconds: f64 = run.targets.iter().map(|target| target.seconds).sum();
    writer
        .create_element("testsuites")
        .with_attribute(("name", "dml-conformance"))
        .with_attributes(counts(run.total()))
        .with_attribute(("time", format!("{seconds:.3}").as_str()))
        .write_inner_content(|writer| {
            run.targets.iter().try_for_each(|target| write_target(writer, run, target))
        })?;
    writeln!(writer.get_mut())
}

type Xml<'a> = Writer<&'a mut dyn io::Write>;

fn write_target(writer: &mut Xml<'_>, run: &Run, target: &TargetRun) -> io::Result<()> {
    for (level, total) in target.levels() {
        let cases = || target.cases.iter().filter(|case| case.id.level == level);
        writer
            .create_element("testsuite")
            .with_attribute(("name", legal(&format!("{} at {level}", target.title())).as_ref()))
            .with_attributes(counts(total))
            .write_inner_content(|writer| {
                write_properties(writer, run, target, (level, total))?;
                write_passes(writer, target, level)?;
                cases().try_for_each(|case| write_case(writer, case))
            })?;
    }
    Ok(())
}

/// The attributes that count. A crash and a timeout are errors; what is excused or did not run is skipped.
fn counts(total: Counts) -> [(&'static str, Cow<'static, str>); 4] {
    let sum = |element: &str| {
        let codes = ResultCode::ALL.into_iter().filter(|code| outcome(*code) == Some(element));
        codes.map(|code| total.of(code)).sum()
    };
    [
        ("tests", total.all()),
        ("failures", sum("failure")),
        ("errors", sum("error")),
        ("skipped", sum("skipped")),
    ]
    .map(|(name, count)| (name, count.to_string().into()))
}

fn write_properties(
    writer: &mut Xml<'_>,
    run: &Run,
    target: &TargetRun,
    (level, total): (FeatureLevel, Counts),
) -> io::Result<()> {
    let device = &target.device;
    let profile = target.profile.as_ref().map_or("", |profile| profile.name.as_str());
    let not_executed = target.not_executed_at(level);
    let (dispatched, host_made) = match target.kernels {
        Some(_) => (total.dispatched().to_string(), total.host_made().to_string()),
        None => Default::default(),
    };
    let properties = [
        ("device", device.name.as_str()),
        ("device kind", &device.kind),
        ("device uuid", &device.uuid),
        ("driver", &device.driver()),
        ("vulkan version", &device.api_version),
        ("profile", profile),
        ("strategy", target.strategy.as_deref().unwrap_or("")),
        ("variants", if target.emulated { "emulated" } else { "" }),
        ("numerics", target.numerics.name()),
        ("validation", on_or_off(target.validation)),
        ("robust access", target.robust_access.map_or("", on_or_off)),
        ("staged transfers", if target.staged_transfers { "on" } else { "" }),
        ("work bound", &target.work_bound.map_or(String::new(), |bound| bound.to_string())),
        ("sample", target.sample.as_deref().unwrap_or("")),
        ("feature level", &level.to_string()),
        ("verdict", &total.verdict().to_string()),
        ("not executed", &not_executed.join(" ")),
        ("cases that dispatched kernels", &dispatched),
        ("cases that the host made", &host_made),
        ("conformance version", &run.conformance_version),
    ];
    writer.create_element("properties").write_inner_content(|writer| {
        for (name, value) in properties.into_iter().filter(|(_, value)| !value.is_empty()) {
            writer
                .create_element("property")
                .with_attribute(("name", name))
                .with_attribute(("value", legal(value).as_ref()))
                .write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

/// A test case for each operator that says how many cases passed.
fn write_passes(writer: &mut Xml<'_>, target: &TargetRun, level: FeatureLevel) -> io::Result<()> {
    for (operator, counts) in target.passes_at(level) {
        let class = format!("{level}.{}", operator.to_lowercase());
        let passed = count(counts.of(ResultCode::Pass), "case");
        let text = format!("{passed} passed, {} executed", thousands(counts.executed()));
        writer
            .create_element("testcase")
            .with_attribute(("classname", legal(&class).as_ref()))
            .with_attribute(("name", "passed"))
            .write_inner_content(|writer| {
                writer.create_element("system-out").write_text_content(BytesText::new(&text))?;
                Ok(())
            })?;
    }
    Ok(())
}

fn write_case(writer: &mut Xml<'_>, case: &CaseResult) -> io::Result<()> {
    let id = case.id.to_string();
    let (class, name) = id.rsplit_once('/').unwrap_or(("", &id));
    let element = writer
        .create_element("testcase")
        .with_attribute(("classname", legal(&class.replace('/', ".")).as_ref()))
        .with_attribute(("name", legal(name).as_ref()))
        .with_attribute(("time", seconds(case.microseconds).as_str()));
    let Some(outcome) = outcome(case.result) else {
        element.write_empty()?;
        return Ok(());
    };
    element.write_inner_content(|writer| {
        let detail = case.detail.as_deref().unwrap_or_default();
        let reason = case.expected.as_ref().map(|expected| expected.reason.as_str());
        let message = if outcome == "skipped" { reason.unwrap_or(detail) } else { detail };
        writer
            .create_element(outcome)
            .with_attribute(("type", case.result.name()))
            .with_attribute(("message", one_line(message).as_ref()))
            .write_text_content(BytesText::new(&legal(&show::side_by_side(case))))?;
        Ok(())
    })?;
    Ok(())
}

/// The element of a case that did not pass.
fn outcome(result: ResultCode) -> Option<&'static str> {
    use ResultCode::{
        Crash, ExpectedFail, Fail, NotRun, Pass, Timeout, UnexpectedPass, Unsupported,
    };
    match result {
        Pass => None,
        Fail | UnexpectedPass => Some("failure"),
        Crash | Timeout => Some("error"),
        Unsupported | ExpectedFail | NotRun => Some("skipped"),
    }
}

fn seconds(microseconds: u64) -> String {
    format!("{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000)
}

/// `text` with what XML 1.0 cannot hold, even escaped, replaced.
fn legal(text: &str) -> Cow<'_, str> {
    let illegal = |it: char| {
        (it < ' ' && !matches!(it, '\t' | '\n' | '\r')) || matches!(it, '\u{fffe}' | '\u{ffff}')
    };
    if !text.contains(illegal) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(illegal, "\u{fffd}"))
}

#[cfg(test)]
mod tests;
