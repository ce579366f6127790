//! A vector times a matrix in one dispatch: the kernel reads a quantized matrix as it is stored, and adds the bias; with
//! an invocation for each row, and with work groups.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::on_every_device;
use dml::core::{Capabilities, Strategy, Tuning, validate_graph};
use dml::{
    ActivationReluDesc, Buffer, BufferBinding, DataType, DequantizeDesc, Device,
    ElementWiseAddDesc, ExecutionFlags, GemmDesc, GraphBuilder, GraphDesc, GraphOptions,
    MatrixTransform, QuantizationType, TensorDesc,
};
use dml_ops::graph::every_way::lowered;
use dml_reference::Random;
use dml_reference::graphs::{input_bytes, node_by_node, output_elements};

/// A vector times the transposed matrix of `columns` rows, which have a scale and a zero point for each block of elements.
fn product(integer: DataType, [depth, columns, block]: [u32; 3]) -> GraphDesc {
    let single =
        |sizes: [u32; 2]| TensorDesc::packed(DataType::Float32, &[1, 1, sizes[0], sizes[1]]);
    let integers = |sizes: [u32; 2]| TensorDesc::packed(integer, &[1, 1, sizes[0], sizes[1]]);
    let (matrix, blocks) = ([columns, depth], [columns, depth / block]);
    let mut graph = GraphBuilder::new();
    let [vector, numbers, scales, zeros] = std::array::from_fn(|_| graph.input());
    let factor = DequantizeDesc {
        input_tensor: integers(matrix),
        quantization_type: QuantizationType::ScaleZeroPoint,
        quantization_tensors: vec![single(blocks), integers(blocks)],
        output_tensor: single(matrix),
    };
    let factor = graph.operator(factor, &[numbers, scales, zeros]);
    let product = GemmDesc {
        a_tensor: single([1, depth]),
        b_tensor: single(matrix),
        c_tensor: None,
        output_tensor: single([1, columns]),
        trans_a: MatrixTransform::None,
        trans_b: MatrixTransform::Transpose,
        alpha: 1.0,
        beta: 0.0,
        fused_activation: None,
    };
    let result = graph.operator(product, &[vector, factor]);
    graph.output(result);
    graph.finish()
}

fn buffer(device: &Device, bytes: &[u8]) -> Buffer {
    let buffer = device.create_buffer(bytes.len() as u64).unwrap();
    device.vulkan().write_buffer(&buffer, 0, bytes).unwrap();
    buffer
}

/// The bytes of the result.
fn run(device: &Device, graph: &GraphDesc, inputs: &[Option<Vec<u8>>]) -> Vec<u8> {
    let options = GraphOptions { fuse: true, share_memory: true };
    let compiled = device.compile_graph_with(graph, ExecutionFlags::NONE, options).unwrap();
    let inputs: Vec<Option<Buffer>> =
        inputs.iter().map(|it| it.as_ref().map(|bytes| buffer(device, bytes))).collect();
    let output = device.create_buffer(compiled.output_size(0)).unwrap();
    let inputs: Vec<_> = inputs.iter().map(|it| it.as_ref().map(BufferBinding::whole)).collect();
    device.execute(&compiled, &inputs, &[Some(BufferBinding::whole(&output))]).unwrap();
    device.vulkan().read_buffer(&output, 0..output.size()).unwrap()
}

/// Checks that every device gives what the operators of each graph, with its name, give one by one.
fn check(graphs: impl Iterator<Item = (String, GraphDesc)>) {
    let least = Capabilities::vulkan_minimum();
    let with_results = graphs.map(|(name, graph)| {
        let valid = validate_graph(&graph, dml::FeatureLevel::HIGHEST).unwrap();
        // No subnormal numbers, because devices may treat them differently.
        let found = (0..100).find_map(|seed| {
            let inputs = input_bytes(&valid, &mut Random::new(&format!("{name} {seed}")));
            let (outputs, has_subnormals) = node_by_node(&valid, &inputs, &least, lowered).unwrap();
            (!has_subnormals).then(|| (inputs, output_elements(&valid, &outputs, true)))
        });
        let (inputs, expected) = found.expect("random numbers without a subnormal one");
        (name, graph, valid, inputs, expected)
    });
    let with_results: Vec<_> = with_results.collect();
    on_every_device(|device| {
        for (name, graph, valid, inputs, expected) in &with_results {
            for strategy in [Strategy::Kernel, Strategy::RowGroups] {
                let device = device.with_tuning(Tuning::new().with_strategy(strategy));
                let found = output_elements(valid, &[run(&device, graph, inputs)], true);
                assert_eq!(&found, expected, "{name} {strategy:?}");
            }
        }
    });
}

#[test]
fn integers_with_a_scale_for_each_block_are_multiplied_as_they_are_stored() {
    let integers = [DataType::Uint4, DataType::Int4, DataType::Uint8, DataType::Int8];
    let sizes = [[96, 5, 32], [80, 3, 16], [130, 4, 130], [1024, 6, 128], [4096, 2, 32]];
    let all = integers.into_iter().flat_map(|integer| sizes.map(|sizes| (integer, sizes)));
    check(all.map(|(integer, sizes)| (format!("{integer:?} {sizes:?}"), product(integer, sizes))));
}

/// The positive ones of a vector times a matrix and a bias, plus another vector.
fn sum(data_type: DataType, [depth, columns]: [u32; 2], trans_b: MatrixTransform) -> GraphDesc {
    let tensor = |sizes: [u32; 2]| TensorDesc::packed(data_type, &[1, 1, sizes[0], sizes[1]]);
    let of_result = || tensor([1, columns]);
    let is_transposed = trans_b == MatrixTransform::Transpose;
    let mut graph = GraphBuilder::new();
    let [vector, matrix, bias, other] = std::array::from_fn(|_| graph.input());
    let desc = GemmDesc {
        a_tensor: tensor([1, depth]),
        b_tensor: tensor(if is_transposed { [columns, depth] } else { [depth, columns] }),
        c_tensor: Some(of_result()),
        output_tensor: of_result(),
        trans_a: MatrixTransform::None,
        trans_b,
        alpha: 0.5,
        beta: 3.0,
        fused_activation: None,
    };
    let result = graph.operator(desc, &[vector, matrix, bias]);
    let desc = ActivationReluDesc { input_tensor: of_result(), output_tensor: of_result() };
    let result = graph.operator(desc, &[result]);
    let [a_tensor, b_tensor, output_tensor] = std::array::from_fn(|_| of_result());
    let desc = ElementWiseAddDesc { a_tensor, b_tensor, output_tensor };
    let result = graph.operator(desc, &[result, other]);
    graph.output(result);
    graph.finish()
}

#[test]
fn what_is_added_to_a_product_is_added_by_its_kernel() {
    use MatrixTransform::{None, Transpose};
    let mut graphs = vec![];
    for data_type in [DataType::Float32, DataType::Float16] {
        for sizes in [[64, 8], [130, 5], [300, 12], [9000, 3]] {
            for trans_b in [None, Transpose] {
                let name = format!("{data_type:?} {sizes:?} {trans_b:?}");
                graphs.push((name, sum(data_type, sizes, trans_b)));
            }
        }
    }
    check(graphs.into_iter());
}
