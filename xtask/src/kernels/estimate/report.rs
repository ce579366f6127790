//! Estimates as text.

use std::collections::HashSet;

use anyhow::{Context as _, Result, ensure};

use super::{Card, CompiledRun, Dispatch, Estimate, Limit, Run, Runs};

/// Estimates that are furthest off, which are shown one by one.
const WORST: usize = 8;
/// Dispatches that take less, in microseconds, are mostly the barrier before them.
const MOSTLY_BARRIER: f64 = 6.0;

/// A table of the works on a card that nobody measured.
pub(in super::super) fn estimates(card: &Card, works: &[CompiledRun]) -> String {
    let mut text = format!(
        "estimated microseconds on {} ({}), and the least that its bandwidth allows:\n\
         {:<24} {:>9} {:>9} {:>8}  mostly\n",
        card.name, card.family, "work", "least", "estimate", "ratio"
    );
    for work in works {
        let name = &work.run.work;
        text += &match work.estimate(card) {
            Ok(Estimate { microseconds, limit }) => {
                let least = card.moving(work.run.least_bytes);
                let ratio = microseconds / least;
                let limit = limit.name();
                format!("{name:<24} {least:9.1} {microseconds:9.1} {ratio:8.1}  {limit}\n")
            }
            Err(error) => format!("{name:<24} {error:#}\n"),
        };
    }
    text
}

/// Estimates beside what was measured on a card: of whole works, and of dispatches alone.
pub(in super::super) fn calibration(card: &Card, works: &[CompiledRun], measured: &Runs) -> String {
    let mut text = format!(
        "estimated microseconds on {}, from the code of {}, and what was measured:\n\
         {:<24} {:>9} {:>9} {:>8}  mostly\n",
        card.name, card.family, "work", "measured", "estimate", "ratio"
    );
    let (mut whole, mut alone) = (Vec::new(), Vec::new());
    for run in &measured.runs {
        match pairs(card, works, run) {
            Ok((work, dispatches)) => {
                text += &format!("{}\n", work.line().trim_end());
                whole.push(work);
                alone.extend(dispatches);
            }
            Err(error) => text += &format!("{:<24} {error:#}\n", run.work),
        }
    }
    let alone = different(alone);
    let mut long = alone.clone();
    long.retain(|pair| pair.measured > MOSTLY_BARRIER);
    text += &format!("whole works: {}\n", summary(&whole));
    text += &format!("different dispatches, each alone: {}\n", summary(&alone));
    text += &format!("those of more than {MOSTLY_BARRIER} us: {}\n", summary(&long));
    text += "furthest off of these:\n";
    long.sort_by(|a, b| b.error().total_cmp(&a.error()));
    long.iter().take(WORST).for_each(|pair| text += &format!("{}\n", pair.line()));
    text
}

/// A time that was estimated and measured.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    work: String,
    /// The dispatch that it is of; empty for the whole work.
    dispatch: String,
    measured: f64,
    estimate: Estimate,
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.estimate.microseconds / self.measured
    }

    /// By how much the estimate is too high or too low; 0 where it is right.
    fn error(&self) -> f64 {
        self.ratio().ln().abs()
    }

    fn line(&self) -> String {
        let Self { work, dispatch, measured, estimate } = self;
        let (ratio, Estimate { microseconds, limit }) = (self.ratio(), estimate);
        let limit = limit.name();
        format!("{work:<24} {measured:9.1} {microseconds:9.1} {ratio:8.2}  {limit:<12}  {dispatch}")
    }
}

/// A whole work, and its dispatches alone.
///
/// # Errors
/// The plan is another than the one that was measured, or lacks times.
fn pairs(card: &Card, works: &[CompiledRun], run: &Run) -> Result<(Pair, Vec<Pair>)> {
    let planned = works.iter().find(|work| work.run.work == run.work);
    let planned = planned.context("there is no such work any more")?;
    let is_same = run.dispatches().count() == planned.run.dispatches().count()
        && run.dispatches().zip(planned.run.dispatches()).all(|(a, b)| a.is_like(b));
    ensure!(is_same, "its plan is not the one that was measured");
    let pair = |dispatch: String, measured: Option<f64>, estimate: Estimate| {
        let measured = measured.context("a time is missing")?;
        Ok(Pair { work: run.work.clone(), dispatch, measured, estimate })
    };
    let alone = run.dispatches().map(|dispatch| {
        let estimate = card.stage(std::slice::from_ref(dispatch), &planned.kernels)?;
        let Dispatch { kernel, invocations, operations, bytes, microseconds } = dispatch;
        let text =
            format!("{invocations} invocations, {operations} operations, {bytes} bytes: {kernel}");
        pair(text, *microseconds, estimate)
    });
    let alone = alone.collect::<Result<_>>()?;
    Ok((pair(String::new(), run.microseconds, planned.estimate(card)?)?, alone))
}

/// Each dispatch once, however often and in however many works it is.
fn different(pairs: Vec<Pair>) -> Vec<Pair> {
    let mut seen = HashSet::new();
    pairs.into_iter().filter(|pair| seen.insert(pair.dispatch.clone())).collect()
}

/// How far off estimates are.
fn summary(pairs: &[Pair]) -> String {
    let count = pairs.len();
    let mean = pairs.iter().map(|pair| pair.ratio().ln()).sum::<f64>() / count.max(1) as f64;
    let within = |factor: f64| pairs.iter().filter(|pair| pair.error() <= factor.ln()).count();
    format!(
        "{count}; estimate / measured has the geometric mean {:.2}; within x1.5 {}, x2 {}, x3 {}",
        mean.exp(),
        within(1.5),
        within(2.0),
        within(3.0)
    )
}

impl Limit {
    fn name(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Instructions => "instructions",
            Self::Waiting => "waiting",
            Self::Starting => "starting",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(measured: f64, microseconds: f64) -> Pair {
        let estimate = Estimate { microseconds, limit: Limit::Waiting };
        Pair { work: "sum".to_owned(), dispatch: String::new(), measured, estimate }
    }

    #[test]
    fn estimates_count_as_near_whether_too_high_or_too_low() {
        let pairs = [pair(10.0, 10.0), pair(10.0, 6.0), pair(10.0, 20.0), pair(10.0, 40.0)];
        let expected =
            "4; estimate / measured has the geometric mean 1.48; within x1.5 1, x2 3, x3 3";
        assert_eq!(summary(&pairs), expected);
    }
}
