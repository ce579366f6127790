//! `dml run`: a model on a device.

mod delivery;
mod names;
mod report;
mod summary;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use dml_file::{InputFiles, eprintln, stdout};
use dml_import::program::Output;
use dml_import::{Error, Inputs, Model, Program, Requirement, Session};

use crate::latency::Latency;
use crate::model_inputs::{InputArgs, explained};
use crate::progress::Line;
use crate::{DeviceArgs, whole_number};
use delivery::Delivery;
use report::{DeviceWork, Report};

/// The arguments of `dml run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// ONNX model, OpenVINO .xml file, or DxDispatch .json file
    model: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    /// Random values for the other inputs: floats from -1 to 1, integers and booleans 0 or 1 [seed: 0]
    #[arg(
        long,
        value_name = "SEED",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        value_parser = whole_number::<u64>
    )]
    random: Option<u64>,
    /// Write each output to DIR/NAME.npy; nothing is written if not given
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Run N more times and print the median time, copies included; inputs without values get random ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repeat: Option<u64>,
    /// Device memory for programs of a model whose shapes depend on values; a quarter of it if not given
    #[arg(long, value_name = "BYTES", value_parser = whole_number::<u64>)]
    program_bytes: Option<u64>,
    /// Print no outputs, progress, notes or report; --repeat still prints its times
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the model, shows every output, writes the outputs to files if requested, and says what was done.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let line = if args.quiet { Line::hidden() } else { Line::new("reading") };
    let mut latency = Latency::new(args.device.numerics.numerics);
    let model = Arc::new(latency.once("read", || Model::read(&args.model))?);
    let delivery = delivery(args, &model)?;
    let inputs = inputs(args, &model)?;
    let program = latency.once("bind", || model.bind(&inputs));
    let in_model = |error| {
        let is_named = matches!(error, Error::InFile { .. });
        let error = explained(error, &model, &inputs);
        if is_named { error } else { error.context(args.model.display().to_string()) }
    };
    let (outputs, work) = match program {
        Ok(program) => outputs(&program, args, (&line, &mut latency), in_model),
        Err(_) if model.needs_session(&inputs) => args.device.with_device(|device| {
            let session = Session::new(device, Arc::clone(&model));
            let session = match args.program_bytes {
                Some(bytes) => session.with_program_bytes(bytes),
                None => session,
            };
            let run = || session.run_with_progress(&inputs, &|progress| line.tell(progress));
            let first = || latency.once("compile, upload and run", run);
            let (outputs, work) = DeviceWork::counted(device, first);
            let outputs = outputs.map_err(&in_model)?;
            repeat(run, args.repeat, &line, &mut latency).map_err(in_model)?;
            Ok((outputs, Some(work)))
        }),
        Err(error) => Err(explained(error, &model, &inputs)),
    }?;
    drop(line);
    let delivered = delivery.deliver(&outputs)?;
    if args.repeat.is_some() {
        writeln!(stdout(), "{latency}")?;
    }
    if !args.quiet {
        let model = args.model.clone();
        eprintln!("{}", Report { model, work, latency: &latency, delivered });
    }
    Ok(())
}

/// Plans the output files. The files that the command reads are never overwritten.
fn delivery(args: &Args, model: &Model) -> anyhow::Result<Delivery> {
    let mut read = InputFiles::new();
    model.files().iter().for_each(|path| read.add(path));
    args.inputs.add_files(&mut read);
    args.device.profile.add_files(&mut read);
    Delivery::plan(&model.destinations()?, args.output_dir.as_deref(), &read, !args.quiet)
}

/// The given inputs, with random values for the others if requested, or if a repeated run lacks them.
fn inputs(args: &Args, model: &Model) -> anyhow::Result<Inputs> {
    let given = args.inputs.read()?;
    let seed = match (args.random, args.repeat) {
        (Some(seed), _) => seed,
        (None, Some(_)) if lacks_values(model, &given)? => {
            if !args.quiet {
                eprintln!("note: inputs that are not given have random values, as with --random=0");
            }
            0
        }
        (None, _) => return Ok(given),
    };
    model.with_random(&given, seed).map_err(|error| explained(error, model, &given))
}

fn lacks_values(model: &Model, given: &Inputs) -> anyhow::Result<bool> {
    let inputs = model.inspect(given)?.inputs;
    Ok(inputs.iter().any(|input| input.requirement == Some(Requirement::Values)))
}

/// Runs the program, repeatedly if requested; also returns the work of the first run, if it needs a device.
/// `explained` converts the program's errors to the command's; errors of the device are returned unchanged.
fn outputs(
    program: &Program,
    args: &Args,
    (line, latency): (&Line, &mut Latency),
    explained: impl Fn(dml_import::Error) -> anyhow::Error,
) -> anyhow::Result<(Vec<Output>, Option<DeviceWork>)> {
    let nothing = Inputs::new();
    if !program.needs_device() {
        let run = || program.run_on_host(&nothing);
        let outputs = latency.once("first run", run).map_err(&explained)?;
        repeat(run, args.repeat, line, latency).map_err(explained)?;
        return Ok((outputs, None));
    }
    args.device.with_device(|device| {
        let tell = |progress| line.tell(progress);
        let compile = || program.compile_with_progress(device, &tell);
        let executable = latency.once("compile and upload", compile).map_err(&explained)?;
        line.say("running");
        let run = || executable.run(&nothing);
        let first = || latency.once("first run", run);
        let (outputs, work) = DeviceWork::counted(device, first);
        let outputs = outputs.map_err(&explained)?;
        repeat(run, args.repeat, line, latency).map_err(explained)?;
        Ok((outputs, Some(work)))
    })
}

/// Repeats the run as often as requested, to time it.
fn repeat(
    run: impl Fn() -> dml_import::Result<Vec<Output>>,
    times: Option<u64>,
    line: &Line,
    latency: &mut Latency,
) -> dml_import::Result<()> {
    let times = times.unwrap_or(0);
    for done in 0..times {
        line.ran(done, times);
        latency.run(&run)?;
    }
    Ok(())
}
