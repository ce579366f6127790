//! What the command line says about the inputs of a model.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use dml_import::{Error, InputReport, Inputs, Model, Requirement, ValueReport, npy};

/// The inputs of a model.
#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// Give an input the values of a .npy file; may be repeated
    #[arg(long = "input", value_name = "NAME=FILE.npy", value_parser = assignment::<PathBuf>)]
    inputs: Vec<Assignment<PathBuf>>,
    /// Give an input a shape, where its values do not matter, such as 2x3; may be repeated
    #[arg(long = "shape", value_name = "NAME=2x3", value_parser = assignment::<Shape>)]
    shapes: Vec<Assignment<Shape>>,
}

#[derive(Clone, Debug)]
struct Assignment<T> {
    name: String,
    value: T,
}

/// Sizes with `x` between them; nothing stands for a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape(Vec<u64>);

/// The command line contradicts itself.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::error::Error for Usage {}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names may have `=` in them: the last one separates.
fn assignment<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<Assignment<T>, String> {
    let (name, value) = text.rsplit_once('=').ok_or("there is no '=' after a name")?;
    let value = value.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(Assignment { name: name.to_owned(), value })
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self(vec![]));
        }
        let size = |size: &str| size.parse().map_err(|_| format!("'{size}' is no size"));
        text.split('x').map(size).collect::<Result<_, _>>().map(Self)
    }
}

/// `[2, N, ?]`
pub(crate) fn shape_text(shape: Option<&[String]>) -> String {
    shape.map_or("[...]".to_owned(), |sizes| format!("[{}]", sizes.join(", ")))
}

/// The option of the command line that gives what is needed of an input.
pub(crate) fn option(input: &ValueReport, requirement: Requirement) -> String {
    let file = format!("--input {}=FILE.npy", input.name);
    let sizes = input.shape.as_deref().map(|sizes| sizes.join("x"));
    match (requirement, sizes) {
        (Requirement::Shape, Some(sizes)) => format!("--shape {}={sizes} or {file}", input.name),
        (Requirement::Shape, None) => format!("--shape {}=2x3 (any sizes) or {file}", input.name),
        (Requirement::Values, _) => file,
    }
}

/// The refusal with the option of the command line that would help, where there is one.
pub(crate) fn explained(error: Error, model: &Model, given: &Inputs) -> anyhow::Error {
    let Error::Missing { name, requirement } = error.kind() else { return error.into() };
    let report = model.inspect(given).ok();
    let input = report.and_then(|it| it.inputs.into_iter().find(|it| it.value.name == *name));
    match input {
        // The error may ask for the shape first, where the values are needed.
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
        let names =
            self.inputs.iter().map(|it| &it.name).chain(self.shapes.iter().map(|it| &it.name));
        let mut seen = std::collections::HashSet::new();
        for name in names {
            if !seen.insert(name) {
                anyhow::bail!(Usage(format!("input '{name}' is given twice")));
            }
        }
        let mut inputs = Inputs::new();
        for Assignment { name, value } in &self.inputs {
            inputs = inputs.with_tensor(name, npy::read(value)?);
        }
        for Assignment { name, value } in &self.shapes {
            inputs = inputs.with_shape(name, value.0.as_slice());
        }
        Ok(inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_sizes_with_an_x_between() {
        assert_eq!("2x3".parse(), Ok(Shape(vec![2, 3])));
        assert_eq!("".parse(), Ok(Shape(vec![])));
        assert_eq!("0x5".parse(), Ok(Shape(vec![0, 5])));
        assert_eq!("2x".parse::<Shape>(), Err("'' is no size".to_owned()));
        assert_eq!("-1x2".parse::<Shape>(), Err("'-1' is no size".to_owned()));
    }

    #[test]
    fn the_last_equals_sign_ends_the_name() {
        let named = assignment::<Shape>("a=b=2").unwrap();
        assert_eq!((named.name.as_str(), named.value), ("a=b", Shape(vec![2])));
        assert!(super::assignment::<Shape>("a").is_err());
    }
}
