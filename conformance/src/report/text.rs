//! Texts that several forms of reports share.

use std::borrow::Cow;

use indicatif::HumanCount;

use crate::results::{
    Agreement, CaseResult, Counts, DeviceIdentity, Expected, ExpectedKind, ResultCode, Run,
    SlowCase, TargetRun,
};

/// `text` with control characters spelled out, so that a driver's message cannot move the cursor.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let is_control = |it: char| it.is_control() && it != '\t';
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let spelled = |it: char| match is_control(it) {
        true => it.escape_default().to_string(),
        false => it.to_string(),
    };
    Cow::Owned(text.chars().map(spelled).collect())
}

/// `text` in one line, with control characters spelled out.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    printable(text.trim_end())
}

/// An integer with thousands separators: `79,432`.
pub(crate) fn thousands(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Whether something is on, as people write it.
pub(super) fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// `1 case`, `2 cases`.
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(number), if number == 1 { "" } else { "s" })
}

impl Counts {
    /// The result codes that have a column: `pass`, `fail`, and those that occurred.
    pub(super) fn columns(&self) -> Vec<ResultCode> {
        let always = [ResultCode::Pass, ResultCode::Fail];
        let has = |code: &ResultCode| always.contains(code) || self.of(*code) > 0;
        ResultCode::ALL.into_iter().filter(has).collect()
    }

    /// `12 pass, 1 crash`.
    pub(super) fn words(&self) -> String {
        let part = |code| format!("{} {}", thousands(self.of(code)), code.name());
        let happened = ResultCode::ALL.into_iter().filter(|code| self.of(*code) > 0);
        happened.map(part).collect::<Vec<_>>().join(", ")
    }
}

impl Agreement {
    /// `devices compared with each other: 12 of 13 cases have the same results on all`.
    pub(super) fn words(&self) -> String {
        let (agreed, compared) = (thousands(self.agreed), count(self.compared, "case"));
        format!(
            "devices compared with each other: {agreed} of {compared} have the same results on all"
        )
    }
}

fn milliseconds(microseconds: u64) -> String {
    format!("{}.{:03} ms", microseconds / 1000, microseconds % 1000)
}

impl SlowCase {
    /// The time that it took, such as `1.250 ms`.
    pub(super) fn time(&self) -> String {
        milliseconds(self.microseconds)
    }
}

impl CaseResult {
    /// The time that it took, such as `1.250 ms`.
    pub(super) fn time(&self) -> String {
        milliseconds(self.microseconds)
    }

    /// The reason why an expectation says that it does not pass, and whether it ever will.
    pub(super) fn excuse(&self) -> Option<String> {
        let text = |it: &Expected| format!("{} ({})", it.reason, it.kind.words());
        self.expected.as_ref().map(text)
    }
}

impl ExpectedKind {
    /// The phrase of an expectation about the future.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Never => "never to pass",
            Self::NotYet => "not yet",
        }
    }
}

impl DeviceIdentity {
    /// The driver and its version.
    pub(super) fn driver(&self) -> String {
        format!("{} {}", self.driver_name, self.driver_info).trim().to_owned()
    }

    /// The version of Vulkan, such as `Vulkan 1.3.230`, or `without Vulkan`.
    pub(super) fn vulkan(&self) -> String {
        match self.api_version.as_str() {
            "" => "without Vulkan".to_owned(),
            version => format!("Vulkan {version}"),
        }
    }
}

