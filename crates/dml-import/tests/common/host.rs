//! Runs programs as plans that the host interprets, and by the references of their operators: without a
//! device.

use std::collections::HashMap;

use dml::FeatureLevel;
use dml::core::plan::{Aliases, Plan};
use dml::core::schema::FieldKind;
use dml::core::{Capabilities, Tuning, validate, validate_graph};
use dml_import::program::{Binding, Dispatch, Initial, Output, Source, Step, Work};
use dml_import::{Inputs, Model, Program, Tensor};
use dml_ops::graph::{GraphOptions, compile_graph};
use dml_ops::{Target, TransferUse};
use dml_reference::graphs::interpreted;

use super::onnx;

/// The inputs that operators own since initialization, by operator and input index.
type OwnedInputs = HashMap<(usize, usize), Vec<u8>>;

/// The outputs of `program` with the values that were bound.
pub(crate) fn run(program: &Program) -> Vec<Output> {
    let mut buffers: Vec<Vec<u8>> = program
        .buffers()
        .iter()
        .map(|plan| {
            // Unwritten memory must not look like zeros.
            let mut bytes = vec![0xCD; usize::try_from(plan.size).unwrap()];
            let initial = match &plan.initial {
                Initial::Undefined => vec![],
                Initial::Tensor(tensor) => tensor.bytes().to_vec(),
                Initial::Input(index) => input(program, *index).bytes().to_vec(),
                Initial::Sequence(sequence) => sequence.chunks(64).flatten().collect(),
                Initial::Weight(weight) => weight.load().unwrap().bytes().to_vec(),
            };
            bytes[..initial.len()].copy_from_slice(&initial);
            bytes
        })
        .collect();
    let (mut kept, mut outputs) = (OwnedInputs::new(), Vec::new());
    for step in program.steps() {
        match step {
            Step::Initialize(step) => {
                for (index, binding) in step.inputs.iter().enumerate() {
                    let bytes = binding
                        .as_ref()
                        .map(|binding| slice(&buffers, binding, binding.size).to_vec());
                    kept.extend(bytes.map(|bytes| ((step.operator, index), bytes)));
                }
            }
            Step::Dispatch(dispatch) => execute(program, dispatch, &kept, &mut buffers),
            Step::Read(read) => {
                let tensor = match &read.source {
                    Source::Host(tensor) => tensor.clone(),
                    Source::Input(index) => {
                        let bytes = input(program, *index).bytes().to_vec();
                        Tensor::new(read.element, read.shape.clone(), bytes).unwrap()
                    }
                    Source::Buffer(binding) => {
                        let size = read.element.size().unwrap();
                        let bytes = read.shape.iter().product::<u64>() * size;
                        let bytes = slice(&buffers, binding, bytes).to_vec();
                        Tensor::new(read.element, read.shape.clone(), bytes).unwrap()
                    }
                };
                outputs.push(Output { destination: read.destination.clone(), tensor });
            }
        }
    }
    outputs
}

/// The only output of a node with these inputs, in a version of ai.onnx.
pub(crate) fn run_node(
    version: i64,
    node: onnx::Message,
    inputs: &[(&str, Tensor)],
) -> Result<Tensor, String> {
    let declared = inputs.iter().map(|(name, tensor)| {
        let rank = vec![None; tensor.shape().len()];
        onnx::value(name, onnx::number(tensor.element_type()), &rank)
    });
    let graph = onnx::Graph {
        nodes: vec![node],
        inputs: declared.collect(),
        outputs: onnx::outputs(),
        ..onnx::Graph::default()
    };
    let given = inputs.iter().cloned();
    let given = given.fold(Inputs::new(), |it, (name, tensor)| it.with_tensor(name, tensor));
    let program = Model::from_bytes(onnx::model(version, graph)).and_then(|it| it.bind(&given));
    program.map(|program| run(&program).remove(0).tensor).map_err(|error| error.to_string())
}

fn input(program: &Program, index: usize) -> Tensor {
    program.inputs()[index].tensor.clone().expect("the input was bound with values")
}

fn slice<'a>(buffers: &'a [Vec<u8>], binding: &Binding, bytes: u64) -> &'a [u8] {
    let start = usize::try_from(binding.offset).unwrap();
    &buffers[binding.buffer][start..start + usize::try_from(bytes).unwrap()]
}

/// The plan of an operator or a graph, for a device with the least that Vulkan guarantees.
pub(crate) fn plan(work: &Work) -> Plan {
    let capabilities = &Capabilities::vulkan_minimum();
    let target = Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed };
    match work {
        Work::Operator(operator) => {
            let operator = validate(operator, FeatureLevel::HIGHEST).unwrap();
            dml_ops::lower(&operator, &target).unwrap()
        }
        Work::Graph { desc, nodes } => {
            assert_eq!(desc.nodes.len(), nodes.len());
            let graph = validate_graph(desc, FeatureLevel::HIGHEST).unwrap();
            compile_graph(&graph, &target, GraphOptions::default()).unwrap().0
        }
    }
}

fn execute(program: &Program, dispatch: &Dispatch, kept: &OwnedInputs, buffers: &mut [Vec<u8>]) {
    let capabilities = &Capabilities::vulkan_minimum();
    let plan = plan(&program.operators()[dispatch.operator].work);
    let input = |(index, binding): (usize, &Option<Binding>)| {
        let bound =
            || binding.as_ref().map(|binding| slice(buffers, binding, binding.size).to_vec());
        kept.get(&(dispatch.operator, index)).cloned().or_else(bound)
    };
    let inputs: Vec<Option<Vec<u8>>> = dispatch.inputs.iter().enumerate().map(input).collect();
    if let (Work::Operator(operator), [Some(binding)]) =
        (&program.operators()[dispatch.operator].work, dispatch.outputs.as_slice())
    {
        let expected = referenced(operator, &inputs);
        let found = interpreted(&plan, &inputs, &Aliases::NONE, capabilities).unwrap();
        assert!(found[0][..expected.len()] == expected[..], "{operator:?}");
        let start = usize::try_from(binding.offset).unwrap();
        buffers[binding.buffer][start..start + expected.len()].copy_from_slice(&expected);
        return;
    }
    let found = interpreted(&plan, &inputs, &Aliases::NONE, capabilities).unwrap();
    for (binding, bytes) in dispatch.outputs.iter().zip(found) {
        let Some(binding) = binding else { continue };
        let start = usize::try_from(binding.offset).unwrap();
        buffers[binding.buffer][start..start + bytes.len()].copy_from_slice(&bytes);
    }
}

/// The only output of an operator on packed tensors, by its reference.
fn referenced(operator: &dml::AbstractOperator, inputs: &[Option<Vec<u8>>]) -> Vec<u8> {
    let validated = validate(operator, FeatureLevel::HIGHEST).unwrap();
    let inputs: Vec<Option<Vec<u64>>> = validated
        .tensors(FieldKind::Input)
        .zip(inputs)
        .map(|((_, tensor), bytes)| Some(dml_reference::elements_in(tensor?, bytes.as_ref()?)))
        .collect();
    let reference = dml_reference::find(operator.schema().operator_type).unwrap();
    let results = reference.outputs(&validated, &inputs).unwrap();
    let output = operator.bindings(FieldKind::Output).next().unwrap().1.unwrap();
    let width = output.data_type.bits() as usize / 8;
    results[0].iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
}
