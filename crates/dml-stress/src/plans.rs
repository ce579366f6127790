//! `plans`: random descriptors for random devices, lowered, interpreted on the host and compared with
//! the reference byte for byte.

mod check;
mod draw;
pub(crate) mod hostile;
mod tally;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dml_conformance::execute::plan_text;
use dml_conformance::parallel;
use dml_file::{eprintln, println};
use dml_reference::Random;
use indicatif::{ProgressBar, ProgressStyle};

pub use check::{Outcome, check};
pub use draw::{Draw, capabilities, legal, transfer, tuning};
pub use tally::Tally;

/// The number of draws that a thread takes at once.
const CHUNK: u64 = 512;

/// Interpret plans of random descriptors and compare them with the reference
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The number of descriptors
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// The seed that alone determines the descriptors
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Only the descriptor with this index, with a description
    #[arg(long, value_name = "N")]
    index: Option<u64>,
    /// The number of threads; 0 for one for each processor
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Runs the command; returns `true` if every promise held.
///
/// # Errors
///
/// An error that kept the command from finding out.
pub fn run(args: &Args) -> anyhow::Result<bool> {
    if let Some(index) = args.index {
        return Ok(show(args.seed, index));
    }
    let start = Instant::now();
    let (tally, finding) = run_all(args);
    let seconds = start.elapsed().as_secs_f64();
    println!("{tally}\nseed {}, {seconds:.0} s", args.seed);
    let Some(index) = finding else { return Ok(true) };
    show(args.seed, index);
    eprintln!("\nonly this one: cargo xtask stress plans --seed {} --index {index}", args.seed);
    Ok(false)
}

/// The counts, and the index of a draw that showed a defect.
fn run_all(args: &Args) -> (Tally, Option<u64>) {
    let threads = if args.threads == 0 { parallel::cores() } else { args.threads };
    let bar = progress(args.count);
    let next = AtomicU64::new(0);
    let results = Mutex::new((Tally::default(), None));
    let work = || {
        loop {
            let first = next.fetch_add(CHUNK, Ordering::Relaxed);
            let chunk = first..args.count.min(first.saturating_add(CHUNK));
            if chunk.is_empty() {
                return;
            }
            bar.inc(chunk.end - chunk.start);
            for index in chunk {
                let outcome = guarded(&drawn(args.seed, index));
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                match outcome {
                    Ok(outcome) => results.0.add(outcome),
                    Err(_) => {
                        results.1 = Some(index);
                        next.store(args.count, Ordering::Relaxed);
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn progress(count: u64) -> ProgressBar {
    let bar = ProgressBar::new(count);
    let template = "[{bar:30}] {pos}/{len} descriptors, {per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

fn drawn(seed: u64, index: u64) -> Draw {
    Draw::new(&mut Random::new(&format!("{seed}/{index}")))
}

/// Checks a draw. A panic is a defect, too; its message has been printed when this returns.
fn guarded(draw: &Draw) -> Result<Outcome, String> {
    catch_unwind(AssertUnwindSafe(|| check(draw))).unwrap_or_else(|_| Err("a panic".to_owned()))
}

/// Prints one draw, its outcome, and the plan.
fn show(seed: u64, index: u64) -> bool {
    let draw = drawn(seed, index);
    let outcome = guarded(&draw);
    println!("{}", describe(&draw));
    match &outcome {
        Ok(outcome) => println!("\n{outcome:?}"),
        Err(problem) => println!("\nDIFFERENCE: {problem}"),
    }
    outcome.is_ok()
}

/// A description of the draw and its plan.
pub fn describe(draw: &Draw) -> String {
    let Draw { case, is_changed, level, capabilities, transfer, tuning, is_reversed } = draw;
    let descriptor = plan_text::descriptor(&case.operator);
    let buffers = format!(
        "inputs at {}, outputs at {}, storage only: {}, in place: {:?}, given elements: {}",
        case.input_offset,
        case.output_offset,
        case.storage_only,
        case.in_place,
        case.inputs.len()
    );
    let target = format!("{:#?}\n{tuning:#?}\n{transfer:?}", capabilities.limits);
    let plan = check::plan(draw).unwrap_or_else(|problem| format!("no plan: {problem}"));
    format!(
        "{descriptor}\nat {level}; changed: {is_changed}; steps reversed: {is_reversed}\n{buffers}\n\
         {target}\n{plan}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(count: u64, threads: usize) -> Args {
        Args { count, seed: 8, index: None, threads }
    }

    #[test]
    fn a_seed_gives_the_same_counts_on_any_number_of_threads() {
        let (one, finding) = run_all(&args(1500, 1));
        assert_eq!(finding, None);
        assert_eq!(run_all(&args(1500, 3)), (one.clone(), None));
        assert!(one.executed() > 1000, "{one}");
    }

    #[test]
    fn a_draw_is_described_with_its_plan() {
        let text = describe(&drawn(7, 0));
        assert!(text.contains("Tensor: ") && text.contains("max_storage"), "{text}");
    }
}
