//! Times of recording and compiling on the host. Tests show that recording allocates nothing.

use std::time::{Duration, Instant};

use anyhow::Result;
use dml::core::operators::ElementWiseAddDesc;
use dml::vk::{BindingTable, Bindings, Recorder};
use dml::{
    BufferBinding, CompiledOperator, DataType, Device, ExecutionFlags, GraphBuilder, GraphDesc,
    GraphOptions, TensorDesc,
};
use dml_reference::Random;
use dml_reference::graphs::random_graph;

use crate::band::Band;
use crate::report::HostCost;
use crate::stats::Summary;

/// The number of operators in one command buffer, and in one graph.
const OPERATORS: u32 = 1000;
/// The target for recording one operator.
const RECORDING: Duration = Duration::from_micros(1);
/// The target for compiling one graph, without its pipelines.
const COMPILING: Duration = Duration::from_millis(100);

/// Records operators of two sizes, and graphs; the command buffers are not submitted.
///
/// # Errors
/// The device failed.
pub(crate) fn recording(device: &Device, rounds: usize) -> Result<Vec<HostCost>> {
    let small = device.compile(Band::eye(DataType::Float32, &[3, 3]).operator())?;
    let large = device.compile(Band::eye(DataType::Float32, &[1024, 1024]).operator())?;
    let options = GraphOptions { fuse: false };
    let graph = device.compile_graph_with(&sums(), ExecutionFlags::NONE, options)?;
    let steps = u32::try_from(graph.vulkan().plan().exec.len())?;
    let all = [
        ("recording one operator, 3x3", small, 1),
        ("recording one operator, 1024x1024", large, 1),
        ("recording one of 1000 steps of a graph", graph, steps),
    ];
    let one = |(name, compiled, steps): (&'static str, CompiledOperator, u32)| {
        let table = bound(device, &compiled)?;
        let rounds = (0..rounds).map(|_| record(device, &table, OPERATORS / steps, steps));
        let times = rounds.collect::<Result<Vec<_>>>()?;
        Ok(HostCost { name, time: Summary::of(&times), target: RECORDING.as_secs_f64() })
    };
    all.into_iter().map(one).collect()
}

/// A binding table with its own buffers.
fn bound(device: &Device, compiled: &CompiledOperator) -> Result<BindingTable> {
    let buffers = |sizes: Vec<u64>| {
        sizes.into_iter().map(|size| device.create_buffer(size)).collect::<dml::Result<Vec<_>>>()
    };
    let sizes = |count: usize, size: fn(&CompiledOperator, usize) -> u64| {
        (0..count).map(|at| size(compiled, at)).filter(|it| *it > 0).collect::<Vec<_>>()
    };
    let inputs = compiled.vulkan().inputs().iter().flatten().count();
    let inputs = buffers(sizes(inputs, CompiledOperator::input_size))?;
    let outputs = buffers(sizes(1, CompiledOperator::output_size))?;
    let size = compiled.binding_properties().temporary_resource_size;
    let temporary = buffers(if size > 0 { vec![size] } else { vec![] })?;
    let whole = |it| Some(BufferBinding::whole(it));
    let bindings = Bindings {
        inputs: &inputs.iter().map(whole).collect::<Vec<_>>(),
        outputs: &outputs.iter().map(whole).collect::<Vec<_>>(),
        temporary: &temporary.iter().map(BufferBinding::whole).collect::<Vec<_>>(),
        persistent: &[],
    };
    Ok(BindingTable::new(compiled.vulkan(), &bindings)?)
}

/// The time of one of `steps` steps of a table that is recorded `count` times.
fn record(device: &Device, table: &BindingTable, count: u32, steps: u32) -> Result<Duration> {
    let mut recorder = Recorder::new(device.vulkan())?;
    recorder.reserve(OPERATORS as usize + 1)?;
    // The first command makes the driver set up its command buffer.
    recorder.dispatch(table)?;
    let count = count.max(1);
    let start = Instant::now();
    for _ in 0..count {
        recorder.dispatch(table)?;
    }
    Ok(start.elapsed() / (count * steps))
}

/// Compiles graphs again and again, with pipelines in the cache.
///
/// # Errors
/// The device failed.
pub(crate) fn compiling(device: &Device, rounds: usize) -> Result<Vec<HostCost>> {
    let all = [
        ("compiling a chain of 1000 sums", sums()),
        (
            "compiling a random graph of 1000 nodes",
            random_graph(&mut Random::new("bench"), OPERATORS),
        ),
    ];
    let one = |(name, graph): (&'static str, GraphDesc)| {
        device.compile_graph(&graph)?;
        let round = |_| {
            let start = Instant::now();
            device.compile_graph(&graph)?;
            Ok(start.elapsed())
        };
        let times = (0..rounds).map(round).collect::<dml::Result<Vec<_>>>()?;
        Ok(HostCost { name, time: Summary::of(&times), target: COMPILING.as_secs_f64() })
    };
    all.into_iter().map(one).collect()
}

/// `x + y + y + ..`
fn sums() -> GraphDesc {
    let tensor = || TensorDesc::packed(DataType::Float32, &[64]);
    let mut graph = GraphBuilder::new();
    let [mut sum, y] = [graph.input(), graph.input()];
    for _ in 0..OPERATORS {
        let (a_tensor, b_tensor, output_tensor) = (tensor(), tensor(), tensor());
        sum = graph.operator(ElementWiseAddDesc { a_tensor, b_tensor, output_tensor }, &[sum, y]);
    }
    graph.output(sum);
    graph.finish()
}
