//! One test on a device.

use std::sync::Arc;

use dml::Device;
use dml_import::program::Destination;
use dml_import::{Inputs, Model};

use super::translate::{Translated, translate};
use super::{compare, json, suite, tolerance};
use crate::onnx::test::{not_run, run_model};
use crate::results::onnx::{Distance, Ended, Outcome};

/// Runs the test that a line names.
pub(crate) fn run(source: &str, device: &Device) -> Ended {
    match attempt(source, device) {
        Ok(distance) => Ended::passed(Some(distance)),
        Err(ended) => ended,
    }
}

fn attempt(source: &str, device: &Device) -> Result<Distance, Ended> {
    let unusable = |error: anyhow::Error| Ended::because(Outcome::NotRun, format!("{error:#}"));
    let test = test(source).map_err(unusable)?;
    let Translated { model, inputs, outputs } = translate(&test.graph).map_err(unusable)?;
    let model = Arc::new(Model::from_bytes(model).map_err(|error| not_run(&error))?);
    let give = |all: Inputs, (name, tensor)| all.with_tensor(name, tensor);
    let inputs = inputs.into_iter().fold(Inputs::new(), give);
    let found = run_model(&model, &inputs, device)?;
    let mut largest = Distance::default();
    for ((name, expected), found) in outputs.iter().zip(&found) {
        if !matches!(&found.destination, Destination::Output(output) if output == name) {
            let detail = format!("output '{name}' is not in its place");
            return Err(Ended::because(Outcome::Failed, detail));
        }
        let allowed = tolerance::of(&test.graph, expected.element_type());
        let distance = compare::distance(&found.tensor, expected, allowed);
        let wrong = |what| Ended::because(Outcome::Wrong, format!("output '{name}': {what}"));
        largest = largest.max(distance.map_err(wrong)?);
    }
    Ok(largest)
}

fn test(source: &str) -> anyhow::Result<json::Test> {
    let (path, number) = suite::parts(source)?;
    let mut file = suite::read(&path)?;
    anyhow::ensure!(number < file.tests.len(), "there is no test {number}");
    Ok(file.tests.swap_remove(number))
}
