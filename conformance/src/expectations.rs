//! Cases that are known not to pass, with their reasons.
//!
//! ```toml
//! [[expect]]
//! cases = "*/float64/*"       # a glob over ids
//! device = "Some GPU*"        # optional globs over names, as reports show them
//! driver = "some driver*"
//! profile = "*"               # only under a profile
//! outcome = "crash"           # how it ends: "fail" unless stated, "crash", "timeout", "unsupported"
//! result = "not-yet"          # or "never"
//! reason = "what is wrong, and where it is followed up"
//! ```
//!
//! A case that matches and ends in this way is an expected failure; one that ends in another way is not
//! excused; one that passes is an unexpected pass, which fails the run, so that the entry is removed.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::cases::Listed;
use crate::outcomes::Outcomes;
use crate::pattern::{Pattern, read_toml};
use crate::results::{CaseResult, Expected, ExpectedKind, ResultCode, TargetRun};

/// The entries that are part of the program.
const BUILT_IN: &[(&str, &str)] =
    &[("built-in.toml", include_str!("../expectations/built-in.toml"))];

/// The results that an expectation can excuse.
const OUTCOMES: [ResultCode; 4] =
    [ResultCode::Fail, ResultCode::Crash, ResultCode::Timeout, ResultCode::Unsupported];

/// Entries of one or several files.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    expect: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an [[expect]] table")]
struct Entry {
    /// The file and the entry's number in it, for messages.
    #[serde(skip)]
    place: String,
    cases: Pattern,
    device: Option<Pattern>,
    driver: Option<Pattern>,
    profile: Option<Pattern>,
    /// A plain failure if the entry does not say: a crash or a hang is another defect.
    #[serde(default = "plain_failure")]
    outcome: ResultCode,
    result: ExpectedKind,
    reason: String,
}

fn plain_failure() -> ResultCode {
    ResultCode::Fail
}

impl Expectations {
    /// The entries that are part of the program.
    ///
    /// # Errors
    /// Never: a test reads them.
    pub fn built_in() -> anyhow::Result<Self> {
        let mut all = Self::default();
        for (file, text) in BUILT_IN {
            all.add(file, text)?;
        }
        Ok(all)
    }

    /// Adds the entries of a file.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or an entry's key is unknown, missing or has a wrong value.
    pub fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read expectations {file}"))?;
        self.add(&file, &text)
    }

    fn add(&mut self, file: &str, text: &str) -> anyhow::Result<()> {
        let File { expect: mut entries } = read_toml(text).with_context(|| file.to_owned())?;
        for (index, entry) in entries.iter_mut().enumerate() {
            let place = format!("{file}: expect[{index}]");
            let (outcome, accepted) = (entry.outcome.name(), OUTCOMES.map(ResultCode::name));
            ensure!(
                OUTCOMES.contains(&entry.outcome),
                "{place}.outcome: {outcome:?} is not accepted; accepted: {}",
                accepted.join(", ")
            );
            ensure!(
                !entry.reason.trim().is_empty(),
                "{place}.reason: {:?} is not accepted; accepted: a text that is not empty",
                entry.reason
            );
            entry.place = place;
        }
        self.entries.append(&mut entries);
        Ok(())
    }

    /// Applies the entries to the outcomes of a target.
    pub fn apply(&self, outcomes: &mut Outcomes) {
        let is_about = |entry: &&Entry| entry.is_about(outcomes.target());
        let applying: Vec<&Entry> = self.entries.iter().filter(is_about).collect();
        if applying.is_empty() {
            return;
        }
        outcomes.change(|case| {
            let id = case.id.to_string();
            let expects = |entry: &&&Entry| {
                [entry.outcome, ResultCode::Pass].contains(&case.result)
                    && entry.cases.is_match(&id)
            };
            applying.iter().find(expects).map(|entry| entry.apply(case.clone()))
        });
    }

    /// Messages about the entries that are for one of `targets`, all of which have run `cases`, but match
    /// none of these.
    pub fn unmatched(&self, targets: &[TargetRun], cases: &[Listed]) -> Vec<String> {
        let is_idle = |entry: &&Entry| {
            let has = |case: &Listed| entry.cases.is_match(&case.id.to_string());
            targets.iter().any(|target| entry.is_about(target)) && !cases.iter().any(has)
        };
        let idle = self.entries.iter().filter(is_idle);
        idle.map(|entry| format!("{}: cases: {} matches no case", entry.place, entry.cases.glob()))
            .collect()
    }
}

