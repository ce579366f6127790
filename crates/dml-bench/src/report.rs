//! The report on all measurements, as it is printed and written.

use serde::Serialize;

use crate::machine::Machine;
use crate::stats::{Ratio, Summary};

/// A report of one run of the command. Times are in seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The arguments after `dml-bench`.
    pub(crate) arguments: Vec<String>,
    /// The machine that it ran on.
    pub(crate) machine: Machine,
    /// The version of each peer, or the reason why it is missing.
    pub(crate) peers: Vec<PeerStatus>,
    /// One report for each device.
    pub(crate) devices: Vec<DeviceReport>,
}

/// Another library on this machine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PeerStatus {
    /// Its name.
    pub(crate) name: String,
    /// Its version, or the reason why it is missing.
    pub(crate) status: Presence<String>,
}

/// All measurements on one device.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceReport {
    /// The driver's name of the device.
    pub(crate) name: String,
    /// The driver with its version.
    pub(crate) driver: String,
    /// `exact`, or `fast`.
    pub(crate) numerics: &'static str,
    /// The cases.
    pub(crate) cases: Vec<CaseResult>,
    /// The device's own cost of several commands instead of one fill.
    pub(crate) limits: Vec<Limit>,
    /// The times of recording and compiling.
    pub(crate) host: Vec<HostCost>,
    /// The times from process start to first result.
    pub(crate) cold_start: Vec<ColdStart>,
}

/// One case on one device.
#[derive(Debug, Serialize)]
pub(crate) struct CaseResult {
    /// The case.
    pub(crate) id: String,
    /// Bytes of the output, without padding.
    pub(crate) bytes: u64,
    /// The baseline's command.
    pub(crate) baseline: &'static str,
    /// The highest ratio that meets the target.
    pub(crate) target: Option<f64>,
    /// The result.
    pub(crate) outcome: Outcome,
}

/// The result of a case.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Every result was right.
    Measured(Box<CaseTimes>),
    /// The runtime or the device refuses the case, for this reason.
    Refused(String),
    /// A result was wrong, or a call failed.
    Failed(String),
}

/// Times that were taken in turns.
#[derive(Debug, Serialize)]
pub(crate) struct CaseTimes {
    /// The ratio of the operator's time to the baseline's.
    pub(crate) ratio: Ratio,
    /// The ratio of the times by the device's own clock.
    pub(crate) device_ratio: Option<Ratio>,
    /// The operator, submission and wait included.
    pub(crate) operator: Summary,
    /// The baseline, submission and wait included.
    pub(crate) baseline: Summary,
    /// The operator on the device's own clock.
    pub(crate) device: Option<Summary>,
    /// The ratio of the operator's time to that of the host's memset.
    pub(crate) memset_ratio: Option<Ratio>,
    /// The host's memset of the same bytes, one thread.
    pub(crate) memset: Option<Summary>,
    /// Other cases that took turns with this one.
    pub(crate) others: Vec<OtherResult<Ratio>>,
    /// Other libraries.
    pub(crate) peers: Vec<OtherResult<PeerTimes>>,
}

/// A comparison of a case with another library, or another case.
#[derive(Debug, Serialize)]
pub(crate) struct OtherResult<T> {
    /// The peer and its function, or the other case.
    pub(crate) name: String,
    /// The highest ratio that meets the target.
    pub(crate) target: Option<f64>,
    /// The result, or the reason why there is none.
    pub(crate) outcome: Presence<T>,
}

/// Times of another library, in turns with the operator's.
#[derive(Debug, Serialize)]
pub(crate) struct PeerTimes {
    /// The ratio of the operator's time to the peer's.
    pub(crate) ratio: Ratio,
    /// The ratio of the baseline's time to the peer's: the lowest that the operator could reach.
    pub(crate) baseline_ratio: Ratio,
    /// The peer's times.
    pub(crate) times: Summary,
}

/// One way to write 64 MiB, against one fill of as many bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Limit {
    /// The commands.
    pub(crate) name: String,
    /// The ratio of its time to the fill's.
    pub(crate) ratio: Ratio,
    /// Its time, submission and wait included.
    pub(crate) time: Summary,
}

/// A time of work on the host.
#[derive(Debug, Serialize)]
pub(crate) struct HostCost {
    /// The work.
    pub(crate) name: &'static str,
    /// The time in seconds.
    pub(crate) time: Summary,
    /// The highest median, in seconds.
    pub(crate) target: f64,
}

/// Process starts with the same caches.
#[derive(Debug, Serialize)]
pub(crate) struct ColdStart {
    /// The caches.
    pub(crate) name: &'static str,
    /// From before the process was started to its first line.
    pub(crate) time: Summary,
}

/// A result, or the reason why it is missing.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Presence<T> {
    There(T),
    Missing(String),
}

impl<T> From<Result<T, String>> for Presence<T> {
    fn from(result: Result<T, String>) -> Self {
        result.map_or_else(Self::Missing, Self::There)
    }
}

/// The verdict on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There is no target.
    NoTarget,
    /// At most the target.
    Met,
    /// Above the target, or not measured.
    Missed,
    /// The ratio is too noisy to decide.
    TooNoisy,
}

