//! `dml run`: a model on a device.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use dml_import::program::{Destination, Output};
use dml_import::{ElementType, Error, Executable, Inputs, Model, Program, Session, Tensor};

use crate::files::{printable, write_npy, write_raw};
use crate::latency::Latency;
use crate::model_inputs::{InputArgs, explained};
use crate::progress::Line;
use crate::{DeviceArgs, matrix};

/// The arguments of `dml run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An ONNX model, an OpenVINO .xml file, or a DxDispatch .json file
    model: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    /// Where output files go; made if it is not there
    #[arg(long, value_name = "DIR", default_value = ".")]
    output_dir: PathBuf,
    /// Run the model so many times more, and say how long a run took: its inputs copied to the device, its
    /// operators, and its outputs copied back
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    repeat: Option<u64>,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the model, writes every output, and says what each is.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let (line, mut latency) = (Line::new("reading"), Latency::default());
    let model = Arc::new(latency.once("read", || Model::read(&args.model))?);
    let inputs = args.inputs.read()?;
    let program = latency.once("bind", || model.bind(&inputs));
    let in_model = |error| {
        let is_named = matches!(error, Error::InFile { .. });
        let error = explained(error, &model, &inputs);
        if is_named { error } else { error.context(args.model.display().to_string()) }
    };
    let outputs = match program {
        Ok(program) => outputs(&program, args, (&line, &mut latency), in_model),
        Err(_) if model.needs_session(&inputs) => args.device.with_device(|device| {
            let session = Session::new(device, Arc::clone(&model));
            let run = || session.run_with_progress(&inputs, &|progress| line.tell(progress));
            repeated(run, args.repeat, &line, &mut latency).map_err(in_model)
        }),
        Err(error) => Err(explained(error, &model, &inputs)),
    }?;
    drop(line);
    let folder = &args.output_dir;
    make(folder)?;
    let mut taken = HashSet::new();
    for output in &outputs {
        deliver(output, folder, &mut taken)?;
    }
    if args.repeat.is_some() {
        writeln!(io::stdout(), "{latency}")?;
    }
    Ok(())
}

/// Runs the program, and again where that is asked for. `explained` turns the program's errors into those of the command; errors of the
/// device stay as they are.
fn outputs(
    program: &Program,
    args: &Args,
    (line, latency): (&Line, &mut Latency),
    explained: impl Fn(dml_import::Error) -> anyhow::Error,
) -> anyhow::Result<Vec<Output>> {
    let nothing = Inputs::new();
    if !program.needs_device() {
        let run = || program.run_on_host(&nothing);
        return repeated(run, args.repeat, line, latency).map_err(explained);
    }
    args.device.with_device(|device| {
        let tell = |progress| line.tell(progress);
        let executable =
            latency.once("compile and upload", || program.compile_with_progress(device, &tell));
        let run = |it: Executable| {
            line.say("running");
            repeated(|| it.run(&nothing), args.repeat, line, latency)
        };
        executable.and_then(run).map_err(explained)
    })
}

/// What the first run gives. The others are for the clock alone.
fn repeated(
    run: impl Fn() -> dml_import::Result<Vec<Output>>,
    times: Option<u64>,
    line: &Line,
    latency: &mut Latency,
) -> dml_import::Result<Vec<Output>> {
    let outputs = latency.once("first run", &run)?;
    let times = times.unwrap_or(0);
    for done in 0..times {
        line.ran(done, times);
        latency.run(&run)?;
    }
    Ok(outputs)
}

