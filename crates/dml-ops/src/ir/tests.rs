//! Properties and texts of recorded programs.

use dml_core::{Capabilities, DataType, FeatureLevel, TensorDesc, Tuning, operators, validate};
use dml_reference::{Case, Signature};

use dml_spirv::ElementWidth;
use dml_spirv::element_wise::{DIMENSIONS, MAX_INPUTS, Value};

use super::space::{Displacement, IterationSpace, Operand, leading};
use super::{Buffer, Computation, Content, Map, Node, Stage};
use crate::tests::{reference, with_window};
use crate::{OPERATORS, Operator, Program, Target, TransferUse};

const MOST_CASES: usize = 40;

/// A number of cases of an operator, evenly chosen.
pub(crate) fn cases(operator: &Operator) -> Vec<dml_core::Validated> {
    let accepted =
        |it: &Signature| validate(&reference(operator).minimal(it), FeatureLevel::HIGHEST).is_ok();
    let signatures = Signature::all(operator.schema()).filter(accepted);
    let cases: Vec<_> =
        signatures.flat_map(|signature| reference(operator).chosen_cases(&signature)).collect();
    let step = cases.len().div_ceil(MOST_CASES).max(1);
    let valid = |case: &Case| validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
    cases.iter().step_by(step).map(valid).collect()
}

pub(crate) fn target(capabilities: &Capabilities) -> Target<'_> {
    Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed }
}

/// The operators whose programs depend on the range of descriptors.
const DEPENDENT: [&str; 23] = [
    "AVERAGE_POOLING",
    "LP_POOLING",
    "MAX_POOLING",
    "GATHER",
    "LOCAL_RESPONSE_NORMALIZATION",
    "LSTM",
    "MAX_POOLING1",
    "MAX_UNPOOLING",
    "SCATTER_ELEMENTS",
    "GATHER_ELEMENTS",
    "GATHER_ND",
    "MAX_POOLING2",
    "AVERAGE_POOLING_GRAD",
    "MAX_POOLING_GRAD",
    "GATHER_ND1",
    "LOCAL_RESPONSE_NORMALIZATION_GRAD",
    "MULTIHEAD_ATTENTION",
    "LP_POOLING1",
    "AVERAGE_POOLING1",
    "QUANTIZED_LINEAR_AVERAGE_POOLING",
    "MULTIHEAD_ATTENTION1",
    "FOLD",
    "UNFOLD",
];

#[test]
fn few_programs_depend_on_the_device() {
    let (most, least) = (Capabilities::vulkan_minimum(), with_window(64, 16));
    let mut dependent = Vec::new();
    for operator in OPERATORS.iter().copied() {
        let programs = |it: &dml_core::Validated| {
            let [one, other] = [&most, &least].map(|it| target(it));
            let text = |target: &Target<'_>| operator.program(it, target).map(|it| it.to_string());
            text(&one).unwrap() != text(&other).unwrap_or_default()
        };
        if cases(operator).iter().any(programs) {
            dependent.push(operator.schema().name);
        }
    }
    assert_eq!(dependent, DEPENDENT);
}

/// Each node states its cost.
#[test]
fn every_node_has_bytes_operations_and_invocations() {
    let capabilities = Capabilities::vulkan_minimum();
    for operator in OPERATORS.iter().copied() {
        for validated in cases(operator) {
            let program = operator.program(&validated, &target(&capabilities)).unwrap();
            for node in &program.nodes {
                let cost = node.node.cost();
                assert!(cost.work.bytes > 0 && cost.invocations > 0, "{program}");
            }
        }
    }
}

/// A program of ELEMENT_WISE_IDENTITY on 4 by 6 elements, without nodes.
fn empty() -> Program {
    let tensor = || TensorDesc::packed(DataType::Float32, &[4, 6]);
    let desc = operators::ElementWiseIdentityDesc {
        input_tensor: tensor(),
        output_tensor: tensor(),
        scale_bias: None,
    };
    Program::of(&validate(&desc.into(), FeatureLevel::HIGHEST).unwrap())
}

