//! Reads what the examples `compile_works` and `time_works` of dml-bench print of works and their dispatches.

use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

/// Works of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Runs {
    /// The device's name, where the text begins with it.
    pub(in super::super) device: String,
    pub(in super::super) runs: Vec<Run>,
}

/// One run of a work.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Run {
    pub(in super::super) work: String,
    /// Bytes of inputs, constants and outputs.
    pub(in super::super) least_bytes: u64,
    /// `None` where it was not measured.
    pub(in super::super) microseconds: Option<f64>,
    /// Dispatches, those together that have no barrier between them. Measured ones are all in one stage, since
    /// `time_works` tells no barriers.
    pub(in super::super) stages: Vec<Vec<Dispatch>>,
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Dispatch {
    /// The kernel's name, and the values of its specialization constants.
    pub(in super::super) kernel: String,
    /// Invocations, idle ones included.
    pub(in super::super) invocations: u64,
    pub(in super::super) operations: u64,
    pub(in super::super) bytes: u64,
    /// Alone, after a barrier. `None` where it was not measured.
    pub(in super::super) microseconds: Option<f64>,
}

impl Run {
    pub(in super::super) fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.stages.iter().flatten()
    }
}

impl Dispatch {
    /// Whether both ask for the same.
    pub(in super::super) fn is_like(&self, other: &Self) -> bool {
        let told = |it: &Self| (it.invocations, it.operations, it.bytes);
        self.kernel == other.kernel && told(self) == told(other)
    }
}

impl FromStr for Runs {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut runs = Self::default();
        for (index, line) in text.lines().enumerate() {
            runs.add(line).with_context(|| format!("line {}", index + 1))?;
        }
        Ok(runs)
    }
}

impl Runs {
    fn add(&mut self, line: &str) -> Result<()> {
        if let Some(device) = line.strip_prefix("# ") {
            device.clone_into(&mut self.device);
            return Ok(());
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |field: &str| field.parse::<u64>().with_context(|| format!("{field:?}"));
        let time = |field: Option<&&str>| {
            field
                .map(|field| field.parse::<f64>().with_context(|| format!("{field:?}")))
                .transpose()
        };
        match fields[..] {
            // How fast a copy by Vulkan's command is says nothing of kernels.
            ["copy", _, _] => {}
            ["work", work, least_bytes, ..] => self.runs.push(Run {
                work: work.to_owned(),
                least_bytes: number(least_bytes)?,
                microseconds: time(fields.get(3))?,
                stages: vec![Vec::new()],
            }),
            [work, "barrier"] => self.last(work)?.stages.push(Vec::new()),
            [work, kernel, invocations, operations, bytes, ..] => {
                let dispatch = Dispatch {
                    kernel: kernel.to_owned(),
                    invocations: number(invocations)?,
                    operations: number(operations)?,
                    bytes: number(bytes)?,
                    microseconds: time(fields.get(5))?,
                };
                let stage = self.last(work)?.stages.last_mut();
                stage.context("a work without dispatches")?.push(dispatch);
            }
            _ => bail!("neither a work nor a dispatch: {line:?}"),
        }
        Ok(())
    }

    fn last(&mut self, work: &str) -> Result<&mut Run> {
        let last = self.runs.last_mut().filter(|run| run.work == work);
        last.with_context(|| format!("no line of the work {work} comes before"))
    }
}

#[cfg(test)]
mod tests;