impl TargetRun {
    /// The driver, the version of Vulkan, the numerics, the validation layer, robust access, staged
    /// transfers, the work bound and the part of the cases that ran, in a line.
    pub(super) fn surroundings(&self) -> String {
        let driver = self.device.driver();
        let validation = format!("validation {}", on_or_off(self.validation));
        let robust = self.robust_access.map(|is_on| format!("robust access {}", on_or_off(is_on)));
        let staged = self.staged_transfers.then(|| "staged transfers on".to_owned());
        let numerics = format!("numerics {}", self.numerics);
        let parts = [driver, self.device.vulkan(), numerics, validation].into_iter();
        let bound = self.work_bound.map(|bound| format!("work bound {bound}"));
        let sample = self.sample.as_ref().map(|part| format!("part {part} of the cases"));
        let parts = parts.chain(robust).chain(staged).chain(bound).chain(sample);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

impl TargetRun {
    /// The number of operators with an executed case, and the others; `None` without cases.
    pub(super) fn execution(&self) -> Option<String> {
        let all = self.operators().len() as u64;
        let not_executed = self.not_executed();
        let executed = thousands(all - not_executed.len() as u64);
        let rest = match not_executed.as_slice() {
            [] => String::new(),
            names => format!("; not executed: {}", names.join(", ")),
        };
        (all > 0).then(|| format!("executed {executed} of {}{rest}", count(all, "operator")))
    }
}

impl TargetRun {
    /// The number of operators whose kernels were dispatched, the number of kernels, and the cases that the
    /// host made; `None` if nothing was executed, and in reports that do not say.
    pub(super) fn dispatching(&self) -> Option<String> {
        let (kernels, total) = (self.kernels.as_ref()?, self.total());
        let executed = self.operators().len() - self.not_executed().len();
        if executed == 0 {
            return None;
        }
        let not_dispatched = self.not_dispatched();
        let dispatched = thousands((executed - not_dispatched.len()) as u64);
        let mut text = format!(
            "dispatched kernels for {dispatched} of {} that were executed: {}, {} compiled",
            count(executed as u64, "operator"),
            count(kernels.distinct, "kernel"),
            count(kernels.pipelines, "pipeline"),
        );
        if total.host_made() > 0 {
            let cases = count(total.host_made(), "case");
            text += &format!(
                "; the bytes of {cases} come from the host alone and say nothing of the driver"
            );
        }
        if !not_dispatched.is_empty() {
            text += &format!("; no case dispatched a kernel for: {}", not_dispatched.join(", "));
        }
        Some(text)
    }
}

impl Run {
    /// The selection of the run, in a line.
    pub(super) fn request(&self) -> String {
        let selection = &self.selection;
        let mut parts = vec![match selection.levels.as_slice() {
            [] => "no feature level".to_owned(),
            [level] => format!("feature level {level}"),
            all if all.len() == dml::FeatureLevel::ALL.len() => "all feature levels".to_owned(),
            some => format!("feature levels {}", some.join(" ")),
        }];
        parts.extend(selection.filter.as_ref().map(|it| format!("filter {it}")));
        if selection.random > 0 {
            let each = "random cases each";
            parts.push(format!("{} {each} from seed {}", selection.random, selection.seed));
        }
        parts.extend(selection.shard.as_ref().map(|it| format!("shard {it}")));
        parts.extend(selection.case_list.then(|| "ids from a list".to_owned()));
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use dml::Numerics;

    use super::*;
    use crate::results::samples;

    #[test]
    fn numbers_are_readable() {
        let of = [0, 999, 1000, 79432, 1_000_000].map(thousands);
        assert_eq!(of, ["0", "999", "1,000", "79,432", "1,000,000"]);
        assert_eq!((count(1, "case"), count(0, "case")), ("1 case".into(), "0 cases".into()));
        let case = samples::case("5_1/a/int8/rank1/b", ResultCode::Pass);
        assert_eq!(CaseResult { microseconds: 12_034, ..case }.time(), "12.034 ms");
    }

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(printable("plain \u{e9}"), "plain \u{e9}");
        assert_eq!(one_line("a\r\nb\u{7}\n"), "a\\r\\nb\\u{7}");
    }

    #[test]
    fn targets_and_requests_fit_a_line() {
        let mut run = samples::run();
        assert_eq!(
            run.targets[0].surroundings(),
            "sample driver 1.2, Vulkan 1.1.0, numerics exact, validation on, robust access on"
        );
        assert_eq!(run.request(), "feature level 5_1");
        run.selection.random = 4;
        run.selection.seed = 7;
        run.selection.filter = Some("*/int8/*".to_owned());
        assert_eq!(
            run.request(),
            "feature level 5_1, filter */int8/*, 4 random cases each from seed 7"
        );
        run.targets[0].device.api_version.clear();
        run.targets[0].device.driver_info.clear();
        assert!(run.targets[0].surroundings().starts_with("sample driver, without Vulkan, "));
        let target = &mut run.targets[0];
        target.robust_access = Some(false);
        assert!(target.surroundings().ends_with(", robust access off"));
        assert_eq!(target.options(), " --robust-access off");
        target.staged_transfers = true;
        assert!(target.surroundings().ends_with(", staged transfers on"));
        assert_eq!(target.options(), " --robust-access off --staged-transfers on");
        target.staged_transfers = false;
        target.work_bound = Some(4096);
        assert!(target.surroundings().ends_with(", work bound 4096"));
        assert_eq!(target.options(), " --robust-access off --work-bound 4096");
        target.work_bound = None;
        target.sample = Some("1/4".to_owned());
        assert!(target.surroundings().ends_with(", part 1/4 of the cases"));
        assert!(target.title().ends_with(" in a sample of 1/4"));
        target.sample = None;
        target.robust_access = None;
        target.numerics = Numerics::Fast;
        assert!(target.surroundings().contains(", numerics fast, "));
        assert!(target.title().ends_with(" with fast numerics"));
        assert_eq!(target.options(), " --numerics fast");
        assert!(target.surroundings().ends_with("validation on"));
    }
}
