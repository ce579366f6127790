//! What was measured, as it is printed and written.

use serde::Serialize;

use crate::machine::Machine;
use crate::stats::{Ratio, Summary};

/// One run of the command. Times are in seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The arguments after `dml-bench`.
    pub(crate) arguments: Vec<String>,
    /// Where it ran.
    pub(crate) machine: Machine,
    /// The versions of the peers, and of those that could not be had, why not.
    pub(crate) peers: Vec<PeerStatus>,
    /// One for each device.
    pub(crate) devices: Vec<DeviceReport>,
}

/// Another library on this machine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PeerStatus {
    /// Its name.
    pub(crate) name: String,
    /// Its version, or why it could not be had.
    pub(crate) status: Presence<String>,
}

/// Everything that was measured on one device.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceReport {
    /// The driver's name of the device.
    pub(crate) name: String,
    /// The driver with its version.
    pub(crate) driver: String,
    /// `exact`, or `fast`.
    pub(crate) numerics: &'static str,
    /// The operator on shapes.
    pub(crate) cases: Vec<CaseResult>,
    /// What the device itself loses where more than one fill is asked of it.
    pub(crate) limits: Vec<Limit>,
    /// What recording and compiling cost.
    pub(crate) host: Vec<HostCost>,
    /// Process start to first result.
    pub(crate) cold_start: Vec<ColdStart>,
}

/// One case on one device.
#[derive(Debug, Serialize)]
pub(crate) struct CaseResult {
    /// The case.
    pub(crate) id: String,
    /// Of the output, without padding.
    pub(crate) bytes: u64,
    /// What the device does on its own.
    pub(crate) baseline: &'static str,
    /// The highest ratio that meets the target.
    pub(crate) target: Option<f64>,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

/// What came of a case.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Every result was right.
    Measured(Box<CaseTimes>),
    /// The runtime or the device does not do it, and says why.
    Refused(String),
    /// A result was wrong, or a call failed.
    Failed(String),
}

/// Times that were taken in turns.
#[derive(Debug, Serialize)]
pub(crate) struct CaseTimes {
    /// The operator's time in times of the baseline.
    pub(crate) ratio: Ratio,
    /// The same on the device's own clock.
    pub(crate) device_ratio: Option<Ratio>,
    /// The operator, submission and wait included.
    pub(crate) operator: Summary,
    /// The baseline, submission and wait included.
    pub(crate) baseline: Summary,
    /// The operator on the device's own clock.
    pub(crate) device: Option<Summary>,
    /// The operator's time in times of the host's memset.
    pub(crate) memset_ratio: Option<Ratio>,
    /// The host's memset of the same bytes, one thread.
    pub(crate) memset: Option<Summary>,
    /// Other cases that took turns with this one.
    pub(crate) others: Vec<OtherResult<Ratio>>,
    /// Other libraries.
    pub(crate) peers: Vec<OtherResult<PeerTimes>>,
}

/// What a case was compared with: another library, or another case.
#[derive(Debug, Serialize)]
pub(crate) struct OtherResult<T> {
    /// The peer and the way it was asked, or the case.
    pub(crate) name: String,
    /// The highest ratio that meets the target.
    pub(crate) target: Option<f64>,
    /// What came of it; or why there is nothing.
    pub(crate) outcome: Presence<T>,
}

/// Times of another library, in turns with the operator's.
#[derive(Debug, Serialize)]
pub(crate) struct PeerTimes {
    /// The operator's time in times of the peer's.
    pub(crate) ratio: Ratio,
    /// The baseline's time in times of the peer's: what is left to the operator.
    pub(crate) baseline_ratio: Ratio,
    /// The peer.
    pub(crate) times: Summary,
}

/// One way to write 64 MiB, against one fill of as many bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Limit {
    /// The commands.
    pub(crate) name: String,
    /// Its time in times of the fill's.
    pub(crate) ratio: Ratio,
    /// Submission and wait included.
    pub(crate) time: Summary,
}

/// What the host spends on something.
#[derive(Debug, Serialize)]
pub(crate) struct HostCost {
    /// On what.
    pub(crate) name: &'static str,
    /// In seconds.
    pub(crate) time: Summary,
    /// The highest median, in seconds.
    pub(crate) target: f64,
}

/// Starts with the same caches.
#[derive(Debug, Serialize)]
pub(crate) struct ColdStart {
    /// Which caches there were.
    pub(crate) name: &'static str,
    /// From before the process was started to its first line.
    pub(crate) time: Summary,
}

/// Something, or the reason why it is not there.
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

/// Whether a target is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There is none.
    NoTarget,
    /// At most the target.
    Met,
    /// Above the target, or not done at all.
    Missed,
    /// The ratio says too little to tell.
    TooNoisy,
}

/// How many targets are met, and how many are not.
fn score(verdicts: impl Iterator<Item = Verdict> + Clone) -> String {
    let count = |wanted| verdicts.clone().filter(|verdict| *verdict == wanted).count();
    let [met, missed, too_noisy] = [Verdict::Met, Verdict::Missed, Verdict::TooNoisy].map(count);
    let all = met + missed + too_noisy;
    format!("{met} met, {missed} missed, {too_noisy} too noisy to tell, of {all} targets")
}

impl Verdict {
    /// Of a value that may be as high as `target`.
    fn of(value: f64, target: f64) -> Self {
        if value <= target { Self::Met } else { Self::Missed }
    }

    /// Of a ratio; `None` where there is none. A noisy one never meets its target, and misses it where
    /// nine pairs of ten are above.
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

    /// For a table.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::NoTarget | Self::TooNoisy => "",
            Self::Met => "met",
            Self::Missed => "MISSED",
        }
    }
}

impl CaseResult {
    /// The operator against the baseline.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::of_ratio(self.measured().map(|it| &it.ratio), self.target)
    }

    /// The times, where there are any.
    pub(crate) fn measured(&self) -> Option<&CaseTimes> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Refused(_) | Outcome::Failed(_) => None,
        }
    }
}

impl OtherResult<PeerTimes> {
    /// The operator against the peer; no verdict without the peer.
    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict_of(|times| &times.ratio)
    }
}

impl OtherResult<Ratio> {
    /// The case against the other one; no verdict without that.
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
    /// How many cases failed.
    pub(crate) fn failures(&self) -> usize {
        self.cases.iter().filter(|it| matches!(it.outcome, Outcome::Failed(_))).count()
    }

    /// What came of its targets.
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
