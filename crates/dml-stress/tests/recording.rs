//! Recording compiled operators and graphs allocates nothing, in place as well, and a graph may be in flight
//! twice.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]
#![allow(unsafe_code, reason = "a counting allocator")]

#[path = "../../dml-vk/tests/common/caller.rs"]
#[allow(dead_code, unreachable_pub, reason = "a module of several test crates")]
mod caller;
mod common;
#[path = "../../dml-vk/tests/common/counting.rs"]
mod counting;

use caller::each_caller;
use common::{OFFSET, buffer, each_device, part};
use counting::allocations;
use dml::vk::{BindingTable, Bindings, Buffer, DeviceDesc, EntryPoints, Recorder};
use dml::{
    AbstractOperator, BufferBinding, CapabilityCap, CastDesc, CompiledOperator, DataType, Device,
    DeviceOptions, ElementWiseAddDesc, ExecutionFlags, GraphBuilder, GraphOptions, TensorDesc,
};
use dml_fault::Caller;

/// Elements of every tensor: in a single row they take two dispatches, whole quads and the rest.
const SIZES: [u32; 2] = [59, 71];
const ELEMENTS: usize = 59 * 71;

fn add(data_type: DataType, b_strides: [u32; 2]) -> AbstractOperator {
    let whole = TensorDesc::packed(data_type, &SIZES);
    let b_tensor = whole.clone().with_strides(&b_strides);
    ElementWiseAddDesc { a_tensor: whole.clone(), b_tensor, output_tensor: whole }.into()
}

fn cast(from: DataType, to: DataType) -> AbstractOperator {
    let [input_tensor, output_tensor] = [from, to].map(|it| TensorDesc::packed(it, &SIZES));
    CastDesc { input_tensor, output_tensor }.into()
}

/// The tables of an operator with these inputs, one for each output.
fn tables(
    device: &Device,
    operator: AbstractOperator,
    inputs: &[&Buffer],
    outputs: &[&Buffer],
) -> Vec<BindingTable> {
    let compiled = device.compile(operator).unwrap();
    let bind = |inputs: &[&Buffer], output: &Buffer| {
        let inputs: Vec<_> = inputs.iter().map(|input| part(input)).collect();
        let bindings =
            Bindings { inputs: &inputs, outputs: &[part(output)], ..Bindings::default() };
        BindingTable::new(compiled.vulkan(), &bindings).unwrap()
    };
    outputs.iter().map(|output| bind(inputs, output)).collect()
}

#[test]
fn recording_element_wise_operators_allocates_nothing() {
    each_device(|vulkan| {
        let options = DeviceOptions { cap: Some(CapabilityCap::NONE), ..DeviceOptions::default() };
        let device = Device::from_vulkan(vulkan.clone(), &options).unwrap();
        let floats = |value: f32| buffer(vulkan, &value.to_le_bytes().repeat(ELEMENTS));
        let [a, b, c] = [1.0, 2.0, 4.0].map(floats);
        let (whole, repeated) = ([71, 1], [0, 1]);
        let other = buffer(vulkan, &vec![0; 4 * ELEMENTS]);
        // Sums apart, in place of either input and of both, of a repeated row, of bytes, and casts.
        let all = [
            tables(&device, add(DataType::Float32, whole), &[&a, &b], &[&c, &a, &b]),
            tables(&device, add(DataType::Float32, whole), &[&c, &c], &[&c]),
            tables(&device, add(DataType::Float32, repeated), &[&a, &b], &[&other, &a]),
            tables(&device, add(DataType::Int8, whole), &[&other, &other], &[&other]),
            tables(&device, cast(DataType::Float32, DataType::Float16), &[&c], &[&other]),
            tables(&device, cast(DataType::Float16, DataType::Int8), &[&other], &[&b]),
        ]
        .concat();
        let mut recorder = Recorder::new(vulkan).unwrap();
        recorder.reserve(all.len()).unwrap();
        let before = allocations();
        for table in &all {
            recorder.dispatch(table).unwrap();
            // The next one reads or writes the same buffers.
            recorder.barrier_all();
        }
        assert_eq!(allocations(), before, "recording allocates");
        vulkan.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
        // 1 + 2, doubled in place.
        let found = vulkan.read_buffer(&c, OFFSET..c.size()).unwrap();
        assert_eq!(found, 6.0_f32.to_le_bytes().repeat(ELEMENTS));
    });
}

