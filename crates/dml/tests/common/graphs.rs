//! Graphs that are executed on devices.

use dml::core::{Capabilities, Strategy, Tuning, validate_graph};
use dml::{
    Buffer, BufferBinding, CompiledOperator, Device, ExecutionFlags, GraphDesc, GraphOptions,
};
use dml_ops::graph::every_way::lowered;
use dml_reference::Random;
use dml_reference::graphs::{input_bytes, node_by_node, output_elements};

use super::on_every_device;

/// A buffer with these bytes.
pub(crate) fn buffer(device: &Device, bytes: &[u8]) -> Buffer {
    let buffer = device.create_buffer(bytes.len() as u64).unwrap();
    device.vulkan().write_buffer(&buffer, 0, bytes).unwrap();
    buffer
}

/// The bytes that an execution writes to new outputs.
pub(crate) fn run(
    device: &Device,
    graph: &CompiledOperator,
    inputs: &[Option<Vec<u8>>],
) -> Vec<Vec<u8>> {
    let inputs: Vec<Option<Buffer>> =
        inputs.iter().map(|input| input.as_ref().map(|bytes| buffer(device, bytes))).collect();
    let outputs = 0..graph.vulkan().outputs().len();
    let outputs: Vec<Buffer> =
        outputs.map(|at| device.create_buffer(graph.output_size(at)).unwrap()).collect();
    let inputs: Vec<_> =
        inputs.iter().map(|input| input.as_ref().map(BufferBinding::whole)).collect();
    let bound: Vec<_> = outputs.iter().map(|output| Some(BufferBinding::whole(output))).collect();
    device.execute(graph, &inputs, &bound).unwrap();
    outputs
        .iter()
        .map(|output| device.vulkan().read_buffer(output, 0..output.size()).unwrap())
        .collect()
}

/// A compiled graph.
pub(crate) fn compiled(
    device: &Device,
    graph: &GraphDesc,
    options: GraphOptions,
) -> CompiledOperator {
    device.compile_graph_with(graph, ExecutionFlags::NONE, options).unwrap()
}

/// Checks that every device gives what the operators of each graph, with its name, give one by one.
pub(crate) fn check(graphs: impl Iterator<Item = (String, GraphDesc)>) {
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
            for strategy in [Strategy::Kernel, Strategy::RowGroups, Strategy::FewRows] {
                let device = device.with_tuning(Tuning::new().with_strategy(strategy));
                let compiled = compiled(&device, graph, GraphOptions::default());
                let found = output_elements(valid, &run(&device, &compiled, inputs), true);
                assert_eq!(&found, expected, "{name} {strategy:?}");
            }
        }
    });
}
