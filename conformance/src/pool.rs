//! Runs cases in worker processes: one that crashes or hangs costs its case and nothing else.

use std::iter::StepBy;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::cases::CaseId;
use crate::child::{self, Event, Launch};
use crate::exit::WorkerError;
use crate::protocol::{Reply, Request};
use crate::results::{CaseResult, ResultCode};
use crate::target::{Survey, Target};

/// A process that runs cases.
type Worker = child::Worker<Reply>;

/// A worker gets at most this many cases at once.
const LARGEST_BATCH: usize = 64;

/// How cases are run.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) launch: Launch,
    /// Worker processes at a time.
    pub(crate) jobs: usize,
    /// How long a case may take.
    pub(crate) timeout: Duration,
    /// Whether the matrices of cases that pass are wanted too.
    pub(crate) everything: bool,
}

impl Pool {
    /// Asks a worker which targets there are.
    pub(crate) fn survey(&self, survey: &Survey) -> anyhow::Result<Vec<Target>> {
        let worker = self.launch.start(&Request::Survey(survey.clone()))?;
        match first_reply(worker)? {
            (worker, Reply::Targets(targets)) => {
                worker.finish();
                Ok(targets)
            }
            (worker, _) => {
                worker.stop();
                anyhow::bail!("a worker process gave an answer to another question")
            }
        }
    }

    /// Runs the cases on `target` and calls `done` with the index and the result of each, in the
    /// order in which they end.
    ///
    /// # Errors
    /// A worker cannot be started or cannot open the target.
    pub(crate) fn run(
        &self,
        target: &Target,
        ids: &[&CaseId],
        mut done: impl FnMut(usize, CaseResult),
    ) -> anyhow::Result<()> {
        let batches = Batches::new(ids.len(), self.jobs);
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            let threads: Vec<_> = (0..self.jobs.clamp(1, ids.len().max(1)))
                .map(|_| {
                    let lane = Lane { pool: self, target, ids, results: sender.clone() };
                    let (batches, stopped) = (&batches, &stopped);
                    scope.spawn(move || {
                        let result = lane.run(batches, stopped);
                        if result.is_err() {
                            stopped.store(true, Ordering::Relaxed);
                        }
                        result
                    })
                })
                .collect();
            drop(sender);
            for (index, result) in results {
                done(index, result);
            }
            for thread in threads {
                thread.join().map_err(|_| anyhow::anyhow!("a thread of the runner panicked"))??;
            }
            Ok(())
        })
    }
}

/// Cases that nobody has taken yet.
struct Batches {
    starts: Mutex<StepBy<Range<usize>>>,
    size: usize,
    count: usize,
}

impl Batches {
    fn new(count: usize, jobs: usize) -> Self {
        // Several for each job, so that none ends long before the others.
        let size = (count / (jobs.max(1) * 8)).clamp(1, LARGEST_BATCH);
        Self { starts: Mutex::new((0..count).step_by(size)), size, count }
    }

    fn take(&self) -> Option<Range<usize>> {
        let start = self.starts.lock().unwrap_or_else(PoisonError::into_inner).next()?;
        Some(start..self.count.min(start + self.size))
    }
}

/// One worker after the other.
struct Lane<'a> {
    pool: &'a Pool,
    target: &'a Target,
    ids: &'a [&'a CaseId],
    results: Sender<(usize, CaseResult)>,
}

impl Lane<'_> {
    fn run(&self, batches: &Batches, stopped: &AtomicBool) -> anyhow::Result<()> {
        let mut worker = None;
        while let Some(batch) = batches.take() {
            let mut left = batch;
            while !left.is_empty() {
                if stopped.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let ready = match worker.take() {
                    Some(worker) => worker,
                    None => self.open()?,
                };
                worker = self.run_batch(ready, &mut left);
            }
        }
        if let Some(worker) = worker {
            worker.finish();
        }
        Ok(())
    }

    fn open(&self) -> anyhow::Result<Worker> {
        let (target, everything) = (Box::new(self.target.clone()), self.pool.everything);
        let worker = self.pool.launch.start(&Request::Open { target, everything })?;
        match first_reply(worker).with_context(|| self.target.title())? {
            (worker, Reply::Ready) => Ok(worker),
            (worker, _) => {
                worker.stop();
                anyhow::bail!("a worker process gave an answer to another question")
            }
        }
    }

    /// Runs the cases in `left` and takes those out that have a result. Returns the worker if it can
    /// go on.
    fn run_batch(&self, mut worker: Worker, left: &mut Range<usize>) -> Option<Worker> {
        let lines: Vec<_> = self.ids[left.clone()].iter().map(ToString::to_string).collect();
        worker.send(&lines.join("\n"));
        while let Some(index) = left.clone().next() {
            let start = Instant::now();
            let id = self.ids[index];
            let (result, goes_on) = match worker.next(start + self.pool.timeout) {
                Event::Reply(Reply::Finished { case, is_last }) if case.id == *id => {
                    (*case, (!is_last).then_some(worker))
                }
                Event::Reply(other) => {
                    worker.stop();
                    let detail = match other {
                        Reply::Failed { message, .. } => message,
                        _ => "the worker process answered something else".to_owned(),
                    };
                    (ended(id, ResultCode::Crash, detail, start), None)
                }
                Event::Ended => (ended(id, ResultCode::Crash, worker.autopsy(), start), None),
                Event::TimedOut => {
                    let printed = worker.stop();
                    let printed = if printed.is_empty() { printed } else { format!("; {printed}") };
                    let seconds = self.pool.timeout.as_secs_f64();
                    let detail = format!("not done after {seconds} seconds{printed}");
                    (ended(id, ResultCode::Timeout, detail, start), None)
                }
            };
            left.start += 1;
            // Nobody listens where the run has ended with an error.
            let _ = self.results.send((index, result));
            worker = goes_on?;
        }
        Some(worker)
    }
}

/// A case whose worker did not answer.
fn ended(id: &CaseId, result: ResultCode, detail: String, start: Instant) -> CaseResult {
    CaseResult::new(id, result, Some(detail), Some(start))
}

/// Waits for the first reply of a worker; what it refuses becomes an error.
fn first_reply(worker: Worker) -> anyhow::Result<(Worker, Reply)> {
    match worker.ready()? {
        (worker, Reply::Failed { code, message }) => {
            worker.stop();
            Err(WorkerError { code, message }.into())
        }
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_all_cases_once_and_in_order() {
        for (count, jobs) in [(0, 1), (1, 4), (1000, 1), (1000, 3), (7, 16)] {
            let batches = Batches::new(count, jobs);
            let taken: Vec<_> = std::iter::from_fn(|| batches.take()).collect();
            let all: Vec<usize> = taken.iter().cloned().flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
            assert!(taken.iter().all(|batch| batch.len() <= LARGEST_BATCH));
            assert!(taken.len() >= jobs.min(count), "{count} {jobs}");
        }
    }
}