/// The numbers of targets that are met, and that are not.
fn score(verdicts: impl Iterator<Item = Verdict> + Clone) -> String {
    let count = |wanted| verdicts.clone().filter(|verdict| *verdict == wanted).count();
    let [met, missed, too_noisy] = [Verdict::Met, Verdict::Missed, Verdict::TooNoisy].map(count);
    let all = met + missed + too_noisy;
    format!("{met} met, {missed} missed, {too_noisy} too noisy to tell, of {all} targets")
}

impl Verdict {
    /// The verdict on a value that may be as high as `target`.
    fn of(value: f64, target: f64) -> Self {
        if value <= target { Self::Met } else { Self::Missed }
    }

    /// The verdict on a ratio; a missing one has missed its target. A noisy ratio never meets its target, and
    /// misses it if nine pairs of ten are above.
    fn of_ratio(ratio: Option<&Ratio>, target: Option<f64>) -> Self {
        match (ratio, target) {
            (_, None) => Self::NoTarget,
            (None, Some(_)) => Self::Missed,
            (Some(ratio), Some(target)) if ratio.is_noisy() && ratio.p10 <= target => {
                Self::TooNoisy
            }
            (Some(ratio), Some(target)) => Self::of(ratio.of_medians, target),
        }
    }

    /// The text for a table.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::NoTarget | Self::TooNoisy => "",
            Self::Met => "met",
            Self::Missed => "MISSED",
        }
    }
}

impl CaseResult {
    /// The verdict on the operator against the baseline.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::of_ratio(self.measured().map(|measured| &measured.ratio), self.target)
    }

    /// The times, if there are any.
    pub(crate) fn measured(&self) -> Option<&CaseTimes> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Refused(_) | Outcome::Failed(_) => None,
        }
    }
}

impl OtherResult<PeerTimes> {
    /// The verdict on the operator against the peer; `NoTarget` without the peer.
    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict_of(|times| &times.ratio)
    }
}

impl OtherResult<Ratio> {
    /// The verdict on the case against the other one; `NoTarget` without the other.
    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict_of(|ratio| ratio)
    }
}

impl<T> OtherResult<T> {
    fn verdict_of(&self, ratio: impl FnOnce(&T) -> &Ratio) -> Verdict {
        match &self.outcome {
            Presence::There(it) => Verdict::of_ratio(Some(ratio(it)), self.target),
            Presence::Missing(_) => Verdict::NoTarget,
        }
    }
}

impl HostCost {
    /// Whether the target is met.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::of(self.time.median, self.target)
    }
}

impl DeviceReport {
    /// The number of cases that failed.
    pub(crate) fn failures(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_))).count()
    }

    /// The numbers of the device's targets that are met, and that are not.
    pub(crate) fn score(&self) -> String {
        let measured = self.cases.iter().filter_map(CaseResult::measured);
        let peers = measured.clone().flat_map(|it| &it.peers);
        let others = measured.flat_map(|it| &it.others);
        let verdicts = (self.cases.iter().map(CaseResult::verdict))
            .chain(others.map(OtherResult::<Ratio>::verdict))
            .chain(peers.map(OtherResult::<PeerTimes>::verdict))
            .chain(self.host.iter().map(HostCost::verdict));
        score(verdicts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_says_why_in_json() {
        let peer = |status| PeerStatus { name: "jax".to_owned(), status: Presence::from(status) };
        let json = |status| serde_json::to_value(peer(status)).unwrap()["status"].clone();
        assert_eq!(json(Ok("0.4".to_owned())), serde_json::json!({ "there": "0.4" }));
        assert_eq!(json(Err("no pip".to_owned())), serde_json::json!({ "missing": "no pip" }));
    }

    #[test]
    fn a_target_is_met_up_to_its_value_and_missed_without_a_result() {
        let of = |ratio| Verdict::of_ratio(Some(&calm(ratio)), Some(1.1));
        assert_eq!((of(1.1), of(1.11)), (Verdict::Met, Verdict::Missed));
        assert_eq!(Verdict::of_ratio(None, Some(1.1)), Verdict::Missed);
        assert_eq!(Verdict::of_ratio(Some(&calm(9.0)), None), Verdict::NoTarget);
    }

    /// A ratio without noise.
    fn calm(ratio: f64) -> Ratio {
        Ratio { of_medians: ratio, p10: ratio, p90: ratio, turns: 50 }
    }

    #[test]
    fn what_is_noisy_does_not_meet_its_target() {
        let of = |ratio, target| Verdict::of_ratio(Some(&ratio), target);
        let verdicts = [
            of(Ratio { p90: 9.0, ..calm(1.0) }, Some(1.1)),
            of(Ratio { p10: 0.1, ..calm(9.0) }, Some(1.1)),
            of(Ratio { turns: 3, ..calm(1.0) }, Some(1.1)),
            of(Ratio { turns: 3, ..calm(1.0) }, None),
            of(Ratio { p90: 9.0, turns: 3, ..calm(2.0) }, Some(1.1)),
            of(calm(1.0), Some(1.1)),
            of(calm(2.0), Some(1.1)),
            Verdict::of_ratio(None, Some(1.1)),
        ];
        let text = "1 met, 3 missed, 3 too noisy to tell, of 7 targets";
        assert_eq!(score(verdicts.into_iter()), text);
    }
}
