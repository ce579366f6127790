//! Costly functions of narrow elements are read from tables, which change no bit.

use dml_core::graph::GraphBuilder;
use dml_core::operators::{
    ActivationGeluDesc, ActivationSigmoidDesc, ActivationSoftmax1Desc,
    ElementWiseDequantizeLinearDesc, ElementWiseQuantizeLinearDesc,
};
use dml_core::plan::Plan;
use dml_core::{Capabilities, DataType, FeatureLevel, TensorDesc, Tuning, validate_graph};

use super::{kinds, lower_for, outputs_on_host, with_window};
use crate::graph::{GraphOptions, compile_graph};
use crate::{Target, TransferUse};

const HALVES: u32 = 1 << 16;

fn gelu(count: u32, capabilities: &Capabilities) -> Plan {
    let tensor = || TensorDesc::packed(DataType::Float16, &[count]);
    let desc = ActivationGeluDesc { input_tensor: tensor(), output_tensor: tensor() };
    let tuning = Tuning::new();
    lower_for(desc, &Target { capabilities, tuning, transfer: TransferUse::Allowed })
}

/// Whether a plan has constants of so many bytes beside records of sizes and strides.
fn has_table(plan: &Plan, bytes: usize) -> bool {
    (bytes..bytes + 4096).contains(&plan.constants.len())
}

#[test]
fn a_function_of_halves_is_a_table_with_the_same_bits() {
    let least = &Capabilities::vulkan_minimum();
    let [few, many] = [HALVES, 4 * HALVES].map(|count| gelu(count, least));
    assert!(!has_table(&few, 2 * HALVES as usize));
    assert!(has_table(&many, 2 * HALVES as usize), "{}", many.constants.len());
    assert_eq!(kinds(&many).len(), 1);
    let halves: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let inputs = [halves.clone(), halves.repeat(4)];
    let computed = outputs_on_host(&few, &inputs[..1], least);
    let read = outputs_on_host(&many, &inputs[1..], least);
    assert_eq!(computed[0].repeat(4), read[0]);
}

#[test]
fn what_no_descriptor_shows_is_no_table() {
    let plan = gelu(4 * HALVES, &with_window(2 * u64::from(HALVES) - 4, 4));
    assert!(!has_table(&plan, 2 * HALVES as usize));
}

/// Softmax of halves has functions of several elements, and stays one kernel for its rows.
#[test]
fn functions_of_several_elements_are_no_tables() {
    let tensor = || TensorDesc::packed(DataType::Float16, &[512, 512]);
    let desc =
        ActivationSoftmax1Desc { input_tensor: tensor(), output_tensor: tensor(), axes: vec![1] };
    let (capabilities, tuning) = (&Capabilities::vulkan_minimum(), Tuning::new());
    let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
    assert!(lower_for(desc, &target).constants.len() < 4096);
}

/// A sigmoid between a dequantization and a quantization, of `count` elements of UINT8.
fn quantized_sigmoid(count: u32, fuse: bool) -> Plan {
    let tensor = |data_type| TensorDesc::packed(data_type, &[1, 1, 1, count]);
    let one = |data_type| tensor(data_type).with_strides(&[0, 0, 0, 0]);
    let mut graph = GraphBuilder::new();
    let input = graph.input();
    let scales = [0.05_f32, 1.0 / 256.0].map(|it| graph.constant(it.to_le_bytes().to_vec()));
    let zero_point = graph.constant(vec![128, 0, 0, 0]);
    let dequantize = ElementWiseDequantizeLinearDesc {
        input_tensor: tensor(DataType::Uint8),
        scale_tensor: one(DataType::Float32),
        zero_point_tensor: Some(one(DataType::Uint8)),
        output_tensor: tensor(DataType::Float32),
    };
    let number = graph.operator(dequantize, &[input, scales[0], zero_point]);
    let sigmoid = ActivationSigmoidDesc {
        input_tensor: tensor(DataType::Float32),
        output_tensor: tensor(DataType::Float32),
    };
    let share = graph.operator(sigmoid, &[number]);
    let quantize = ElementWiseQuantizeLinearDesc {
        input_tensor: tensor(DataType::Float32),
        scale_tensor: one(DataType::Float32),
        zero_point_tensor: Some(one(DataType::Uint8)),
        output_tensor: tensor(DataType::Uint8),
    };
    let result = graph.operator(quantize, &[share, scales[1], zero_point]);
    graph.output(result);
    let graph = validate_graph(&graph.finish(), FeatureLevel::HIGHEST).unwrap();
    let (capabilities, tuning) = (&Capabilities::vulkan_minimum(), Tuning::new());
    let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
    let options = GraphOptions { fuse };
    compile_graph(&graph, &target, options).unwrap().0
}

#[test]
fn an_activation_of_quantized_elements_is_a_table() {
    let [fused, unfused] = [true, false].map(|fuse| quantized_sigmoid(1 << 12, fuse));
    // All three are too large for one kernel before it is known that two are a table.
    assert_eq!(kinds(&fused).len(), 2);
    assert_eq!(kinds(&unfused).len(), 3);
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(1 << 12).collect();
    let least = &Capabilities::vulkan_minimum();
    let [read, computed] =
        [fused, unfused].map(|it| outputs_on_host(&it, std::slice::from_ref(&bytes), least));
    assert_eq!(read, computed);
    let kernel = |plan: &Plan| format!("{:?}", plan.exec);
    assert!(!kernel(&quantized_sigmoid(1 << 12, true)).contains("sigmoid"));
    assert!(kernel(&quantized_sigmoid(1 << 8, true)).contains("sigmoid"));
}
