//! Runs programs by the references of their operators, without a device.

use dml::FeatureLevel;
use dml::core::schema::FieldKind;
use dml::core::validate;
use dml_import::program::{Binding, Dispatch, Initial, Output, Source, Step};
use dml_import::{Program, Tensor};

/// The outputs of `program` with the values that were bound.
pub(crate) fn run(program: &Program) -> Vec<Output> {
    let mut buffers: Vec<Vec<u8>> = program
        .buffers()
        .iter()
        .map(|plan| {
            // What nothing writes must not look like zeros.
            let mut bytes = vec![0xCD; usize::try_from(plan.size).unwrap()];
            let initial = match &plan.initial {
                Initial::Undefined => vec![],
                Initial::Tensor(tensor) => tensor.bytes().to_vec(),
                Initial::Input(index) => input(program, *index).bytes().to_vec(),
                Initial::Sequence(sequence) => sequence.chunks(64).flatten().collect(),
            };
            bytes[..initial.len()].copy_from_slice(&initial);
            bytes
        })
        .collect();
    let mut outputs = Vec::new();
    for step in program.steps() {
        match step {
            Step::Dispatch(dispatch) => execute(program, dispatch, &mut buffers),
            Step::Read(read) => {
                let tensor = match &read.source {
                    Source::Host(tensor) => tensor.clone(),
                    Source::Input(index) => input(program, *index),
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

fn input(program: &Program, index: usize) -> Tensor {
    program.inputs()[index].tensor.clone().expect("the input was bound with values")
}

fn slice<'a>(buffers: &'a [Vec<u8>], binding: &Binding, bytes: u64) -> &'a [u8] {
    let start = usize::try_from(binding.offset).unwrap();
    &buffers[binding.buffer][start..start + usize::try_from(bytes).unwrap()]
}

/// Packed tensors only, of at most one output.
fn execute(program: &Program, dispatch: &Dispatch, buffers: &mut [Vec<u8>]) {
    let operator = &program.operators()[dispatch.operator].operator;
    let schema = operator.schema();
    let validated = validate(operator, FeatureLevel::HIGHEST).unwrap();
    let tensors = |kind| operator.bindings(kind).map(|(_, tensor)| tensor.cloned());
    let bytes = |tensor: &dml::TensorDesc| {
        let count: u64 = tensor.sizes.iter().copied().map(u64::from).product();
        (count * u64::from(tensor.data_type.bits() / 8), tensor.data_type.bits() as usize / 8)
    };
    let inputs: Vec<Option<Vec<u64>>> = tensors(FieldKind::Input)
        .zip(&dispatch.inputs)
        .map(|(tensor, binding)| {
            let (size, width) = bytes(&tensor?);
            let bytes = slice(buffers, binding.as_ref().unwrap(), size);
            Some(bytes.chunks(width).map(element).collect())
        })
        .collect();
    let reference = dml_ops::find(schema.operator_type).unwrap().reference();
    let results = reference.outputs(&validated, &inputs).unwrap();
    let output = tensors(FieldKind::Output).next().unwrap().unwrap();
    let (_, width) = bytes(&output);
    let binding = dispatch.outputs[0].as_ref().unwrap();
    let start = usize::try_from(binding.offset).unwrap();
    for (index, bits) in results[0].iter().enumerate() {
        let at = start + index * width;
        buffers[binding.buffer][at..at + width].copy_from_slice(&bits.to_le_bytes()[..width]);
    }
}

fn element(bytes: &[u8]) -> u64 {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(bits)
}
