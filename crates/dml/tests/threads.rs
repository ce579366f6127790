//! One device, used by many threads to compile, bind, record and submit at once. The validation layer's
//! thread-safety check, which is on by default, reports objects that two threads use without a lock.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{diagonal, on_every_device};
use dml::vk::{BindingTable, Bindings, Recorder};
use dml::{Buffer, BufferBinding, CompiledOperator, DataType, Device, TensorDesc};

const THREADS: u32 = 8;
const SUBMISSIONS: u32 = 20;
const DISPATCHES: u32 = 50;
/// Apart, so that the layer, which judges whole descriptors, sees no neighbours.
const STRIDE: u64 = 1024;

fn compile(device: &Device, sizes: &[u32], offset: i32, value: f32) -> CompiledOperator {
    let tensor = TensorDesc::packed(DataType::Int32, sizes);
    device.compile(diagonal(&tensor, offset, value)).unwrap()
}

fn bind(operator: &CompiledOperator, buffer: &Buffer, offset: u64) -> BindingTable {
    let outputs = [Some(BufferBinding { buffer, offset, size: operator.output_size(0) })];
    let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
    BindingTable::new(operator.vulkan(), &bindings).unwrap()
}

/// 1,000 dispatches in 20 submissions, each with a shape, an offset and a value of its own.
fn work(device: &Device, thread: u32) {
    let buffer = device.create_buffer(STRIDE * u64::from(DISPATCHES)).unwrap();
    for submission in 0..SUBMISSIONS {
        let rows = 2 + (thread + submission) % 7;
        let value = |dispatch: u32| thread * 10_000 + submission * 100 + dispatch;
        let mut recorder = Recorder::new(device.vulkan()).unwrap();
        for dispatch in 0..DISPATCHES {
            let offset = i32::try_from(dispatch % 3).unwrap() - 1;
            let operator = compile(device, &[rows, 9], offset, value(dispatch) as f32);
            let at = u64::from(dispatch) * STRIDE;
            recorder.dispatch(&bind(&operator, &buffer, at)).unwrap();
        }
        let ticket = device.vulkan().submit(recorder.finish().unwrap()).unwrap();
        ticket.wait().unwrap();
        let tensor = TensorDesc::packed(DataType::Int32, &[rows, 9]);
        for dispatch in 0..DISPATCHES {
            let at = u64::from(dispatch) * STRIDE;
            let found: Vec<i32> = device.read(&buffer, at, &tensor).unwrap();
            let offset = i64::from(dispatch % 3) - 1;
            let expected: Vec<i32> = (0..i64::from(rows) * 9)
                .map(|i| if i / 9 + offset == i % 9 { value(dispatch).cast_signed() } else { 0 })
                .collect();
            assert_eq!(found, expected, "thread {thread}, {submission}, {dispatch}");
        }
    }
}

#[test]
fn eight_threads_dispatch_a_thousand_times_each() {
    on_every_device(|device| {
        let live = device.vulkan().live_objects();
        let before = live.count();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || work(device, thread));
            }
        });
        // Only the few pipelines in the device's cache are left.
        let pipelines = live.count() - before;
        assert!(pipelines <= 8, "{pipelines} objects are left");
    });
}
