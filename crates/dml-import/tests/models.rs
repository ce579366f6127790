//! Every model of the test data behaves as its index says: on the host and on every device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::on_every_device;
use common::{data, element, name, run_on_both};
use dml::Device;
use dml_import::{Error, Inputs, Model, Result, npy};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    case: String,
    model: String,
    expect: Expect,
    /// The operator that is not supported.
    operator: Option<String>,
    sets: Vec<Set>,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum Expect {
    Ok,
    Error,
    Unsupported,
}

#[derive(Deserialize)]
struct Set {
    inputs: Vec<Input>,
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    file: String,
}

#[derive(Deserialize)]
struct Output {
    file: String,
    element: String,
    shape: Vec<u64>,
    /// OpenVINO's outputs are identified by their order.
    name: Option<String>,
}

fn cases() -> Vec<Case> {
    let index = std::fs::read(data("models/index.json")).unwrap();
    serde_json::from_slice(&index).unwrap()
}

fn run(device: &Device, case: &Case, set: &Set) -> Result<()> {
    let file = |file: &str| data(&format!("models/{}/{file}", case.case));
    let model = Model::read(file(&case.model))?;
    let mut inputs = Inputs::new();
    for input in &set.inputs {
        inputs = inputs.with_tensor(&input.name, npy::read(&file(&input.file)).unwrap());
    }
    for outputs in run_on_both(device, &model, &inputs)? {
        assert_eq!(outputs.len(), set.outputs.len(), "{}", case.case);
        for (found, expected) in outputs.iter().zip(&set.outputs) {
            let tensor = npy::read(&file(&expected.file)).unwrap();
            assert_eq!(found.tensor.element_type(), element(&expected.element), "{}", case.case);
            assert_eq!(found.tensor.shape(), expected.shape, "{}", case.case);
            assert_eq!(tensor.shape(), expected.shape, "{}", case.case);
            assert!(found.tensor.bytes() == tensor.bytes(), "{}: {found:?}", case.case);
            if let Some(expected) = &expected.name {
                assert_eq!(name(found), expected);
            }
        }
    }
    Ok(())
}

/// Runs every set of every model, and returns the number of sets of each kind.
fn run_all(device: &Device) -> [usize; 3] {
    let mut counts = [0; 3];
    for case in cases() {
        for set in &case.sets {
            let result = run(device, &case, set);
            match (&case.expect, result) {
                (Expect::Ok, result) => result.unwrap(),
                (Expect::Error, Err(error)) => {
                    let error = error.to_string();
                    assert!(error.contains("model."), "{}: {error}", case.case);
                    assert!(!error.contains('\n'), "{}: {error}", case.case);
                }
                (Expect::Unsupported, Err(error)) => {
                    let Error::NotSupported { node, .. } = error.kind() else { panic!("{error}") };
                    assert_eq!(Some(&node.operator), case.operator.as_ref(), "{}", case.case);
                    let error = error.to_string();
                    let named = error.contains(&format!("{node}: not supported: "));
                    assert!(named && !node.name.is_empty(), "{}: {error}", case.case);
                }
                (expected, Ok(())) => panic!("{}: expected {expected:?}", case.case),
            }
        }
        counts[match case.expect {
            Expect::Ok => 0,
            Expect::Error => 1,
            Expect::Unsupported => 2,
        }] += 1;
    }
    counts
}

#[test]
fn every_model_behaves_as_its_index_says_on_every_device() {
    on_every_device(|device| assert_eq!(run_all(device), [77, 18, 0]));
}

#[test]
fn every_model_that_can_be_read_can_be_inspected() {
    for case in cases() {
        let Ok(model) = Model::read(data(&format!("models/{}/{}", case.case, case.model))) else {
            assert_eq!(case.expect, Expect::Error);
            continue;
        };
        let report = model.inspect(&Inputs::new()).unwrap();
        let refusals: Vec<String> = report
            .nodes
            .iter()
            .filter_map(|node| match &node.support {
                dml_import::NodeSupport::Unsupported(reason) => {
                    Some(format!("{}: {reason}", node.node))
                }
                _ => None,
            })
            .collect();
        match case.expect {
            Expect::Ok => assert!(refusals.is_empty(), "{}: {refusals:?}", case.case),
            Expect::Unsupported => assert!(!refusals.is_empty(), "{}", case.case),
            Expect::Error => {}
        }
    }
}