impl Entry {
    fn is_about(&self, TargetRun { device, profile, .. }: &TargetRun) -> bool {
        let fits = |glob: &Option<Pattern>, name: Option<&str>| {
            glob.as_ref().is_none_or(|glob| name.is_some_and(|name| glob.is_match(name)))
        };
        let driver = format!("{} {}", device.driver_name, device.driver_info);
        fits(&self.device, Some(&device.name))
            && fits(&self.driver, Some(driver.trim()))
            && fits(&self.profile, profile.as_ref().map(|profile| profile.name.as_str()))
    }

    fn apply(&self, mut case: CaseResult) -> CaseResult {
        case.result = match case.result {
            ResultCode::Pass => ResultCode::UnexpectedPass,
            _ => ResultCode::ExpectedFail,
        };
        if case.result == ResultCode::UnexpectedPass {
            case.detail = Some(format!("{} says that it does not pass", self.place));
        }
        let reason = self.reason.trim().to_owned();
        case.expected = Some(Expected { kind: self.result, reason });
        case
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultCode::{
        Crash, ExpectedFail, Fail, NotRun, Pass, Timeout, UnexpectedPass, Unsupported,
    };
    use crate::results::samples;

    fn expectations(text: &str) -> Expectations {
        let mut all = Expectations::default();
        all.add("my.toml", text).unwrap();
        all
    }

    /// The outcomes of a target whose cases ended in these ways.
    fn outcomes(ends: &[ResultCode]) -> Outcomes {
        let case = |end: &ResultCode| {
            let case = samples::case(&format!("5_1/a/int8/rank1/{}", end.name()), *end);
            CaseResult { expected: None, ..case }
        };
        Outcomes::of(samples::target(), ends.iter().map(case))
    }

    /// The results of cases that ended in every way that an entry can excuse.
    fn applied(text: &str) -> Vec<ResultCode> {
        let ends = [Pass, Fail, Unsupported, Crash, Timeout, NotRun];
        let mut outcomes = outcomes(&ends);
        expectations(text).apply(&mut outcomes);
        outcomes.results().map(|(_, result)| result).collect()
    }

    const REST: &str = "result = 'never'\nreason = 'because'\n";

    #[test]
    fn an_entry_excuses_how_it_says_that_a_case_ends_and_nothing_else() {
        let all = |outcome: &str| applied(&format!("[[expect]]\ncases = '*'\n{outcome}\n{REST}"));
        let plain = [UnexpectedPass, ExpectedFail, Unsupported, Crash, Timeout, NotRun];
        assert_eq!(all(""), plain);
        assert_eq!(all("outcome = 'fail'"), plain);
        let excused = |at: usize| {
            let mut results = [UnexpectedPass, Fail, Unsupported, Crash, Timeout, NotRun];
            results[at] = ExpectedFail;
            results
        };
        assert_eq!(all("outcome = 'unsupported'"), excused(2));
        assert_eq!(all("outcome = 'crash'"), excused(3));
        assert_eq!(all("outcome = 'timeout'"), excused(4));
        assert_eq!(applied(""), [Pass, Fail, Unsupported, Crash, Timeout, NotRun]);
    }

    #[test]
    fn of_several_entries_the_one_that_states_the_outcome_excuses() {
        let entry =
            |outcome: &str| format!("[[expect]]\ncases = '*'\noutcome = '{outcome}'\n{REST}");
        let found = applied(&(entry("fail") + &entry("crash")));
        let expected = [UnexpectedPass, ExpectedFail, Unsupported, ExpectedFail, Timeout, NotRun];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_reason_is_kept() {
        let mut outcomes = outcomes(&[Pass, Fail]);
        let text = "[[expect]]\ncases = '*/fail'\nresult = 'not-yet'\nreason = 'issue 7'\n";
        expectations(text).apply(&mut outcomes);
        let expected = outcomes.problem(1).unwrap().expected.as_ref().unwrap();
        assert_eq!((expected.kind, expected.reason.as_str()), (ExpectedKind::NotYet, "issue 7"));
    }

    #[test]
    fn device_driver_and_profile_narrow_an_entry() {
        let first = |key: &str| applied(&format!("[[expect]]\ncases = '*'\n{key}\n{REST}"))[0];
        assert_eq!(first("device = 'Sample*'"), ResultCode::UnexpectedPass);
        assert_eq!(first("device = 'Other*'"), ResultCode::Pass);
        assert_eq!(first("driver = 'sample driver 1.*'"), ResultCode::UnexpectedPass);
        assert_eq!(first("driver = '2.*'"), ResultCode::Pass);
        // The sample runs without a profile.
        assert_eq!(first("profile = '*'"), ResultCode::Pass);
    }

    #[test]
    fn an_entry_that_matches_nothing_is_named() {
        let targets = [samples::target()];
        let text = format!(
            "[[expect]]\ncases = '*'\n{REST}[[expect]]\ncases = '*/no_case'\n{REST}\
             [[expect]]\ncases = '*/no_case'\ndevice = 'not here'\n{REST}"
        );
        let outcomes = outcomes(&[Pass]);
        let unmatched = expectations(&text).unmatched(&targets, outcomes.listing());
        assert_eq!(unmatched, ["my.toml: expect[1]: cases: */no_case matches no case"]);
    }

    #[test]
    fn the_built_in_entries_are_read() {
        Expectations::built_in().unwrap();
    }

    fn error(text: &str) -> String {
        format!("{:#}", Expectations::default().add("my.toml", text).unwrap_err())
    }

    #[test]
    fn errors_name_file_entry_key_value_and_what_is_accepted() {
        let good = "[[expect]]\ncases = '*'\nresult = 'never'\nreason = 'x'\n";
        let second = |entry: &str| error(&format!("{good}[[expect]]\n{entry}"));
        assert_eq!(
            second("cases = '*'\nresult = 'maybe'\nreason = 'x'"),
            "my.toml: line 7: expect[1].result: unknown variant `maybe`, expected `never` or `not-yet`"
        );
        assert_eq!(
            second("cases = '*'\nresult = 'never'"),
            "my.toml: line 5: expect[1]: missing field `reason`"
        );
        assert_eq!(
            second("cases = '*'\nresult = 'never'\nreason = '  '"),
            "my.toml: expect[1].reason: \"  \" is not accepted; accepted: a text that is not empty"
        );
        assert_eq!(
            second("result = 'never'\nreason = 'x'"),
            "my.toml: line 5: expect[1]: missing field `cases`"
        );
        assert_eq!(
            second("cases = '['\nresult = 'never'\nreason = 'x'"),
            "my.toml: line 6: expect[1].cases: error parsing glob '[': unclosed character class; \
             missing ']'; accepted: a glob such as '*/int64/*'"
        );
        assert_eq!(
            second("cases = 3\nresult = 'never'\nreason = 'x'"),
            "my.toml: line 6: expect[1].cases: invalid type: integer `3`, expected a string"
        );
        assert_eq!(
            second("case = '*'"),
            "my.toml: line 6: expect[1].case: unknown field `case`, expected one of `cases`, `device`, \
             `driver`, `profile`, `outcome`, `result`, `reason`"
        );
        assert_eq!(
            second("cases = '*'\noutcome = 'pass'\nresult = 'never'\nreason = 'x'"),
            "my.toml: expect[1].outcome: \"pass\" is not accepted; accepted: fail, crash, timeout, \
             unsupported"
        );
    }

    #[test]
    fn files_are_refused_as_a_whole() {
        assert_eq!(
            error("expected = 1"),
            "my.toml: line 1: expected: unknown field `expected`, expected `expect`"
        );
        assert!(error("expect = 1").contains("expected a sequence"));
        assert!(error("expect = [1]").contains("expected an [[expect]] table"));
        assert!(error("\n[[expect").starts_with("my.toml: line 2: "), "{}", error("\n[[expect"));
        let twice = "[[expect]]\ncases = '*'\ncases = '*'\n";
        assert!(error(twice).starts_with("my.toml: line 3: "), "{}", error(twice));
    }

    #[test]
    fn a_file_may_have_no_entries() {
        assert!(expectations("# nothing\n").entries.is_empty());
    }
}
