//! Showing and writing the outputs of a model.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dml_file::{InputFiles, stdout};
use dml_import::program::{Destination, Output};
use dml_import::{ElementType, Tensor};

use super::names::file_names;
use super::summary::summary;
use crate::files::{printable, write_npy, write_raw};
use crate::matrix;

/// The plan for each output, made before the model runs.
pub(super) struct Delivery {
    /// The files in the order of the outputs; `None` for an output that is not written.
    paths: Vec<Option<PathBuf>>,
    folder: Option<PathBuf>,
    /// Whether outputs are shown.
    shows: bool,
}

impl Delivery {
    /// Plans the output files. Without a folder, nothing is written.
    ///
    /// # Errors
    /// An output would replace one of `inputs`, or is a folder.
    pub(super) fn plan(
        destinations: &[Destination],
        folder: Option<&Path>,
        inputs: &InputFiles,
        shows: bool,
    ) -> anyhow::Result<Self> {
        let named = destinations.iter().filter_map(|destination| match destination {
            Destination::Output(name) => Some(name.as_str()),
            _ => None,
        });
        let mut names = file_names(&named.collect::<Vec<_>>()).into_iter();
        let mut path = |destination: &Destination| match destination {
            Destination::Output(_) => Some(folder?.join(names.next()?)),
            Destination::File(target) => Some(folder?.join(target)),
            _ => None,
        };
        let paths: Vec<Option<PathBuf>> = destinations.iter().map(&mut path).collect();
        for path in paths.iter().flatten() {
            inputs.check(path)?;
            let shown = printable(&path.display().to_string());
            anyhow::ensure!(!path.is_dir(), "cannot write {shown}: it is a folder");
        }
        Ok(Self { paths, folder: folder.map(Path::to_owned), shows })
    }

    /// Writes and shows the outputs.
    pub(super) fn deliver(&self, outputs: &[Output]) -> anyhow::Result<Delivered> {
        for (index, output) in outputs.iter().enumerate() {
            let path = self.paths.get(index).and_then(Option::as_deref);
            if let Some(path) = path {
                write(path, output)?;
            }
            if self.shows {
                show(output, path)?;
            }
        }
        let written = self.paths.iter().flatten().count();
        Ok(Delivered { outputs: outputs.len(), written, folder: self.folder.clone() })
    }
}

/// The number of a model's outputs, and where they were written.
pub(super) struct Delivered {
    outputs: usize,
    written: usize,
    /// `None` if nothing was to be written.
    folder: Option<PathBuf>,
}

impl fmt::Display for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs = counted(self.outputs as u64, "output", "outputs");
        match &self.folder {
            None => write!(f, "{outputs}, not written to files (--output-dir DIR writes them)"),
            Some(folder) => {
                let folder = printable(&folder.display().to_string());
                write!(f, "{outputs}, {} written to {folder}", self.written)
            }
        }
    }
}

fn write(path: &Path, output: &Output) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        let cannot =
            || format!("cannot make the folder {}", printable(&folder.display().to_string()));
        std::fs::create_dir_all(folder).with_context(cannot)?;
    }
    let is_npy = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
    if is_npy { write_npy(path, &output.tensor) } else { write_raw(path, output.tensor.bytes()) }
}

fn show(output: &Output, path: Option<&Path>) -> anyhow::Result<()> {
    let tensor = &output.tensor;
    let kind = format!("{} {:?}", tensor.element_type(), tensor.shape());
    let place = |path: &Path| format!(" -> {}", printable(&path.display().to_string()));
    match &output.destination {
        Destination::Output(name) => {
            let place = path.map(place).unwrap_or_default();
            writeln!(stdout(), "{}: {kind}{place}", printable(name))?;
            writeln!(stdout(), "{}", shown(tensor))?;
        }
        Destination::Print { resource, .. } => {
            let elements = matrix::elements(storage(tensor), tensor.bytes());
            writeln!(stdout(), "Resource '{}': {}", printable(resource), elements.join(", "))?;
        }
        Destination::File(target) => match path {
            Some(path) => writeln!(stdout(), "wrote {}", printable(&path.display().to_string()))?,
            None => {
                let target = printable(&target.display().to_string());
                writeln!(stdout(), "{target}: {kind}, not written without --output-dir")?;
            }
        },
        other => anyhow::bail!("an output is for {other:?}, which this command does not know"),
    }
    Ok(())
}

fn storage(tensor: &Tensor) -> dml::DataType {
    tensor.element_type().storage().unwrap_or(dml::DataType::Uint8)
}

/// The elements, or a summary if there are many. bfloat16 elements are shown as numbers: their bits are the
/// upper halves of FLOAT32.
fn shown(tensor: &Tensor) -> String {
    if tensor.bytes().is_empty() {
        return "empty".to_owned();
    }
    if tensor.element_type() == ElementType::Bfloat16 {
        let wide = |bytes: &[u8]| [0, 0, bytes[0], bytes[1]];
        let bytes: Vec<u8> = tensor.bytes().chunks_exact(2).flat_map(wide).collect();
        return summary(dml::DataType::Float32, tensor.shape(), &bytes);
    }
    summary(storage(tensor), tensor.shape(), tensor.bytes())
}

/// A number and the word for so many things.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
