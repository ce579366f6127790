//! Runs cases in worker processes: one that crashes or hangs costs its case and nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::cases::CaseId;
use crate::child::{self, Event, Launch};
use crate::execute::Details;
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
    /// Of which cases the matrices are wanted.
    pub(crate) details: Details,
}

impl Pool {
    /// Asks a worker which targets there are.
    pub(crate) fn survey(&self, survey: &Survey) -> anyhow::Result<Vec<Target>> {
        let targets = |reply| match reply {
            Reply::Targets(targets) => Some(targets),
            _ => None,
        };
        let (worker, targets) = self.launch.open(&Request::Survey(survey.clone()), targets)?;
        worker.finish();
        Ok(targets)
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
        let numbered: Vec<(usize, &CaseId)> = ids.iter().copied().enumerate().collect();
        let batches = Mutex::new(numbered.chunks(batch_size(ids.len(), self.jobs)));
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            let threads: Vec<_> = (0..self.jobs.clamp(1, ids.len().max(1)))
                .map(|_| {
                    let lane = Lane { pool: self, target, results: sender.clone() };
                    let (batches, stopped) = (&batches, &stopped);
                    scope.spawn(move || {
                        let take = || batches.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let result = lane.run(take, stopped);
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

/// One worker after the other.
struct Lane<'a> {
    pool: &'a Pool,
    target: &'a Target,
    results: Sender<(usize, CaseResult)>,
}

impl Lane<'_> {
    fn run<'c>(
        &self,
        take: impl Fn() -> Option<&'c [(usize, &'c CaseId)]>,
        stopped: &AtomicBool,
    ) -> anyhow::Result<()> {
        let mut worker = None;
        while let Some(mut left) = take() {
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
        let (target, details) = (Box::new(self.target.clone()), self.pool.details);
        let ready = |reply| matches!(reply, Reply::Ready).then_some(());
        let opened = self.pool.launch.open(&Request::Open { target, details }, ready);
        Ok(opened.with_context(|| self.target.title())?.0)
    }

    /// Runs the cases in `left` and takes those out that have a result. Returns the worker if it can
    /// go on.
    fn run_batch(&self, mut worker: Worker, left: &mut &[(usize, &CaseId)]) -> Option<Worker> {
        let lines: Vec<_> = left.iter().map(|(_, id)| id.to_string()).collect();
        worker.send(&lines.join("\n"));
        while let Some(((index, id), rest)) = left.split_first() {
            let start = Instant::now();
            let (result, goes_on) = match worker.next(start + self.pool.timeout) {
                Event::Reply(Reply::Finished { case, is_last }) if case.id == **id => {
                    (*case, (!is_last).then_some(worker))
                }
                Event::Refused(refusal) => {
                    worker.stop();
                    (ended(id, ResultCode::Crash, refusal.message, start), None)
                }
                Event::Reply(_) => {
                    worker.stop();
                    let detail = "the worker process answered something else".to_owned();
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
            *left = rest;
            // Nobody listens where the run has ended with an error.
            let _ = self.results.send((*index, result));
            worker = goes_on?;
        }
        Some(worker)
    }
}

/// A case whose worker did not answer.
fn ended(id: &CaseId, result: ResultCode, detail: String, start: Instant) -> CaseResult {
    CaseResult::new(id, result, Some(detail), Some(start))
}

/// Cases in a batch: several batches for each job, so that none ends long before the others.
fn batch_size(cases: usize, jobs: usize) -> usize {
    (cases / (jobs.max(1) * 8)).clamp(1, LARGEST_BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_gets_several_batches_and_none_a_large_one() {
        for (cases, jobs, size) in [(0, 1, 1), (7, 1, 1), (5, 0, 1), (1_000_000, 2, 64)] {
            assert_eq!(batch_size(cases, jobs), size);
        }
        for (cases, jobs) in [(100, 4), (1_000, 3), (160_482, 16)] {
            assert!(cases / batch_size(cases, jobs) >= jobs * 8, "{cases} {jobs}");
        }
    }
}
