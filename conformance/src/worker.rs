//! A worker process, which runs the cases that the runner names, so that a crash only ends the worker.

use std::path::Path;
use std::sync::mpsc::Receiver;

use anyhow::Context as _;

use crate::cases::{CaseId, Finder};
use crate::child::{answer, serve};
use crate::dump;
use crate::execute::{Details, run};
use crate::exit;
use crate::fault::{self, Fault};
use crate::onnx::{self, runner::RunTest};
use crate::protocol::{ModelTests, Reply, Request};
use crate::target::Target;
use crate::webnn;

/// Handles the request on standard input until that ends.
///
/// # Errors
/// Standard input has no valid request, or standard output is closed.
pub(crate) fn work() -> anyhow::Result<()> {
    let work = |request, ids: &Receiver<String>| match request {
        Request::Survey(survey) => answer(&Reply::Targets(survey.targets()?)),
        Request::Open { target, details } => run_cases(&target, details, ids),
        Request::Dump { target, case, folder } => {
            dump_case(&target, &case, &folder)?;
            answer(&Reply::Dumped)
        }
        Request::OpenForModels { target, kind } => {
            onnx::runner::serve(&target, run_test(kind), ids)
        }
    };
    serve("run", work, exit::code)
}

/// The function that runs tests of a kind.
pub(crate) fn run_test(kind: ModelTests) -> RunTest {
    match kind {
        ModelTests::Onnx => onnx::test::run,
        ModelTests::Models => onnx::test::run_model_test,
        ModelTests::Webnn => webnn::test::run,
    }
}

/// Writes files about the dispatches of a case into an empty folder.
///
/// # Errors
/// The target cannot be opened, there is no such case, or it cannot be executed or written.
pub(crate) fn dump_case(target: &Target, id: &CaseId, folder: &Path) -> anyhow::Result<()> {
    let case = Finder::default().find(id).with_context(|| format!("there is no case {id}"))?;
    let fault = Fault::from_environment(fault::VARIABLE, &fault::KINDS)?;
    let executor = target.open(None)?;
    if let Some(fault) = &fault {
        fault.strike(id);
    }
    Ok(dump::write(&case, &target.title(), &*executor, folder)?)
}

/// Runs and answers every id from the runner.
fn run_cases(target: &Target, details: Details, ids: &Receiver<String>) -> anyhow::Result<()> {
    let fault = Fault::from_environment(fault::VARIABLE, &fault::KINDS)?;
    let executor = target.open(None)?;
    let mut finder = Finder::default();
    answer(&Reply::Ready)?;
    for line in ids {
        let id = line.parse()?;
        let case = finder.find(&id).with_context(|| format!("there is no case {id}"))?;
        if let Some(fault) = &fault {
            fault.strike(&id);
        }
        let case = Box::new(run(&case, &*executor, details));
        let is_last = executor.is_lost();
        answer(&Reply::Finished { case, is_last })?;
        if is_last {
            break;
        }
    }
    Ok(())
}
