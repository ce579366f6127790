//! Devices that are given little work at one time: more dispatches, more batches, the same bytes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::RefCell;

use common::{on_every_device_as, options};
use dml::core::plan::Step;
use dml::{
    ActivationSoftmax1Desc, Buffer, BufferBinding, CompiledOperator, DataType, Device,
    DeviceOptions, ElementWiseAddDesc, GemmDesc, GraphBuilder, GraphDesc, MatrixTransform,
    TensorDesc, WorkBound,
};
use dml_reference::{Random, descriptors};

/// Rows and columns of all matrices.
const SIDE: u32 = 256;

fn matrix() -> TensorDesc {
    TensorDesc::packed(DataType::Float32, &[1, 1, SIDE, SIDE])
}

fn gemm(trans_b: MatrixTransform) -> GemmDesc {
    descriptors::gemm([matrix(), matrix(), matrix()], trans_b)
}

/// `softmax(x yT) z + x`.
fn attention() -> GraphDesc {
    let mut graph = GraphBuilder::new();
    let [x, y, z] = std::array::from_fn(|_| graph.input());
    let scores = graph.operator(gemm(MatrixTransform::Transpose), &[x, y]);
    let softmax =
        ActivationSoftmax1Desc { input_tensor: matrix(), output_tensor: matrix(), axes: vec![3] };
    let shares = graph.operator(softmax, &[scores]);
    let found = graph.operator(gemm(MatrixTransform::None), &[shares, z]);
    let [a_tensor, b_tensor, output_tensor] = std::array::from_fn(|_| matrix());
    let sum = graph.operator(ElementWiseAddDesc { a_tensor, b_tensor, output_tensor }, &[found, x]);
    graph.output(sum);
    graph.finish()
}

fn buffer(device: &Device, random: &mut Random) -> Buffer {
    let numbers = (0..SIDE * SIDE).map(|_| (random.word() % 257) as f32 / 128.0 - 1.0);
    let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    let buffer = device.create_buffer(bytes.len() as u64).unwrap();
    device.vulkan().write_buffer(&buffer, 0, &bytes).unwrap();
    buffer
}

/// The results of a run of the graph.
#[derive(Debug)]
struct Run {
    bytes: Vec<u8>,
    steps: usize,
    dispatches: usize,
    /// Values that the timeline goes on by: one for each batch.
    batches: u64,
}

fn run(device: &Device) -> Run {
    let compiled: CompiledOperator = device.compile_graph(&attention()).unwrap();
    let mut random = Random::new("work bound");
    let inputs = [(); 3].map(|()| buffer(device, &mut random));
    let output = device.create_buffer(compiled.output_size(0)).unwrap();
    let inputs = inputs.each_ref().map(|it| Some(BufferBinding::whole(it)));
    let outputs = [Some(BufferBinding::whole(&output))];
    let submitted = || {
        let submission = device.submit(&compiled, &inputs, &outputs).unwrap();
        submission.wait().unwrap();
        submission.timeline_value()
    };
    let before = submitted();
    let batches = submitted() - before;
    let steps = &compiled.vulkan().plan().exec;
    Run {
        bytes: device.vulkan().read_buffer(&output, 0..output.size()).unwrap(),
        steps: steps.len(),
        dispatches: steps.iter().filter(|step| matches!(step, Step::Dispatch(_))).count(),
        batches,
    }
}

/// One after the other, on every device.
fn runs(work_bound: WorkBound) -> Vec<Run> {
    let all = RefCell::new(vec![]);
    let bounded = DeviceOptions { work_bound: Some(work_bound), ..options() };
    on_every_device_as(&bounded, |device| {
        assert_eq!(device.tuning().dispatch_bound, work_bound.dispatch);
        all.borrow_mut().push(run(device));
    });
    all.into_inner()
}

#[test]
fn a_lower_bound_gives_more_dispatches_and_batches_and_the_same_bytes() {
    let whole = runs(WorkBound::NONE);
    assert!(!whole.is_empty() && whole.iter().all(|it| it.batches == 1));
    assert!(whole[0].bytes.iter().any(|byte| *byte != 0));
    // 67 million operations: a 64th of them, and each work group by itself.
    let [some, every] = [1 << 20, 1].map(|bound| runs(WorkBound::of_dispatch(bound)));
    for ((whole, some), every) in whole.iter().zip(&some).zip(&every) {
        let dispatches = [whole, some, every].map(|it| it.dispatches);
        assert!(dispatches.is_sorted_by(|one, next| one < next), "{dispatches:?}");
        // No step is as little as a batch may be.
        assert_eq!(every.batches, every.steps as u64);
        assert!(1 < some.batches && some.batches < every.batches, "{}", some.batches);
        assert!(some.bytes == whole.bytes && every.bytes == whole.bytes, "{dispatches:?}");
    }
}
