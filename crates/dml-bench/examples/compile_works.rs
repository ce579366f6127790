//! Runs works on the device, for what its driver tells of their kernels: `cargo xtask kernels`. Without
//! arguments, prints the names of the works; with names, runs these and prints what their plans on the device are:
//! a line for each work and each of its dispatches, as `time_works` does without times, and a line for each barrier
//! between dispatches.

use anyhow::{Context as _, Result};
use dml::{Device, FeatureLevel};
use dml_bench::budgets::{Profile, Work, names, work};
use dml_file::println;
use dml_import::program::ProgramInput;
use dml_import::{Inputs, Tensor};

fn main() -> Result<()> {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    if chosen.is_empty() {
        names().iter().for_each(|name| println!("{name}"));
        return Ok(());
    }
    let device = Device::open(FeatureLevel::HIGHEST)?;
    for name in &chosen {
        let work = work(name)?.with_context(|| format!("unknown work '{name}'"))?;
        run(&device, &work).with_context(|| name.clone())?;
        print(&Profile::from(&device), &work).with_context(|| name.clone())?;
    }
    Ok(())
}

/// Runs a work on zeros. Pipelines may be made when they are first used, so compiling alone is not enough.
fn run(device: &Device, work: &Work) -> Result<()> {
    let executable = work.program.compile(device)?;
    let mut inputs = Inputs::new();
    for input in work.program.inputs().iter().filter(|input| input.tensor.is_none()) {
        inputs = inputs.with_tensor(input.name.clone(), zeros(input)?);
    }
    executable.run(&inputs)?;
    Ok(())
}

fn print(profile: &Profile, work: &Work) -> Result<()> {
    let plans = work.plans(profile)?;
    println!("work\t{}\t{}", work.name, plans.least_bytes);
    for (index, stage) in plans.stages(profile)?.iter().enumerate() {
        if index > 0 {
            println!("{}\tbarrier", work.name);
        }
        stage.iter().for_each(|dispatch| println!("{}\t{dispatch}", work.name));
    }
    Ok(())
}

fn zeros(input: &ProgramInput) -> Result<Tensor> {
    let element = input.element.with_context(|| format!("{} has no type", input.name))?;
    let size = element.size().with_context(|| format!("{}: no tensor has its type", input.name))?;
    let bytes = input.shape.iter().product::<u64>() * size;
    Ok(Tensor::new(element, input.shape.clone(), vec![0; usize::try_from(bytes)?])?)
}
