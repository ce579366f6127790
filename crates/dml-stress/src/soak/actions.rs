//! The operations of a soak run's threads, in random order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use dml::vk::Recorder;
use dml::{Device, Submission};
use dml_conformance::execute::{self, Details, DeviceExecutor};
use dml_conformance::results::ResultCode;

use super::tally::Tally;
use super::worker::Worker;
use crate::load::Job;

/// An operation of a thread.
struct Action {
    name: &'static str,
    /// The probability of being drawn, relative to the other actions.
    weight: u32,
    run: fn(&mut Worker<'_>) -> Result<()>,
}

/// All operations.
const ACTIONS: &[Action] = &[
    Action { name: "execute and verify", weight: 30, run: execute },
    Action { name: "several in flight, finished in any order", weight: 12, run: in_flight },
    Action { name: "dropped in flight", weight: 10, run: drop_in_flight },
    Action { name: "several in one recorder", weight: 10, run: together },
    Action { name: "recorder or list dropped", weight: 10, run: abandon },
    Action { name: "list submitted again", weight: 8, run: again },
    Action { name: "buffers copied and compared", weight: 10, run: copy },
    Action { name: "buffers held or let go", weight: 10, run: hold },
    Action { name: "refused requests", weight: 12, run: refuse },
    Action { name: "second device", weight: 1, run: second_device },
];

/// The largest size of a buffer; some are larger than a block of memory.
const LARGE: u32 = 9 << 20;
const SMALL: u32 = 64 << 10;

/// Further findings of a thread are not kept.
const MOST_FINDINGS: usize = 10;

/// Runs random operations until the time is over; all objects are dropped by then.
pub(super) fn run(mut worker: Worker<'_>) -> Tally {
    let mut number = 0_u64;
    while Instant::now() < worker.shared.deadline {
        let Action { name, run, .. } = draw(&mut worker);
        *worker.tally.operations.entry(name).or_default() += 1;
        let finding = match catch_unwind(AssertUnwindSafe(|| run(&mut worker))) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("{error:#}")),
            Err(_) => Some("panicked".to_owned()),
        };
        if let Some(finding) = finding {
            let place = format!("thread {}, operation {number} ({name})", worker.thread);
            worker.tally.findings.push(format!("{place}: {finding}"));
            if worker.tally.findings.len() == MOST_FINDINGS {
                break;
            }
        }
        number += 1;
        worker.shared.operations.fetch_add(1, Ordering::Relaxed);
    }
    worker.tally
}

