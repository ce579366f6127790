//! From a test to the model of ONNX that does what its operations do.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use dml_import::Tensor;
use dml_import::onnx::proto::{ModelProto, OperatorSetIdProto};
use prost::Message as _;

use super::json::Graph;
use super::model::{Builder, Call, Known, value};
use super::operations;

/// The versions of ONNX's operators and files.
const OPSET: i64 = 24;
const IR_VERSION: i64 = 10;

/// A test that can be run.
pub(super) struct Translated {
    pub(super) model: Vec<u8>,
    pub(super) inputs: Vec<(String, Tensor)>,
    /// By the names of the model's outputs, in their order.
    pub(super) outputs: Vec<(String, Tensor)>,
}

/// Translates a test.
pub(super) fn translate(graph: &Graph) -> anyhow::Result<Translated> {
    let mut builder = Builder::default();
    let mut inputs = Vec::new();
    for (name, operand) in &graph.inputs {
        let tensor = operand.tensor().with_context(|| format!("input '{name}'"))?;
        let known = Known { element: tensor.element_type(), shape: tensor.shape().to_vec() };
        let value = value(name, Some(&known))?;
        builder.graph.input.push(value);
        builder.known.insert(name.clone(), known);
        inputs.push((name.clone(), tensor));
    }
    let mut made = BTreeSet::new();
    for operator in &graph.operators {
        let outputs = operator.outputs()?;
        let call = Call { operator, builder: &mut builder };
        let results = operations::translate(call).with_context(|| operator.name.clone())?;
        ensure!(results.len() == outputs.len(), "{}: {} outputs", operator.name, outputs.len());
        for (result, output) in results.into_iter().zip(outputs) {
            builder.node_to("Identity", &[result], vec![], vec![output.clone()]);
            made.insert(output);
        }
    }
    let mut outputs = Vec::new();
    for (name, operand) in &graph.expected_outputs {
        ensure!(made.contains(name), "output '{name}' is what no operation gives");
        builder.graph.output.push(value(name, None)?);
        outputs.push((name.clone(), operand.tensor().with_context(|| format!("'{name}'"))?));
    }
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: OPSET }];
    let model = ModelProto {
        ir_version: IR_VERSION,
        graph: Some(builder.graph),
        opset_import,
        ..ModelProto::default()
    };
    Ok(Translated { model: model.encode_to_vec(), inputs, outputs })
}
