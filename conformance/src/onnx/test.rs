//! One test on a device.

use std::path::Path;
use std::sync::Arc;

use dml::Device;
use dml_import::program::{Destination, Output};
use dml_import::{Error, InputForm, Inputs, Model, Session, Tensor};

use super::compare::{self, Tolerance, farthest};
use super::given::{TestValue, ValueKind};
use super::outline::Value;
use super::suite::{Contents, Set};
use crate::results::onnx::{Distance, Ended, Outcome};

/// Tests whose expected outputs contradict the definition of their operator, and how.
const CONTRADICTIONS: [(&str, &str); 1] = [(
    "test_maxunpool_export_with_output_shape",
    "the test's indices number the elements of another shape than output_shape; MaxPool, whose indices they are, \
     numbers those of its input",
)];

/// Runs the test in `folder`.
pub(crate) fn run(folder: &str, device: &Device) -> Ended {
    let folder = Path::new(folder);
    if let Some(reason) = contradiction(folder) {
        return Ended::because(Outcome::NotRun, reason);
    }
    let tolerance = match compare::of_node(folder) {
        Ok(tolerance) => tolerance,
        Err(error) => return Ended::because(Outcome::Failed, format!("{error:#}")),
    };
    match attempt(folder, device, tolerance) {
        Ok(_) => Ended::passed(None),
        Err(ended) => ended,
    }
}

/// The way in which the test in `folder` contradicts the definition of its operator, if it does.
fn contradiction(folder: &Path) -> Option<&'static str> {
    let found = CONTRADICTIONS.iter().find(|(name, _)| folder.ends_with(name));
    found.map(|(_, reason)| *reason)
}

/// Runs the test in `folder` of a whole model, and also returns the largest difference.
pub(crate) fn run_model_test(folder: &str, device: &Device) -> Ended {
    match attempt(Path::new(folder), device, compare::OF_MODELS) {
        Ok(difference) => Ended::passed(Some(Distance { difference, ..Distance::default() })),
        Err(ended) => ended,
    }
}

/// Runs a test, and returns the largest difference from the expected outputs.
fn attempt(folder: &Path, device: &Device, tolerance: Tolerance) -> Result<f64, Ended> {
    let contents = Contents::read(folder)
        .map_err(|error| Ended::because(Outcome::NotRun, format!("{error:#}")))?;
    let values = contents.outline.inputs.iter().map(|it| ("input", it));
    let values = values.chain(contents.outline.outputs.iter().map(|it| ("output", it)));
    for (what, value) in values {
        if let ValueKind::Other(kind) = value.kind {
            let detail = format!("{what} '{}' is {kind}", value.name);
            return Err(Ended::because(Outcome::NotRun, detail));
        }
    }
    let model = Arc::new(Model::read(&contents.model).map_err(|error| not_run(&error))?);
    let mut answers =
        contents.sets.iter().map(|set| answer(&contents, set, &model, device, tolerance));
    answers.try_fold(0.0, |most, found: Result<f64, Ended>| Ok(found?.max(most)))
}

/// Runs the model with the inputs of one set, and compares the outputs.
fn answer(
    contents: &Contents,
    set: &Set,
    model: &Arc<Model>,
    device: &Device,
    tolerance: Tolerance,
) -> Result<f64, Ended> {
    let outline = &contents.outline;
    let expected = set.outputs(&outline.outputs).map_err(|error| not_run(&error))?;
    let expected = named(&outline.outputs, expected);
    let given = set.inputs(&outline.inputs).map_err(|error| not_run(&error))?;
    let forms = outline.inputs.iter().zip(&given);
    let forms: Vec<(&str, InputForm)> =
        forms.filter_map(|(it, given)| Some((it.name.as_str(), given.form()?))).collect();
    let model = match forms.is_empty() {
        true => Arc::clone(model),
        false => Arc::new(formed(contents, &forms).map_err(|error| not_run(&error))?),
    };
    let given = named(&outline.inputs, given);
    let is_zero = |name: &str| {
        let found = given.iter().find(|(input, _)| input == name);
        found.is_some_and(|(_, tensor)| tensor.bytes().iter().all(|byte| *byte == 0))
    };
    if let Some(operator) = contents.outline.random(is_zero) {
        let detail = format!("{operator}: its results are random, so that none is the right one");
        return Err(Ended::because(Outcome::NotRun, detail));
    }
    let inputs =
        given.into_iter().fold(Inputs::new(), |it, (name, tensor)| it.with_tensor(name, tensor));
    let outputs = run_model(&model, &inputs, device)?;
    match difference(&outputs, &expected, tolerance) {
        None => {
            let pairs = outputs.iter().zip(&expected);
            let farthest = pairs.map(|(found, (_, expected))| farthest(&found.tensor, expected));
            Ok(farthest.fold(0.0, f64::max))
        }
        Some(detail) => Err(Ended::because(Outcome::Wrong, detail)),
    }
}

/// The tensors of values with their names.
fn named(declared: &[Value], given: Vec<TestValue>) -> Vec<(String, Tensor)> {
    declared.iter().zip(given).flat_map(|(it, given)| given.named(&it.name)).collect()
}

/// The model with inputs in these forms.
fn formed(contents: &Contents, forms: &[(&str, InputForm)]) -> dml_import::Result<Model> {
    Model::read(&contents.model)?.with_forms(forms)
}

/// Runs a model.
///
/// # Errors
/// The outcome for a test of it: not run if the importer or the device refuses it.
pub(crate) fn run_model(
    model: &Arc<Model>,
    inputs: &Inputs,
    device: &Device,
) -> Result<Vec<Output>, Ended> {
    let session = Session::new(device, Arc::clone(model));
    session.run(inputs).map_err(|error| match is_of_vulkan(&error) {
        true => failed(&error),
        false => not_run(&error),
    })
}

/// The outcome with the importer's or the device's message, without the file, which differs in every test.
pub(crate) fn not_run(error: &Error) -> Ended {
    Ended::because(Outcome::NotRun, error.kind().to_string())
}

fn failed(error: &Error) -> Ended {
    Ended::because(Outcome::Failed, error.kind().to_string())
}

/// Whether the driver failed. Operators and limits are refused before the driver is called.
fn is_of_vulkan(error: &Error) -> bool {
    matches!(error.device_error(), Some(dml::Error::Vulkan(_)))
}

/// A description of the first wrong output of a model.
fn difference(
    found: &[Output],
    expected: &[(String, Tensor)],
    tolerance: Tolerance,
) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("has {} outputs, must have {}", found.len(), expected.len()));
    }
    found.iter().zip(expected).find_map(|(found, (name, expected))| match &found.destination {
        Destination::Output(other) if other != name => {
            Some(format!("output '{other}' is in the place of output '{name}'"))
        }
        _ => {
            let difference = compare::difference(&found.tensor, expected, tolerance);
            difference.map(|difference| format!("output '{name}': {difference}"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_contradicts_its_operator_is_not_run_and_says_how() {
        let folder = |name: &str| Path::new("node").join(name);
        let reason = contradiction(&folder("test_maxunpool_export_with_output_shape")).unwrap();
        assert!(reason.contains("output_shape"), "{reason}");
        assert_eq!(contradiction(&folder("test_maxunpool_export_without_output_shape")), None);
    }
}
