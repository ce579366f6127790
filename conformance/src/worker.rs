//! A worker process: runs the cases that the runner names, so that a crash ends nothing else.

use std::io::{self, Write};
use std::sync::mpsc::Receiver;

use anyhow::Context as _;

use crate::cases::Finder;
use crate::child::{lines, reply};
use crate::execute::{Details, run};
use crate::exit;
use crate::fault::{self, Fault};
use crate::protocol::{Reply, Request};
use crate::target::Target;

/// Does what standard input says until it ends.
///
/// # Errors
/// Standard input is no request, or standard output is closed.
pub(crate) fn work() -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    let lines = lines();
    let request = lines.recv().context("there is no request; `run` starts workers")?;
    let request = serde_json::from_str(&request).context("a worker is started by `run` only")?;
    let result = match request {
        Request::Survey(survey) => {
            survey.targets().map(|targets| reply(&mut output, &Reply::Targets(targets)))
        }
        Request::Open { target, everything } => {
            let details = if everything { Details::Everything } else { Details::Failures };
            run_cases(&target, details, &lines, &mut output)
        }
    };
    match result {
        Ok(sent) => Ok(sent?),
        Err(error) => {
            let (code, message) = (exit::code(&error), format!("{error:#}"));
            Ok(reply(&mut output, &Reply::Failed { code, message })?)
        }
    }
}

/// Answers every id that comes.
fn run_cases(
    target: &Target,
    details: Details,
    ids: &Receiver<String>,
    output: &mut dyn Write,
) -> anyhow::Result<io::Result<()>> {
    let fault = Fault::from_environment(fault::VARIABLE, &fault::KINDS)?;
    let executor = target.open(None)?;
    let mut finder = Finder::default();
    if let Err(error) = reply(output, &Reply::Ready) {
        return Ok(Err(error));
    }
    for line in ids {
        let id = line.parse()?;
        let case = finder.find(&id).with_context(|| format!("there is no case {id}"))?;
        if let Some(fault) = &fault {
            fault.strike(&id);
        }
        let case = Box::new(run(&case, &*executor, details));
        let is_last = executor.is_lost();
        let sent = reply(output, &Reply::Finished { case, is_last });
        if sent.is_err() || is_last {
            return Ok(sent);
        }
    }
    Ok(Ok(()))
}
