//! What neither passed nor failed, by its reason.

use std::collections::HashMap;

use crate::report::show::kind;
use crate::report::text::{count, thousands};
use crate::results::{CaseResult, ResultCode, TargetRun};

/// Reasons listed for one target.
const REASONS: usize = 30;
/// Ids listed for one reason.
const EXAMPLES: usize = 3;

/// Cases of one result.
#[derive(Clone, Debug)]
pub(super) struct ExcuseView {
    pub(super) result: &'static str,
    pub(super) what: &'static str,
    pub(super) count: String,
    pub(super) reasons: Vec<ReasonView>,
    /// Reasons that are not listed.
    pub(super) more: usize,
}

/// Cases of one result with the same reason.
#[derive(Clone, Debug)]
pub(super) struct ReasonView {
    pub(super) text: String,
    pub(super) count: String,
    pub(super) examples: Vec<String>,
    /// Cases that are not listed; empty where all are.
    pub(super) more: String,
    number: u64,
}

impl ExcuseView {
    /// What is expected to fail, what the device does not support, and what did not run.
    pub(super) fn all(target: &TargetRun) -> Vec<Self> {
        let of = [
            (ResultCode::ExpectedFail, "known not to pass"),
            (ResultCode::Unsupported, "legal, but refused by a limit of the device"),
            (ResultCode::NotRun, "beyond what the host interpreter can run"),
        ];
        of.into_iter().filter_map(|(code, what)| Self::new(target, code, what)).collect()
    }

    fn new(target: &TargetRun, code: ResultCode, what: &'static str) -> Option<Self> {
        let number = target.total().of(code);
        let mut places = HashMap::<String, usize>::new();
        let mut reasons = Vec::<ReasonView>::new();
        for case in target.cases.iter().filter(|case| case.result == code) {
            let text = reason(case);
            let place = *places.entry(text.clone()).or_insert(reasons.len());
            if place == reasons.len() {
                reasons.push(ReasonView::new(text));
            }
            reasons[place].add(case);
        }
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.number));
        let more = reasons.len().saturating_sub(REASONS);
        reasons.truncate(REASONS);
        reasons.iter_mut().for_each(ReasonView::finish);
        (number > 0).then(|| Self {
            result: code.name(),
            what,
            count: count(number, "case"),
            reasons,
            more,
        })
    }
}

impl ReasonView {
    fn new(text: String) -> Self {
        Self { text, count: String::new(), examples: vec![], more: String::new(), number: 0 }
    }

    fn add(&mut self, case: &CaseResult) {
        self.number += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(case.id.to_string());
        }
    }

    fn finish(&mut self) {
        self.count = count(self.number, "case");
        let more = self.number.saturating_sub(self.examples.len() as u64);
        if more > 0 {
            self.more = thousands(more);
        }
    }
}

fn reason(case: &CaseResult) -> String {
    let detail = case.detail.as_deref().unwrap_or("no reason given");
    match &case.expected {
        Some(expected) => format!("{} ({})", expected.reason, kind(expected.kind)),
        None => detail.to_owned(),
    }
}
