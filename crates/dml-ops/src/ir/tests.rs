//! What programs say.

use dml_core::{Capabilities, DataType, FeatureLevel, TensorDesc, Tuning, operators, validate};
use dml_reference::{Case, Signature};

use crate::graph::Fusible;
use crate::tests::{reference, with_window};
use crate::{OPERATORS, Operator, Program, Target, TransferUse};

const MOST_CASES: usize = 40;

/// Cases of an operator, evenly so many.
fn cases(operator: &Operator) -> Vec<dml_core::Validated> {
    let accepted =
        |it: &Signature| validate(&reference(operator).minimal(it), FeatureLevel::HIGHEST).is_ok();
    let signatures = Signature::all(operator.schema()).filter(accepted);
    let cases: Vec<_> = signatures.flat_map(|it| reference(operator).chosen_cases(&it)).collect();
    let step = cases.len().div_ceil(MOST_CASES).max(1);
    let valid = |case: &Case| validate(&case.operator, FeatureLevel::HIGHEST).unwrap();
    cases.iter().step_by(step).map(valid).collect()
}

fn target(capabilities: &Capabilities) -> Target<'_> {
    Target { capabilities, tuning: Tuning::new(), transfer: TransferUse::Allowed }
}

/// Those that ask what a descriptor shows.
const DEPENDENT: [&str; 17] = [
    "AVERAGE_POOLING",
    "LP_POOLING",
    "MAX_POOLING",
    "GATHER",
    "LOCAL_RESPONSE_NORMALIZATION",
    "MAX_POOLING1",
    "MAX_UNPOOLING",
    "SCATTER_ELEMENTS",
    "GATHER_ELEMENTS",
    "GATHER_ND",
    "MAX_POOLING2",
    "GATHER_ND1",
    "LP_POOLING1",
    "AVERAGE_POOLING1",
    "QUANTIZED_LINEAR_AVERAGE_POOLING",
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

/// That each node states what it costs.
#[test]
fn every_node_has_bytes_operations_and_invocations() {
    let capabilities = Capabilities::vulkan_minimum();
    for operator in OPERATORS.iter().copied() {
        for validated in cases(operator) {
            let program = operator.program(&validated, &target(&capabilities)).unwrap();
            for node in &program.nodes {
                let cost = node.cost();
                assert!(cost.work.bytes > 0 && cost.invocations > 0, "{program}");
            }
        }
    }
}

/// Which operators a graph can fuse with what reads them, and which of them by their last node alone.
#[test]
fn what_can_be_fused_is_seen_in_programs() {
    let capabilities = Capabilities::vulkan_minimum();
    let (mut whole, mut last) = (vec![], vec![]);
    for operator in OPERATORS.iter().copied() {
        let programs = cases(operator).into_iter();
        let programs = programs.map(|it| operator.program(&it, &target(&capabilities)).unwrap());
        let all: Vec<_> = programs.map(|it| Fusible::of(&it).unwrap()).collect();
        let name = operator.schema().name;
        if all.iter().flatten().any(|it| it.before.is_none()) {
            whole.push(name);
        }
        if all.iter().flatten().any(|it| it.before.is_some()) {
            last.push(name);
        }
    }
    whole.retain(|it| !it.starts_with("ELEMENT_WISE_") && !it.starts_with("ACTIVATION_"));
    let others = ["CAST", "UPSAMPLE_2D", "RESAMPLE", "RESAMPLE1", "RESAMPLE2"];
    let others =
        [&others[..], &["MEAN_VARIANCE_NORMALIZATION2", "QUANTIZE", "DEQUANTIZE", "RESAMPLE3"]];
    assert_eq!(whole, others.concat());
    let products = [
        "CONVOLUTION",
        "GEMM",
        "QUANTIZED_LINEAR_MATRIX_MULTIPLY",
        "QUANTIZED_LINEAR_CONVOLUTION",
        "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
    ];
    assert!(products.iter().all(|it| last.contains(it)), "{last:?}");
    assert!(!last.contains(&"TOP_K") && !last.contains(&"ACTIVATION_SOFTMAX"), "{last:?}");
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
  %0 by [1, 0] over [4, 1000] = reduce maximum of f16_to_f32 (input 0)
    8016 bytes, 8000 operations, 4 invocations
  %1 = 4 elements of 32 bits
  %1 by [1, 0] over [4, 1000] = reduce sum_high sum_rest of_both of f16_to_f32 exp_below (input 0, %0 by [1, 0])
    8032 bytes, 12000 operations, 4 invocations
  output 0 over [4, 1000] = map f16_to_f32 softmax f32_to_f16 (input 0, %0 by [1, 0], %1 by [1, 0])
    16032 bytes, 12000 operations, 4000 invocations
";
    assert_eq!(softmax().to_string(), text);
}
