//! `dml run`: a model on a device.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dml_import::program::{Destination, Output};
use dml_import::{ElementType, Inputs, Model, Program, Tensor};

use crate::model_inputs::InputArgs;
use crate::{DeviceArgs, matrix, npy};

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
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the model, writes every output, and says what each is.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let model = Model::read(&args.model)?;
    let program = model.bind(&args.inputs.read()?)?;
    let outputs =
        outputs(&program, &args.device).with_context(|| args.model.display().to_string())?;
    let folder = &args.output_dir;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut taken = HashSet::new();
    for output in &outputs {
        deliver(output, folder, &mut taken)?;
    }
    Ok(())
}

fn outputs(program: &Program, device: &DeviceArgs) -> anyhow::Result<Vec<Output>> {
    if !program.needs_device() {
        return Ok(program.run_on_host(&Inputs::new())?);
    }
    device.with_device(|device| Ok(program.compile(device)?.run(&Inputs::new())?))
}

fn deliver(output: &Output, folder: &Path, taken: &mut HashSet<String>) -> anyhow::Result<()> {
    let tensor = &output.tensor;
    match &output.destination {
        Destination::Output(name) => {
            let path = folder.join(file_name(name, taken));
            npy::write(&path, tensor)?;
            let kind = format!("{} {:?}", tensor.element_type(), tensor.shape());
            writeln!(io::stdout(), "{name}: {kind} -> {}", path.display())?;
            writeln!(io::stdout(), "{}", shown(tensor))?;
        }
        Destination::Print { resource, .. } => {
            let elements = matrix::elements(storage(tensor), tensor.bytes());
            writeln!(io::stdout(), "Resource '{resource}': {}", elements.join(", "))?;
        }
        Destination::File(target) => {
            let path = folder.join(target);
            let is_npy = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("npy"));
            if is_npy {
                npy::write(&path, tensor)?;
            } else {
                write_raw(&path, tensor.bytes())?;
            }
            writeln!(io::stdout(), "wrote {}", path.display())?;
        }
        other => anyhow::bail!("an output is for {other:?}, which this command does not know"),
    }
    Ok(())
}

fn write_raw(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let mut output = dml_file::Output::create(path).with_context(cannot)?;
    output.write_all(bytes).with_context(cannot)?;
    output.commit().with_context(cannot)
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

/// The name of the file for an output: what a file name cannot have is replaced, and so is nothing
/// that would lead out of the folder or onto the file of another output.
fn file_name(output: &str, taken: &mut HashSet<String>) -> String {
    const LONGEST: usize = 100;
    let plain = |c: char| if c.is_alphanumeric() || "._- ".contains(c) { c } else { '_' };
    let mut name: String = output.chars().map(plain).take(LONGEST).collect();
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
        let mut taken = HashSet::new();
        let mut name = |output| file_name(output, &mut taken);
        assert_eq!(name("y"), "y.npy");
        assert_eq!(name("Y"), "Y_2.npy");
        assert_eq!(name("../../etc/passwd"), ".._.._etc_passwd.npy");
        assert_eq!(name("a/b:0"), "a_b_0.npy");
        assert_eq!(name(".."), "output.npy");
        assert_eq!(name(""), "output_2.npy");
        assert_eq!(name(&"ü".repeat(1000)).chars().count(), 104);
    }
}