/// Records a copy of an input to the output, after `change`.
fn recorded(change: impl FnOnce(&mut IterationSpace)) -> Result<(), String> {
    let operand = |buffer| Operand::at(buffer, ElementWidth::B32, 0).packed(&[4, 6]);
    let mut space = IterationSpace {
        sizes: leading(&[4, 6], 1),
        inputs: vec![operand(Buffer::Input(0))],
        output: operand(Buffer::Output(0)),
    };
    change(&mut space);
    let computation = Computation::copy();
    let result = empty().record(Node::Map(Map { space, computation }));
    result.map_err(|error| error.to_string())
}

#[test]
fn a_view_that_leaves_its_buffer_is_refused() {
    const ROW: usize = DIMENSIONS - 2;
    assert_eq!(recorded(|_| ()), Ok(()));
    // Backwards, from the last row on.
    assert_eq!(recorded(|it| (it.inputs[0].base, it.inputs[0].strides[ROW]) = (18, -6)), Ok(()));
    let beyond = "elements 1 to 24 of 32 bits in input 0, which has 96 bytes";
    assert!(recorded(|it| it.inputs[0].base = 1).unwrap_err().contains(beyond));
    assert!(recorded(|it| it.inputs[0].strides[ROW] = -6).is_err());
    assert!(recorded(|it| it.output.strides[ROW] = 7).is_err());
    let displaced = |it: &mut IterationSpace| {
        it.inputs[0].displacement = Some(Displacement::new(Value::Input(0), 1));
    };
    assert!(recorded(displaced).is_err());
    let many = |it: &mut IterationSpace| it.inputs = vec![it.inputs[0].clone(); MAX_INPUTS + 1];
    assert!(recorded(many).unwrap_err().contains("inputs"));
}

#[test]
fn what_initialization_makes_is_made_by_a_map() {
    let mut program = empty();
    let (width, count, stage) = (ElementWidth::B32, 24, Stage::Initialization);
    let kept = program.declare(Content::Computed { width, count, stage });
    let operand = |buffer| Operand::at(buffer, width, 0).packed(&[4, 6]);
    let (sizes, inputs) = (leading(&[4, 6], 1), vec![operand(Buffer::Input(0))]);
    let space = IterationSpace { sizes, inputs, output: operand(kept) };
    assert!(program.record(Node::Move(space.clone())).is_err());
    let computation = Computation::copy();
    assert!(program.record(Node::Map(Map { space, computation })).is_ok());
}

fn softmax() -> Program {
    let tensor = || TensorDesc::packed(DataType::Float16, &[4, 1000]);
    let desc = operators::ActivationSoftmaxDesc { input_tensor: tensor(), output_tensor: tensor() };
    let validated = validate(&desc.into(), FeatureLevel::HIGHEST).unwrap();
    let capabilities = Capabilities::vulkan_minimum();
    let implementation = crate::implementation(&validated).unwrap();
    implementation.program(&validated, &target(&capabilities)).unwrap()
}

#[test]
fn a_program_can_be_read() {
    let text = "\
ACTIVATION_SOFTMAX
  input 0 = InputTensor FLOAT16 [4, 1000]
  output 0 = OutputTensor FLOAT16 [4, 1000]
  %0 = 4 elements of 32 bits
  %1 = 4 elements of 32 bits
  rows
    %0 by [1, 0] over [4, 1000] = reduce maximum of f16_to_f32 (input 0)
    %1 by [1, 0] over [4, 1000] = reduce sum_high sum_rest of_both of f16_to_f32 exp_below (input 0, %0 by [1, 0])
    output 0 over [4, 1000] = map f16_to_f32 softmax f32_to_f16 (input 0, %0 by [1, 0], %1 by [1, 0])
    16000 bytes, 32000 operations, 4000 invocations
";
    assert_eq!(softmax().to_string(), text);
}
