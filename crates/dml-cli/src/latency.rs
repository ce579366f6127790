//! The latency of a model, for `dml run --repeat`.

use std::fmt;
use std::time::{Duration, Instant};

use dml::Numerics;

/// The durations of the preparations, and of each repeated run.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    before: Vec<(&'static str, Duration)>,
    runs: Vec<Duration>,
    numerics: Numerics,
}

impl Latency {
    /// No measurements yet, for runs with these numerics.
    pub(crate) fn new(numerics: Numerics) -> Self {
        Self { numerics, ..Self::default() }
    }

    /// Runs `work` and records its duration as a preparation called `what`.
    pub(crate) fn once<T>(&mut self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.before.push((what, start.elapsed()));
        result
    }

    /// The preparations and the first run, with their durations.
    pub(crate) fn steps(&self) -> &[(&'static str, Duration)] {
        &self.before
    }

    /// Runs `work` and records its duration as one of the repeated runs.
    pub(crate) fn run<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.runs.push(start.elapsed());
        result
    }
}

/// `1.500 ms`
fn milliseconds(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}

/// The shortest time that at least `percent` of the sorted ones do not exceed: the nearest rank.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before =
            self.before.iter().map(|(what, time)| format!("{what} {}", milliseconds(*time)));
        writeln!(f, "once: {}", before.collect::<Vec<_>>().join(", "))?;
        let mut sorted = self.runs.clone();
        sorted.sort_unstable();
        let [least, median, most] = [0, 50, 99].map(|at| milliseconds(percentile(&sorted, at)));
        let count = sorted.len();
        let numerics = self.numerics;
        write!(f, "runs: {count}, median {median}, p99 {most}, least {least}, numerics {numerics}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rank_is_a_time_that_was_measured() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        let of = |percent| percentile(&times, percent).as_millis();
        assert_eq!([0, 50, 99, 100].map(of), [1, 100, 198, 200]);
        assert_eq!(percentile(&times[..1], 99), times[0]);
        assert_eq!(percentile(&times[..3], 50), times[1]);
        assert_eq!(percentile(&[], 50), Duration::ZERO);
    }

    #[test]
    fn a_line_says_what_came_once_and_one_what_came_often() {
        let latency = Latency {
            before: vec![("read", Duration::from_micros(1500)), ("compile", Duration::ZERO)],
            runs: [3, 1, 2].map(Duration::from_millis).to_vec(),
            numerics: Numerics::Fast,
        };
        assert_eq!(
            latency.to_string(),
            "once: read 1.500 ms, compile 0.000 ms\n\
             runs: 3, median 2.000 ms, p99 3.000 ms, least 1.000 ms, numerics fast"
        );
    }
}