const LENGTH: u32 = 1000;

/// `x + y + y + ..`, each sum a step of its own.
fn sums(device: &Device, count: usize) -> CompiledOperator {
    let tensor = || TensorDesc::packed(DataType::Float32, &[LENGTH]);
    let mut graph = GraphBuilder::new();
    let [mut sum, y] = [graph.input(), graph.input()];
    for _ in 0..count {
        let (a_tensor, b_tensor, output_tensor) = (tensor(), tensor(), tensor());
        sum = graph.operator(ElementWiseAddDesc { a_tensor, b_tensor, output_tensor }, &[sum, y]);
    }
    graph.output(sum);
    let options = GraphOptions { fuse: false };
    device.compile_graph_with(&graph.finish(), ExecutionFlags::NONE, options).unwrap()
}

/// Inputs, output and temporary resource of one execution, in buffers of a caller's.
struct Work {
    table: BindingTable,
    output: Buffer,
}

impl Work {
    /// The sums of `count` times `x`.
    fn new(caller: &Caller, device: &Device, graph: &CompiledOperator, x: f32) -> Self {
        let vulkan = device.vulkan();
        let buffer = |size| caller.wrapped_buffer(vulkan, size).unwrap();
        let filled = || {
            let buffer = buffer(graph.input_size(0));
            let bytes = x.to_le_bytes().repeat(LENGTH as usize);
            vulkan.write_buffer(&buffer, 0, &bytes).unwrap();
            buffer
        };
        let (inputs, output) = ([filled(), filled()], buffer(graph.output_size(0)));
        let temporary = buffer(graph.binding_properties().temporary_resource_size);
        let whole = |it| Some(BufferBinding::whole(it));
        let bindings = Bindings {
            inputs: &inputs.each_ref().map(whole),
            outputs: &[whole(&output)],
            temporary: &[BufferBinding::whole(&temporary)],
            persistent: &[],
        };
        let table = BindingTable::new(graph.vulkan(), &bindings).unwrap();
        Self { table, output }
    }
}

#[test]
fn a_graph_is_in_flight_twice_in_a_callers_command_buffers() {
    const SUMS: u16 = 100;
    each_caller(|caller| {
        let vulkan = caller.wrap(EntryPoints::default(), true, &DeviceDesc::default()).unwrap();
        let device = Device::from_vulkan(vulkan, &DeviceOptions::default()).unwrap();
        let graph = sums(&device, usize::from(SUMS));
        let values = [1.0, 2.0, 4.0];
        let works = values.map(|x| Work::new(caller, &device, &graph, x));
        let mut recorder = Recorder::new(device.vulkan()).unwrap();
        recorder.reserve(1).unwrap();
        let before = allocations();
        recorder.dispatch(&works[0].table).unwrap();
        assert_eq!(allocations(), before, "recording allocates");
        drop(recorder);
        // Two of them in one command buffer, and one in another, all submitted before any begins.
        let [a, b, c] = works.each_ref().map(|it| &it.table);
        caller.run_at_once(&[&[a, b], &[c]]).unwrap();
        for (work, x) in works.iter().zip(values) {
            let bytes = caller.bytes(work.output.raw(), 0..u64::from(LENGTH) * 4).unwrap();
            let sum = (f32::from(SUMS) + 1.0) * x;
            assert_eq!(bytes, sum.to_le_bytes().repeat(LENGTH as usize), "{x}");
        }
    });
}
