//! Runs tests of models of any kind on a target.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use anyhow::Context as _;
use dml::{Device, Instance};

use super::suite::Test;
use crate::child::answer;
use crate::fault::{self, Fault};
use crate::pool::{Pool, Work};
use crate::protocol::{ModelTests, Reply, Request};
use crate::results::ResultCode;
use crate::results::onnx::{Ended, Outcome};
use crate::target::Target;

/// Runs the tests in worker processes and calls `progress` with the result of each. Results are in the
/// order of `tests`.
///
/// # Errors
/// A worker cannot be started or cannot open the target.
pub(crate) fn run_isolated(
    target: &Target,
    kind: ModelTests,
    tests: &[Test],
    pool: &Pool,
    mut progress: impl FnMut(&Ended),
) -> anyhow::Result<Vec<Ended>> {
    let tests: Vec<&Test> = tests.iter().collect();
    let mut results: Vec<Option<Ended>> = vec![None; tests.len()];
    let ran = pool.run(&Tests { target, kind }, &tests, |index, ended| {
        progress(&ended);
        results[index] = Some(ended);
    });
    ran.with_context(|| target.title())?;
    let all: Option<Vec<Ended>> = results.into_iter().collect();
    all.context("a test has no result")
}

/// Runs a test, given the text that names it and the device.
pub(crate) type RunTest = fn(&str, &Device) -> Ended;

/// Runs the tests in this process, where a crash ends the whole run.
///
/// # Errors
/// The target cannot be opened.
pub(crate) fn run_in_process(
    target: &Target,
    run: RunTest,
    tests: &[Test],
    mut progress: impl FnMut(&Ended),
) -> anyhow::Result<Vec<Ended>> {
    let mut place = OpenDevice::open(target)?;
    let mut results = Vec::with_capacity(tests.len());
    for test in tests {
        let ended = place.run(run, &test.to_string());
        progress(&ended);
        results.push(ended);
        if place.is_lost() {
            place = OpenDevice::open(target)?;
        }
    }
    Ok(results)
}

/// Runs a worker after [`Request::OpenForModels`]: it answers every line.
///
/// # Errors
/// The target cannot be opened, or standard output is closed.
pub(crate) fn serve(target: &Target, run: RunTest, tests: &Receiver<String>) -> anyhow::Result<()> {
    let fault = Fault::from_environment(fault::VARIABLE, &fault::KINDS)?;
    let place = OpenDevice::open(target)?;
    answer(&Reply::Ready)?;
    for test in tests {
        if let Some(fault) = &fault {
            fault.strike(&test);
        }
        let ended = place.run(run, &test);
        let is_last = place.is_lost();
        answer(&Reply::Tested { test, ended, is_last })?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// An open device.
struct OpenDevice {
    instance: Instance,
    device: Device,
}

impl OpenDevice {
    fn open(target: &Target) -> anyhow::Result<Self> {
        let (instance, device) =
            target.device()?.context("tests of models need a Vulkan device")?;
        Ok(Self { instance, device })
    }

    fn run(&self, run: RunTest, test: &str) -> Ended {
        let ended = run(test, &self.device);
        match self.instance.take_validation_messages().first() {
            None => ended,
            Some(message) => Ended::because(Outcome::Failed, message.to_string()),
        }
    }

    fn is_lost(&self) -> bool {
        self.device.vulkan().is_lost()
    }
}

/// The tests for workers.
struct Tests<'a> {
    target: &'a Target,
    kind: ModelTests,
}

impl Work for Tests<'_> {
    type Case = Test;
    type Result = Ended;

    fn request(&self) -> Request {
        Request::OpenForModels { target: Box::new(self.target.clone()), kind: self.kind }
    }

    fn are_together(&self, _: &Test, _: &Test) -> bool {
        false
    }

    fn result(&self, test: &Test, reply: Reply) -> Option<(Ended, bool)> {
        match reply {
            Reply::Tested { test: told, ended, is_last } if told == test.to_string() => {
                Some((ended, is_last))
            }
            _ => None,
        }
    }

    fn without_answer(&self, _: &Test, code: ResultCode, detail: String, _: Instant) -> Ended {
        Ended::because(Outcome::Failed, format!("{}: {detail}", code.name()))
    }
}
