//! `soak`: everything at once on one device, from several threads, for a given time.

mod actions;
mod tally;
mod worker;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use dml::FeatureLevel;
use dml_conformance::cases::{self, Case, Expectation};
use dml_file::{print, println};
use indicatif::{HumanDuration, ProgressBar};

use crate::load::{DeviceArgs, LoadDevice, Usage, resident, signed_bytes};
use tally::Tally;
use worker::Worker;

/// Mix everything on one device for a given time
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long on each device, such as `30s` or `10m`
    #[arg(long, default_value = "1m", value_parser = humantime::parse_duration)]
    time: Duration,
    /// The seed of every thread's operations
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// Threads that share the device
    #[arg(long, default_value_t = 4, value_name = "COUNT")]
    threads: u32,
    #[command(flatten)]
    places: DeviceArgs,
}

/// Runs the command; returns `true` if every promise held.
///
/// # Errors
///
/// An error that kept the command from finding out.
pub fn run(args: &Args) -> Result<bool> {
    ensure!(args.threads > 0, "--threads 0: at least 1 is needed");
    let refusals: Vec<Case> = cases::generate(FeatureLevel::V4_0)
        .into_iter()
        .filter(|case| !matches!(case.expectation, Expectation::Outputs(_)))
        .collect();
    ensure!(!refusals.is_empty(), "there is nothing that must be refused");
    args.places.each(|place| on_device(args, place, &refusals))
}

fn on_device(args: &Args, place: &LoadDevice, refusals: &[Case]) -> Result<bool> {
    let device = place.open()?;
    let at_first = Usage::of(&device);
    let shared = Shared {
        place,
        refusals,
        seed: args.seed,
        deadline: Instant::now() + args.time,
        running: AtomicU32::new(args.threads),
        operations: AtomicU64::new(0),
    };
    let mut early = None;
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let spawn = |thread| {
            let (device, shared) = (device.clone(), &shared);
            scope.spawn(move || {
                let tally = actions::run(Worker::new(device, shared, thread));
                shared.running.fetch_sub(1, Ordering::SeqCst);
                tally
            })
        };
        let threads: Vec<_> = (0..args.threads).map(spawn).collect();
        early = show_progress(&shared, args.time);
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|joined| joined.unwrap_or_else(|_| Tally::panicked("a thread"))).collect()
    });
    let total = tallies.into_iter().fold(Tally::default(), Tally::and);
    let at_last = Usage::of(&device);
    print!("{total}");
    let since = |start: Option<i64>| match at_last.resident.zip(start) {
        Some((last, first)) => signed_bytes(last - first),
        None => "not told by this system".to_owned(),
    };
    println!("  physical memory: {} in all", since(at_first.resident));
    println!("  physical memory: {} after the first tenth of the time", since(early));
    println!("  heap of the runtime: {}", signed_bytes(at_last.heap - at_first.heap));
    let left = left_behind(&at_first, &at_last, device.vulkan().pipeline_count());
    for broken in &left {
        println!("  BROKEN: {broken}");
    }
    let seed = args.seed;
    for finding in &total.findings {
        println!("  BROKEN: --seed {seed} --threads {}: {finding}", args.threads);
    }
    Ok(left.is_empty() && total.findings.is_empty())
}

/// The state that the threads share.
struct Shared<'a> {
    place: &'a LoadDevice,
    /// Cases that must be refused.
    refusals: &'a [Case],
    seed: u64,
    deadline: Instant,
    /// Threads that have not ended.
    running: AtomicU32,
    operations: AtomicU64,
}

/// Shows the progress of the threads until all have ended; returns the physical memory after a tenth of the time.
fn show_progress(shared: &Shared<'_>, time: Duration) -> Option<i64> {
    let bar = ProgressBar::new_spinner();
    let mut early = None;
    while shared.running.load(Ordering::SeqCst) > 0 {
        let left = shared.deadline.saturating_duration_since(Instant::now());
        if early.is_none() && left <= time - time / 10 {
            early = resident();
        }
        let operations = shared.operations.load(Ordering::Relaxed);
        let (time, left) = (HumanDuration(time), HumanDuration(left));
        bar.set_message(format!("{operations} operations, {left} of {time} left"));
        bar.tick();
        std::thread::sleep(Duration::from_millis(200));
    }
    bar.finish_and_clear();
    early
}

/// Layouts of sets and pipelines: kernels with equal bindings and push constants share them, so there are few.
const MOST_LAYOUTS: usize = 64;

/// Objects and memory that are left although the threads have ended. The device keeps its pipelines with
/// their layouts, and one block of each kind of memory.
fn left_behind(before: &Usage, after: &Usage, pipelines: usize) -> Vec<String> {
    let mut left = Vec::new();
    let objects = after.objects.saturating_sub(before.objects);
    if objects > pipelines + MOST_LAYOUTS {
        left.push(format!("{objects} Vulkan objects are left, of which {pipelines} are pipelines"));
    }
    if after.memory.allocated != before.memory.allocated {
        left.push(format!("buffers are left in memory: {:?}", after.memory));
    }
    left
}
