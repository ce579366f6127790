//! Cases that neither passed nor failed, by their reason.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::report::text::{count, thousands};
use crate::results::{ResultCode, TargetRun};

/// Reasons listed for one target.
const REASONS: usize = 30;
/// Ids listed for one reason.
const EXAMPLES: usize = 3;

/// Cases of one result.
#[derive(Clone, Debug)]
pub(super) struct Excuse {
    pub(super) result: &'static str,
    pub(super) what: &'static str,
    pub(super) count: String,
    pub(super) reasons: Vec<Reason>,
    /// The number of reasons that are not listed.
    pub(super) more: usize,
}

/// Cases of one result with the same reason.
#[derive(Clone, Debug)]
pub(super) struct Reason {
    pub(super) text: String,
    pub(super) examples: Vec<String>,
    cases: u64,
}

impl Excuse {
    /// The cases that are expected to fail, that the device does not support, and that did not run.
    pub(super) fn all(target: &TargetRun) -> Vec<Self> {
        let of = [
            (ResultCode::ExpectedFail, "known not to pass"),
            (ResultCode::Unsupported, "legal, but refused by a limit of the device"),
            (ResultCode::NotRun, "beyond what the host interpreter can run"),
        ];
        of.into_iter().filter_map(|(code, what)| Self::new(target, code, what)).collect()
    }

    fn new(target: &TargetRun, code: ResultCode, what: &'static str) -> Option<Self> {
        let mut places = HashMap::<String, usize>::new();
        let mut reasons = Vec::<Reason>::new();
        for case in target.cases.iter().filter(|case| case.result == code) {
            let detail = || case.detail.as_deref().unwrap_or("no reason given").to_owned();
            let text = case.excuse().unwrap_or_else(detail);
            let place = *places.entry(text.clone()).or_insert(reasons.len());
            if place == reasons.len() {
                reasons.push(Reason { text, examples: vec![], cases: 0 });
            }
            let reason = &mut reasons[place];
            reason.cases += 1;
            if reason.examples.len() < EXAMPLES {
                reason.examples.push(case.id.to_string());
            }
        }
        reasons.sort_by_key(|reason| Reverse(reason.cases));
        let more = reasons.len().saturating_sub(REASONS);
        reasons.truncate(REASONS);
        let count = count(target.total().of(code), "case");
        (!reasons.is_empty()).then(|| Self { result: code.name(), what, count, reasons, more })
    }
}

impl Reason {
    pub(super) fn count(&self) -> String {
        count(self.cases, "case")
    }

    /// The number of cases that are not listed; empty if all are.
    pub(super) fn more(&self) -> String {
        match self.cases - self.examples.len() as u64 {
            0 => String::new(),
            more => thousands(more),
        }
    }
}