fn deliver(output: &Output, folder: &Path, taken: &mut HashSet<String>) -> anyhow::Result<()> {
    let tensor = &output.tensor;
    match &output.destination {
        Destination::Output(name) => {
            let path = folder.join(file_name(name, taken));
            write_npy(&path, tensor)?;
            let kind = format!("{} {:?}", tensor.element_type(), tensor.shape());
            writeln!(io::stdout(), "{}: {kind} -> {}", printable(name), path.display())?;
            writeln!(io::stdout(), "{}", shown(tensor))?;
        }
        Destination::Print { resource, .. } => {
            let elements = matrix::elements(storage(tensor), tensor.bytes());
            writeln!(io::stdout(), "Resource '{}': {}", printable(resource), elements.join(", "))?;
        }
        Destination::File(target) => {
            let path = folder.join(target);
            if let Some(folder) = path.parent() {
                make(folder)?;
            }
            let is_npy = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("npy"));
            if is_npy {
                write_npy(&path, tensor)?;
            } else {
                write_raw(&path, tensor.bytes())?;
            }
            writeln!(io::stdout(), "wrote {}", printable(&path.display().to_string()))?;
        }
        other => anyhow::bail!("an output is for {other:?}, which this command does not know"),
    }
    Ok(())
}

fn make(folder: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot make {}", printable(&folder.display().to_string()));
    std::fs::create_dir_all(folder).with_context(cannot)
}

fn storage(tensor: &Tensor) -> dml::DataType {
    tensor.element_type().storage().unwrap_or(dml::DataType::Uint8)
}

/// The elements, or nothing where there are none or they are no matrix. bfloat16 is shown as its
/// values, which are those of the upper halves of FLOAT32.
fn shown(tensor: &Tensor) -> String {
    if tensor.bytes().is_empty() {
        return "empty".to_owned();
    }
    if tensor.element_type() == ElementType::Bfloat16 {
        let wide = |bytes: &[u8]| [0, 0, bytes[0], bytes[1]];
        let bytes: Vec<u8> = tensor.bytes().chunks_exact(2).flat_map(wide).collect();
        return matrix::format(dml::DataType::Float32, tensor.shape(), &bytes);
    }
    matrix::format(storage(tensor), tensor.shape(), tensor.bytes())
}

/// The name of the file for an output. What a file name cannot have is replaced, so that the file is
/// in the folder; a number tells it from the file of another output.
fn file_name(output: &str, taken: &mut HashSet<String>) -> String {
    // In bytes: file systems allow 255 for a name, of which a number and `.npy` take a part.
    const LONGEST: usize = 200;
    let plain = |c: char| if c.is_alphanumeric() || "._- ".contains(c) { c } else { '_' };
    let mut name: String = output.chars().map(plain).collect();
    name.truncate(name.floor_char_boundary(LONGEST));
    if name.trim_matches(['.', ' ']).is_empty() {
        name = "output".to_owned();
    }
    let mut unique = name.clone();
    let mut number = 2;
    // File systems may tell no difference between upper and lower case.
    while !taken.insert(unique.to_lowercase()) {
        unique = format!("{name}_{number}");
        number += 1;
    }
    unique + ".npy"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_stay_in_their_folder_and_apart() {
        let folder = tempfile::tempdir().unwrap();
        let mut taken = HashSet::new();
        let mut name = |output| file_name(output, &mut taken);
        assert_eq!(name("y"), "y.npy");
        assert_eq!(name("Y"), "Y_2.npy");
        assert_eq!(name("../../etc/passwd"), ".._.._etc_passwd.npy");
        assert_eq!(name("a/b:0"), "a_b_0.npy");
        assert_eq!(name(".."), "output.npy");
        assert_eq!(name(""), "output_2.npy");
        assert_eq!(name("a_b_0"), "a_b_0_2.npy");
        assert_eq!(name("a_b_0_2"), "a_b_0_2_2.npy");
        assert_eq!(name("\u{1b}[2J\n"), "__2J_.npy");
        for long in ["ü".repeat(1000), "a".to_owned() + &"漢".repeat(1000)] {
            let name = file_name(&long, &mut HashSet::new());
            assert!((200..=204).contains(&name.len()), "{}", name.len());
            std::fs::write(folder.path().join(name), "").unwrap();
        }
    }
}
