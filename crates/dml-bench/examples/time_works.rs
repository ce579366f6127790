//! Times works on a device, by its own clock: `cargo xtask budgets --time`. Prints a line for each work, and one
//! for each of its dispatches, run alone; the last field is microseconds. Arguments are names of works; without
//! any, all are timed.

use std::time::Duration;

use anyhow::{Context as _, Result};
use dml::core::plan::{BindingRequirement, BoundAt, Plan, Step};
use dml::vk::{BindingTable, Bindings, CompileInput, Recorder, Timestamps};
use dml::{Buffer, BufferBinding, Device, FeatureLevel};
use dml_bench::budgets::{PlannedDispatch, Profile, Work, names, work};
use dml_file::println;

/// Runs that follow each other in one submission, so that what a clock takes is not measured.
const RUNS: u32 = 8;
/// Submissions; the median of their times counts.
const SUBMISSIONS: usize = 9;
/// 1.0 as two halves, and a small number as one single: no kernel meets subnormal numbers. As an index it is out of
/// range, so that gathers read one row from a cache.
const NUMBERS: u32 = 0x3C00_3C00;
/// Bytes of the copy that shows the bandwidth.
const COPIED: u64 = 256 << 20;

fn main() -> Result<()> {
    let device = Device::open(FeatureLevel::HIGHEST)?;
    let profile = Profile::from(&device);
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let chosen =
        if chosen.is_empty() { names().into_iter().map(String::from).collect() } else { chosen };
    println!("# {}", profile.name);
    println!("copy\t{COPIED}\t{:.2}", microseconds(time_of_copy(&device)?));
    for name in chosen {
        let work = work(&name)?.with_context(|| format!("unknown work '{name}'"))?;
        time(&device, &profile, &work).with_context(|| name.clone())?;
    }
    Ok(())
}

fn time(device: &Device, profile: &Profile, work: &Work) -> Result<()> {
    let plans = work.plans(profile)?;
    let buffers = plans.of_runs.iter().map(|plan| Buffers::new(device, plan));
    let buffers = buffers.collect::<Result<Vec<_>>>()?;
    let whole = plans.of_runs.iter().zip(&buffers).map(|(plan, it)| it.table(device, plan.clone()));
    let whole = microseconds(time_of(device, &whole.collect::<Result<Vec<_>>>()?)?);
    println!("work\t{}\t{}\t{whole:.2}", work.name, plans.least_bytes);
    for (plan, buffers) in plans.of_runs.iter().zip(&buffers) {
        for step in &plan.exec {
            let Step::Dispatch(dispatch) = step else { continue };
            let alone = Plan { init: Vec::new(), exec: vec![step.clone()], ..plan.clone() };
            let time = microseconds(time_of(device, &[buffers.table(device, alone)?])?);
            println!("{}\t{}\t{time:.2}", work.name, PlannedDispatch::of(dispatch)?);
        }
    }
    Ok(())
}

/// The buffers that a plan is bound to.
struct Buffers {
    inputs: Vec<Option<Buffer>>,
    outputs: Vec<Option<Buffer>>,
    temporary: Option<Buffer>,
    persistent: Option<Buffer>,
}

impl Buffers {
    fn new(device: &Device, plan: &Plan) -> Result<Self> {
        let of_size = |size: u64| match size {
            0 => Ok(None),
            size => filled(device, size).map(Some),
        };
        let required = |it: &Option<BindingRequirement>| match it {
            Some(it) if it.bound_at == BoundAt::Execution => of_size(it.size),
            _ => Ok(None),
        };
        Ok(Self {
            inputs: plan.inputs.iter().map(required).collect::<Result<_>>()?,
            outputs: plan.outputs.iter().map(required).collect::<Result<_>>()?,
            temporary: of_size(plan.temporary_size)?,
            persistent: of_size(plan.persistent_size)?,
        })
    }

    fn table(&self, device: &Device, plan: Plan) -> Result<BindingTable> {
        let input = CompileInput { plan, storage_only: None };
        let compiled = dml_fault::compile(device.vulkan(), input)?;
        let inputs: Vec<_> = self.inputs.iter().map(whole).collect();
        let outputs: Vec<_> = self.outputs.iter().map(whole).collect();
        let bindings = Bindings {
            inputs: &inputs,
            outputs: &outputs,
            temporary: &self.temporary.iter().map(BufferBinding::whole).collect::<Vec<_>>(),
            persistent: &self.persistent.iter().map(BufferBinding::whole).collect::<Vec<_>>(),
        };
        Ok(BindingTable::new(&compiled, &bindings)?)
    }
}

fn whole(buffer: &Option<Buffer>) -> Option<BufferBinding<'_>> {
    buffer.as_ref().map(BufferBinding::whole)
}

fn filled(device: &Device, size: u64) -> Result<Buffer> {
    let buffer = device.create_buffer(size.next_multiple_of(4))?;
    let mut recorder = Recorder::new(device.vulkan())?;
    recorder.fill_buffer(&buffer, 0..buffer.size(), NUMBERS)?;
    device.vulkan().submit(recorder.finish()?)?.wait()?;
    Ok(buffer)
}

fn time_of(device: &Device, tables: &[BindingTable]) -> Result<Duration> {
    timed(device, |recorder| Ok(tables.iter().try_for_each(|table| recorder.dispatch(table))?))
}

fn time_of_copy(device: &Device) -> Result<Duration> {
    let [source, destination] = [filled(device, COPIED)?, filled(device, COPIED)?];
    timed(device, |recorder| Ok(recorder.copy_buffer(&source, 0, &destination, 0, COPIED)?))
}

/// The median time of one run.
fn timed(device: &Device, record: impl Fn(&mut Recorder) -> Result<()>) -> Result<Duration> {
    let mut times = Vec::new();
    for submission in 0..=SUBMISSIONS {
        let timestamps = Timestamps::new(device.vulkan(), 2)?;
        let mut recorder = Recorder::new(device.vulkan())?;
        recorder.write_timestamp(&timestamps, 0)?;
        for _ in 0..RUNS {
            record(&mut recorder)?;
            recorder.barrier_all();
        }
        recorder.write_timestamp(&timestamps, 1)?;
        device.vulkan().submit(recorder.finish()?)?.wait()?;
        // The first one warms up.
        if submission > 0 {
            times.push(timestamps.elapsed(0, 1)?.context("the device wrote no timestamps")?);
        }
    }
    times.sort_unstable();
    Ok(times[times.len() / 2] / RUNS)
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