fn draw(worker: &mut Worker<'_>) -> &'static Action {
    let mut at = worker.random.below(ACTIONS.iter().map(|it| it.weight).sum());
    for action in ACTIONS {
        if at < action.weight {
            return action;
        }
        at -= action.weight;
    }
    unreachable!("the number drawn is below the sum of the weights")
}

fn execute(worker: &mut Worker<'_>) -> Result<()> {
    let device = worker.device();
    let job = worker.job(&device)?;
    let ticket = job.submit(&device)?;
    finish(worker, &ticket)?;
    worker.verify(&device, &job)
}

/// Waits in one of several ways.
fn finish(worker: &mut Worker<'_>, ticket: &Submission) -> Result<()> {
    match worker.random.below(3) {
        0 => ticket.wait()?,
        1 => while !ticket.wait_timeout(Duration::from_millis(1))? {},
        _ => {
            while !ticket.is_complete()? {
                std::thread::yield_now();
            }
        }
    }
    ensure!(ticket.is_complete()?, "a ticket that was waited for is not complete");
    Ok(())
}

/// Jobs with their tickets, all submitted before any is waited for.
fn submitted(worker: &mut Worker<'_>, device: &Device) -> Result<Vec<(Job, Submission)>> {
    let count = 2 + worker.random.below(5);
    // Writing to buffers waits for work in flight, so all jobs are made first.
    let jobs: Vec<Job> = (0..count).map(|_| worker.job(device)).collect::<Result<_>>()?;
    let submit = |job: Job| job.submit(device).map(|ticket| (job, ticket));
    let submitted: Vec<(Job, Submission)> = jobs.into_iter().map(submit).collect::<Result<_>>()?;
    let values: Vec<u64> = submitted.iter().map(|(_, it)| it.timeline_value()).collect();
    ensure!(values.is_sorted_by(|a, b| a < b), "timeline values do not grow: {values:?}");
    Ok(submitted)
}

fn in_flight(worker: &mut Worker<'_>) -> Result<()> {
    let device = worker.device();
    let mut left = submitted(worker, &device)?;
    if worker.random.one_in(2) {
        // Submissions complete in order: the last one completes after all others.
        if let Some((_, last)) = left.last() {
            last.wait()?;
        }
        for (_, ticket) in &left {
            ensure!(ticket.is_complete()?, "a submission is not complete, a later one is");
        }
    }
    while !left.is_empty() {
        let at = worker.random.below(u32::try_from(left.len())?) as usize;
        let (job, ticket) = left.swap_remove(at);
        finish(worker, &ticket)?;
        worker.verify(&device, &job)?;
    }
    Ok(())
}

fn drop_in_flight(worker: &mut Worker<'_>) -> Result<()> {
    let device = worker.device();
    for (job, ticket) in submitted(worker, &device)? {
        match worker.random.below(3) {
            0 => {
                drop(job);
                drop(ticket);
            }
            1 => {
                // Dropping a ticket waits until the work is done.
                drop(ticket);
                worker.verify(&device, &job)?;
            }
            _ => {
                // The last handles are dropped on another thread.
                std::thread::scope(|scope| scope.spawn(move || drop((ticket, job))).join())
                    .map_err(|_| anyhow::anyhow!("dropping on another thread panicked"))?;
            }
        }
    }
    Ok(())
}

fn together(worker: &mut Worker<'_>) -> Result<()> {
    let device = worker.device();
    let count = 2 + worker.random.below(7);
    let jobs: Vec<Job> = (0..count).map(|_| worker.job(&device)).collect::<Result<_>>()?;
    let mut recorder = Recorder::new(device.vulkan())?;
    for job in &jobs {
        recorder.dispatch(&job.table()?)?;
        // Different jobs share no buffers, so the barrier is only needed between equal ones.
        if job.is_repeatable() && worker.random.one_in(4) {
            recorder.barrier_all();
            recorder.dispatch(&job.table()?)?;
        }
    }
    let ticket = device.vulkan().submit(recorder.finish()?)?;
    finish(worker, &ticket)?;
    jobs.iter().try_for_each(|job| worker.verify(&device, job))
}

fn abandon(worker: &mut Worker<'_>) -> Result<()> {
    let device = worker.device();
    let job = worker.job(&device)?;
    let mut recorder = Recorder::new(device.vulkan())?;
    for _ in 0..worker.random.below(4) {
        recorder.dispatch(&job.table()?)?;
        recorder.barrier_all();
    }
    if worker.random.one_in(2) {
        drop(recorder.finish()?);
    } else {
        drop(recorder);
    }
    // None of it has run, and the job can be submitted.
    job.submit(&device)?.wait()?;
    worker.verify(&device, &job)
}

fn again(worker: &mut Worker<'_>) -> Result<()> {
    let device = worker.device();
    let job = worker.job(&device)?;
    if !job.is_repeatable() {
        return Ok(());
    }
    let mut recorder = Recorder::repeatable(device.vulkan())?;
    recorder.dispatch(&job.table()?)?;
    let mut list = recorder.finish()?;
    for _ in 0..2 + worker.random.below(3) {
        list = device.vulkan().submit(list)?.into_list()?;
        worker.verify(&device, &job)?;
    }
    Ok(())
}

fn size(worker: &mut Worker<'_>) -> u64 {
    let most = if worker.random.one_in(40) { LARGE } else { SMALL };
    4 + u64::from(worker.random.below(most)) / 4 * 4
}

fn copy(worker: &mut Worker<'_>) -> Result<()> {
    let device = worker.device();
    let vulkan = device.vulkan();
    let size = size(worker);
    let bytes = bytes(worker, size)?;
    let (from, to) = (device.create_buffer(size)?, device.create_buffer(size)?);
    vulkan.write_buffer(&from, 0, &bytes)?;
    let half = size / 8 * 4;
    let mut recorder = Recorder::new(vulkan)?;
    recorder.fill_buffer(&to, 0..size, 0xa5a5_a5a5)?;
    recorder.barrier_all();
    recorder.copy_buffer(&from, half, &to, half, size - half)?;
    drop(from);
    let ticket = vulkan.submit(recorder.finish()?)?;
    finish(worker, &ticket)?;
    let found = vulkan.read_buffer(&to, 0..size)?;
    let (filled, copied) = found.split_at(usize::try_from(half)?);
    ensure!(filled.iter().all(|byte| *byte == 0xa5), "a filled buffer of {size} bytes differs");
    ensure!(copied == &bytes[filled.len()..], "a copied buffer of {size} bytes differs");
    worker.tally.bytes += size;
    Ok(())
}

fn bytes(worker: &mut Worker<'_>, size: u64) -> Result<Vec<u8>> {
    let first = worker.random.bits();
    let byte = |at: u64| (first.wrapping_add(at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    ensure!(size <= u64::from(LARGE) + 4, "{size} bytes were drawn");
    Ok((0..size).map(byte).collect())
}

fn hold(worker: &mut Worker<'_>) -> Result<()> {
    let vulkan = worker.device.vulkan().clone();
    if worker.held.len() < 24 && worker.random.one_in(2) {
        let size = size(worker);
        let [byte, ..] = worker.random.bits().to_le_bytes();
        let buffer = worker.device.create_buffer(size)?;
        let mut recorder = Recorder::new(&vulkan)?;
        recorder.fill_buffer(&buffer, 0..size, u32::from_le_bytes([byte; 4]))?;
        drop(vulkan.submit(recorder.finish()?)?);
        worker.held.push((buffer, byte));
    } else if !worker.held.is_empty() {
        let at = worker.random.below(u32::try_from(worker.held.len())?) as usize;
        let (buffer, byte) = worker.held.swap_remove(at);
        let found = vulkan.read_buffer(&buffer, 0..buffer.size())?;
        ensure!(found.iter().all(|it| *it == byte), "a held buffer has changed");
        worker.tally.bytes += buffer.size();
    }
    Ok(())
}

fn refuse(worker: &mut Worker<'_>) -> Result<()> {
    let case = &worker.shared.refusals;
    let case = &case[worker.random.below(u32::try_from(case.len())?) as usize];
    let instance = worker.shared.place.instance.clone();
    let executor = DeviceExecutor::new(instance, worker.device.clone(), None);
    // Messages of the layer are taken with the case, and are findings.
    let result = execute::run(case, &executor, Details::Failures);
    if result.result != ResultCode::Pass {
        bail!("{}: {:?}: {}", result.id, result.result, result.detail.unwrap_or_default());
    }
    worker.tally.refused += 1;
    Ok(())
}

fn second_device(worker: &mut Worker<'_>) -> Result<()> {
    let place = worker.shared.place;
    if worker.random.one_in(2) {
        let device = place.open()?;
        use_beside(worker, &device)
    } else {
        place.with_own_instance(|device| use_beside(worker, &device))
    }
}

fn use_beside(worker: &mut Worker<'_>, device: &Device) -> Result<()> {
    let job = worker.job(device)?;
    let ticket = job.submit(device)?;
    // A job of one device is refused by another.
    let mut recorder = Recorder::new(worker.device.vulkan())?;
    ensure!(recorder.dispatch(&job.table()?).is_err(), "another device's table was recorded");
    finish(worker, &ticket)?;
    worker.verify(device, &job)
}
