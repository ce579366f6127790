//! Runs cases in worker processes: a crash or a hang only affects its own case.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cases::CaseId;
use crate::child::{self, Event, Launch};
use crate::protocol::{Reply, Request};
use crate::results::ResultCode;
use crate::target::{Survey, Target};

/// A process that runs cases.
type Worker = child::Worker<Reply>;

/// The largest number of cases that a worker gets at once.
const LARGEST_BATCH: usize = 256;

/// The settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) launch: Launch,
    /// The number of worker processes at a time.
    pub(crate) jobs: usize,
    /// The longest time for a case.
    pub(crate) timeout: Duration,
}

/// The work of workers on a target: case after case.
pub(crate) trait Work: Sync {
    /// A case, which is sent to a worker as a line.
    type Case: Display + Sync + ?Sized;
    /// The result of a case.
    type Result: Send;

    /// The request to a worker before its first case.
    fn request(&self) -> Request;

    /// Whether one worker should run both of two adjacent cases, because pipelines that it has made for the
    /// first serve the second.
    fn are_together(&self, first: &Self::Case, second: &Self::Case) -> bool;

    /// The result in a reply, and whether the worker ends with it; `None` if the reply is not an answer to
    /// the case.
    fn result(&self, case: &Self::Case, reply: Reply) -> Option<(Self::Result, bool)>;

    /// The result of a case whose worker did not answer.
    fn without_answer(
        &self,
        case: &Self::Case,
        code: ResultCode,
        detail: String,
        start: Instant,
    ) -> Self::Result;
}

impl Pool {
    /// Asks a worker for the targets.
    pub(crate) fn survey(&self, survey: &Survey) -> anyhow::Result<Vec<Target>> {
        let targets = |reply| match reply {
            Reply::Targets(targets) => Some(targets),
            _ => None,
        };
        let (worker, targets) = self.launch.open(&Request::Survey(survey.clone()), targets)?;
        worker.finish();
        Ok(targets)
    }

    /// Lets a worker write files about the dispatches of a case into an empty folder.
    ///
    /// # Errors
    /// A worker cannot be started, has ended or is not done in time, or refuses the request.
    pub(crate) fn dump(&self, target: &Target, case: &CaseId, folder: &Path) -> anyhow::Result<()> {
        let (target, case) = (Box::new(target.clone()), case.clone());
        let request = Request::Dump { target, case, folder: folder.to_owned() };
        let dumped = |reply| matches!(reply, Reply::Dumped).then_some(());
        let (worker, ()) = self.launch.open(&request, dumped)?;
        worker.finish();
        Ok(())
    }

    /// Runs the cases and calls `done` with the index and the result of each, in the order in which they end.
    ///
    /// # Errors
    /// A worker cannot be started, or refuses the request.
    pub(crate) fn run<W: Work>(
        &self,
        work: &W,
        cases: &[&W::Case],
        mut done: impl FnMut(usize, W::Result),
    ) -> anyhow::Result<()> {
        let numbered: Vec<(usize, &W::Case)> = cases.iter().copied().enumerate().collect();
        let together =
            numbered.chunk_by(|(_, first), (_, second)| work.are_together(first, second));
        let batches = together.flat_map(|cases| cases.chunks(LARGEST_BATCH));
        let batches = Mutex::new(batches);
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            let threads: Vec<_> = (0..self.jobs.clamp(1, cases.len().max(1)))
                .map(|_| {
                    let lane = Lane { pool: self, work, results: sender.clone() };
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

/// A sequence of workers, one at a time.
struct Lane<'a, W: Work> {
    pool: &'a Pool,
    work: &'a W,
    results: Sender<(usize, W::Result)>,
}

impl<W: Work> Lane<'_, W> {
    fn run<'c>(
        &self,
        take: impl Fn() -> Option<&'c [(usize, &'c W::Case)]>,
        stopped: &AtomicBool,
    ) -> anyhow::Result<()>
    where
        W::Case: 'c,
    {
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
        let ready = |reply| matches!(reply, Reply::Ready).then_some(());
        Ok(self.pool.launch.open(&self.work.request(), ready)?.0)
    }

    /// Runs the cases in `left` and removes those that have a result. Returns the worker if it can go on.
    fn run_batch(&self, mut worker: Worker, left: &mut &[(usize, &W::Case)]) -> Option<Worker> {
        let lines: Vec<_> = left.iter().map(|(_, case)| case.to_string()).collect();
        worker.send(&lines.join("\n"));
        while let Some(((index, case), rest)) = left.split_first() {
            let start = Instant::now();
            let ended = |code, detail| (self.work.without_answer(case, code, detail, start), None);
            let (result, goes_on) = match worker.next(start + self.pool.timeout) {
                Event::Reply(reply) => match self.work.result(case, reply) {
                    Some((result, is_last)) => (result, (!is_last).then_some(worker)),
                    None => {
                        worker.stop();
                        let detail = "the worker process answered something else";
                        ended(ResultCode::Crash, detail.to_owned())
                    }
                },
                Event::Refused(refusal) => {
                    worker.stop();
                    ended(ResultCode::Crash, refusal.message)
                }
                Event::Ended => ended(ResultCode::Crash, worker.autopsy()),
                Event::TimedOut => {
                    let printed = worker.stop();
                    let printed = if printed.is_empty() { printed } else { format!("; {printed}") };
                    let seconds = self.pool.timeout.as_secs_f64();
                    let detail = format!("not done after {seconds} seconds{printed}");
                    ended(ResultCode::Timeout, detail)
                }
            };
            *left = rest;
            // Nobody receives it if the run has ended with an error.
            let _ = self.results.send((*index, result));
            worker = goes_on?;
        }
        Some(worker)
    }
}
