//! The command line's options for the inputs of a model.

mod tensor_file;

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use dml_file::InputFiles;
use dml_import::{Error, InputReport, Inputs, Model, Requirement, ValueReport};

use tensor_file::TensorFile;

/// The inputs of a model.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// Values of an input: FILE.npy, FILE.npz:ARRAY, or a TensorProto FILE.pb (FILE.npz alone: inputs by name)
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = source)]
    inputs: Vec<Source>,
    /// Shape of an input without values, such as 2x3 or 2,3
    #[arg(long = "shape", value_name = "NAME=2x3", value_parser = assignment::<Shape>)]
    shapes: Vec<Assignment<Shape>>,
}

/// The source of the values of inputs.
#[derive(Clone, Debug)]
enum Source {
    /// A file for one input.
    One(Assignment<TensorFile>),
    /// An archive with arrays for inputs by name.
    All(PathBuf),
}

#[derive(Clone, Debug)]
struct Assignment<T> {
    name: String,
    value: T,
}

/// Sizes with `x` or `,` between them; an empty text means a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape(Vec<u64>);

/// An error about contradictory options of the command line.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::error::Error for Usage {}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn source(text: &str) -> Result<Source, String> {
    // The name of an array may have a `=` in it, too.
    let end = text.find(".npz:").unwrap_or(text.len());
    let Some(at) = text[..end].rfind('=') else {
        let is_archive = text.to_ascii_lowercase().ends_with(".npz");
        return match is_archive {
            true => Ok(Source::All(text.into())),
            false => Err("no '=' between the input's name and the file".to_owned()),
        };
    };
    let name = text[..at].to_owned();
    Ok(Source::One(Assignment { name, value: text[at + 1..].parse()? }))
}

/// Names may have `=` in them: the last one separates.
fn assignment<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<Assignment<T>, String> {
    let (name, value) =
        text.rsplit_once('=').ok_or("no '=' between the input's name and its value")?;
    let value = value.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(Assignment { name: name.to_owned(), value })
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self(vec![]));
        }
        let size = |size: &str| {
            size.trim().parse().map_err(|_| {
                format!("'{size}' is not a size; accepted: whole numbers, such as 2x3 or 2,3")
            })
        };
        text.split(['x', ',']).map(size).collect::<Result<_, _>>().map(Self)
    }
}

/// `[2, N, ?]`
pub(crate) fn shape_text(shape: Option<&[String]>) -> String {
    shape.map_or("[...]".to_owned(), |sizes| format!("[{}]", sizes.join(", ")))
}

/// The options of the command line that give the shape or values that a run needs of an input.
pub(crate) fn option(input: &ValueReport, requirement: Requirement) -> String {
    let file = format!("--input {}=FILE.npy", input.name);
    match (requirement, open_shape(input)) {
        (Requirement::Shape, Some(shape)) => format!("{shape} or {file}"),
        (Requirement::Values, Some(shape)) => format!("{file} or {shape} --random"),
        (Requirement::Values, None) => format!("{file} or --random"),
        (Requirement::Shape, None) => file,
    }
}

/// The option that gives an input with open sizes its shape: `--shape x=1x3xHxW`.
pub(crate) fn open_shape(input: &ValueReport) -> Option<String> {
    let name = &input.name;
    match input.shape.as_deref() {
        None => Some(format!("--shape {name}=2x3 (any sizes)")),
        Some(sizes) if sizes.iter().all(|size| size.parse::<u64>().is_ok()) => None,
        Some(sizes) => Some(format!("--shape {name}={}", sizes.join("x"))),
    }
}

/// The error, with the option of the command line that would help, if there is one.
pub(crate) fn explained(error: Error, model: &Model, given: &Inputs) -> anyhow::Error {
    let (name, requirement) = match error.kind() {
        Error::Missing { name, requirement } => (name, requirement),
        Error::Invalid(_) | Error::NotSupported { .. } | Error::Operator { .. } => {
            let file = model.files().first().map(|path| path.display().to_string());
            let file = file.unwrap_or_else(|| "MODEL".to_owned());
            return anyhow::anyhow!("{error}; `dml inspect {file}` shows what runs each node");
        }
        _ => return error.into(),
    };
    let report = match model.inspect(given) {
        // A misspelt name is the cause of a missing input.
        Err(unknown) if matches!(unknown.kind(), Error::UnknownInput { .. }) => {
            return unknown.into();
        }
        report => report.ok(),
    };
    let input = report.and_then(|it| it.inputs.into_iter().find(|input| input.value.name == *name));
    match input {
        // The error may ask for the shape first, although the values are needed.
        Some(InputReport { value, requirement: all }) => {
            let option = option(&value, all.unwrap_or(*requirement));
            anyhow::anyhow!("{error}; give {option}")
        }
        None => error.into(),
    }
}

impl InputArgs {
    /// Reads the files.
    pub(crate) fn read(&self) -> anyhow::Result<Inputs> {
        let mut seen = HashSet::new();
        let mut once = |name: &str| {
            let is_new = seen.insert(name.to_owned());
            anyhow::ensure!(is_new, Usage(format!("input '{name}' is given twice")));
            Ok(())
        };
        let names = self.inputs.iter().filter_map(Source::name);
        for name in names.chain(self.shapes.iter().map(|shape| shape.name.as_str())) {
            once(name)?;
        }
        let mut inputs = Inputs::new();
        for source in &self.inputs {
            match source {
                Source::One(Assignment { name, value }) => {
                    inputs = inputs.with_tensor(name, value.tensor()?);
                }
                Source::All(path) => {
                    for (name, tensor) in tensor_file::arrays(path)? {
                        once(&name)?;
                        inputs = inputs.with_tensor(name, tensor);
                    }
                }
            }
        }
        for Assignment { name, value } in &self.shapes {
            inputs = inputs.with_shape(name, value.0.as_slice());
        }
        Ok(inputs)
    }

    /// Adds the files that are read.
    pub(crate) fn add_files(&self, files: &mut InputFiles) {
        for source in &self.inputs {
            files.add(match source {
                Source::One(assignment) => assignment.value.path(),
                Source::All(path) => path,
            });
        }
    }
}

impl Source {
    /// The input's name, if the source is for a single input.
    fn name(&self) -> Option<&str> {
        match self {
            Self::One(assignment) => Some(&assignment.name),
            Self::All(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_sizes_with_an_x_or_a_comma_between() {
        assert_eq!("2x3".parse(), Ok(Shape(vec![2, 3])));
        assert_eq!("1,3,320,320".parse(), Ok(Shape(vec![1, 3, 320, 320])));
        assert_eq!("".parse(), Ok(Shape(vec![])));
        assert_eq!("0x5".parse(), Ok(Shape(vec![0, 5])));
        for (text, wrong) in [("2x", "''"), ("-1x2", "'-1'"), ("NxM", "'N'")] {
            let error = text.parse::<Shape>().unwrap_err();
            assert!(error.starts_with(&format!("{wrong} is not a size")), "{error}");
        }
    }

    #[test]
    fn the_last_equals_sign_ends_the_name() {
        let named = assignment::<Shape>("a=b=2").unwrap();
        assert_eq!((named.name.as_str(), named.value), ("a=b", Shape(vec![2])));
        assert!(super::assignment::<Shape>("a").is_err());
        let Source::One(named) = source("a=b=x.npz:c=d").unwrap() else { panic!() };
        assert_eq!((named.name.as_str(), named.value), ("a=b", "x.npz:c=d".parse().unwrap()));
        assert!(matches!(source("x.NPZ"), Ok(Source::All(_))));
        assert!(source("x.npy").is_err());
    }
}
