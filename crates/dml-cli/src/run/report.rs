//! The three lines that a run ends with: what ran where, how much work it was, and where the outputs are.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use dml::vk::WorkCounts;
use dml::{Device, FeatureLevel, Numerics};

use super::delivery::{Delivered, counted};
use crate::files::printable;
use crate::latency::Latency;

/// A finished run: its work, its times and its outputs.
pub(super) struct Report<'a> {
    pub(super) model: PathBuf,
    /// `None` if no output needed a device.
    pub(super) work: Option<DeviceWork>,
    pub(super) latency: &'a Latency,
    pub(super) delivered: Delivered,
}

/// A device, and the work that the first run gave it.
pub(super) struct DeviceWork {
    name: String,
    level: FeatureLevel,
    numerics: Numerics,
    counts: WorkCounts,
}

impl DeviceWork {
    /// Calls `run`, and counts the work that it gives to `device`.
    pub(super) fn counted<T>(device: &Device, run: impl FnOnce() -> T) -> (T, Self) {
        let vulkan = device.vulkan();
        let before = vulkan.work_counts();
        let result = run();
        let after = vulkan.work_counts();
        let work = Self {
            name: vulkan.info().name.clone(),
            level: device.feature_level(),
            numerics: device.numerics(),
            counts: WorkCounts {
                submissions: after.submissions - before.submissions,
                dispatches: after.dispatches - before.dispatches,
            },
        };
        (result, work)
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = printable(&self.model.display().to_string());
        match &self.work {
            None => writeln!(f, "ran {model} on the host: no output needs a device")?,
            Some(DeviceWork { name, level, numerics, .. }) => {
                let name = printable(name);
                writeln!(f, "ran {model} on {name}, feature level {level}, {numerics} numerics")?;
            }
        }
        if let Some(DeviceWork { counts, .. }) = &self.work {
            let dispatches = counted(counts.dispatches, "dispatch", "dispatches");
            let submissions = counted(counts.submissions, "submission", "submissions");
            write!(f, "{dispatches} in {submissions}; ")?;
        }
        writeln!(f, "{}", self.times())?;
        write!(f, "{}", self.delivered)
    }
}

impl Report<'_> {
    fn times(&self) -> String {
        let steps = self.latency.steps();
        let total: Duration = steps.iter().map(|(_, time)| *time).sum();
        let steps = steps.iter().map(|(step, time)| format!("{step} {}", short(*time)));
        format!("{} in all: {}", short(total), steps.collect::<Vec<_>>().join(", "))
    }
}

/// A duration with two or three digits: `0.25 ms`, `12.3 ms`, `1.62 s`.
fn short(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1e3;
    match milliseconds {
        0.0..10.0 => format!("{milliseconds:.2} ms"),
        10.0..100.0 => format!("{milliseconds:.1} ms"),
        100.0..1000.0 => format!("{milliseconds:.0} ms"),
        _ => format!("{:.2} s", milliseconds / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_or_three_digits() {
        let texts =
            [250, 12_340, 161_566, 1_616_000].map(|time| short(Duration::from_micros(time)));
        assert_eq!(texts, ["0.25 ms", "12.3 ms", "162 ms", "1.62 s"]);
    }
}
