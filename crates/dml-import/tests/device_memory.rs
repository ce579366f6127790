//! The device memory that sessions hold: weights once, and programs within a bound.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::{Arc, Barrier};

use bytes::Bytes;
use common::device::{on_every_device, on_every_device_under};
use common::images::{WEIGHT_BYTES, image, network};
use common::onnx::{Graph, floats, ints, model, node, value};
use common::{host, tensors};
use dml::core::capabilities::Limit;
use dml::{CapabilityCap, Device};
use dml_import::{Inputs, IoBinding, Model, Progress, Session, SessionMemory, Tensor};

fn opened(device: &Device) -> Session {
    Session::new(device, Model::from_bytes(network()).unwrap())
}

fn of_weights(memory: SessionMemory) -> u64 {
    memory.weights + memory.prepared + memory.packed
}

/// The outputs by the host's reference.
fn expected(session: &Session, inputs: &Inputs) -> Vec<Tensor> {
    tensors(&host::run(&session.model().bind(inputs).unwrap()))
}

#[test]
fn image_sizes_add_no_copy_of_weights() {
    on_every_device(|device| {
        let session = opened(device);
        let sizes = (0..16u64).map(|it| (6 + 2 * it, 5 + 3 * (it % 5)));
        let mut at_first = None;
        for (height, width) in sizes {
            let inputs = image(height, width);
            let outputs = tensors(&session.run(&inputs).unwrap());
            let held = of_weights(session.memory_report());
            assert_eq!(held, *at_first.get_or_insert(held), "{height} x {width}");
            if height < 12 {
                assert_eq!(outputs, expected(&session, &inputs), "{height} x {width}");
            }
        }
        assert_eq!(session.compiled_count(), 16);
        // Weights are held once: as in the file, or repacked. Small ones are constants of the programs.
        let held = at_first.unwrap();
        let once = WEIGHT_BYTES * 9 / 10..WEIGHT_BYTES * 11 / 10;
        assert!(once.contains(&held), "{held} of {WEIGHT_BYTES}");
    });
}

#[test]
fn sessions_of_one_file_hold_one_copy() {
    on_every_device(|device| {
        let before = device.vulkan().memory_report();
        let inputs = image(8, 8);
        let first = opened(device);
        let outputs = tensors(&first.run(&inputs).unwrap());
        let held = of_weights(first.memory_report());
        let allocated = device.vulkan().memory_report().allocated;
        let second = opened(device);
        assert_eq!(tensors(&second.run(&inputs).unwrap()), outputs);
        assert_eq!(of_weights(second.memory_report()), held);
        let more = device.vulkan().memory_report().allocated - allocated;
        assert!(more < WEIGHT_BYTES / 2, "{more} bytes more, of {WEIGHT_BYTES} of weights");
        // The second session keeps the weights.
        drop(first);
        assert_eq!(of_weights(second.memory_report()), held);
        assert_eq!(tensors(&second.run(&inputs).unwrap()), outputs);
        drop(second);
        let after = device.vulkan().memory_report();
        assert_eq!((after.buffers, after.allocated), (before.buffers, before.allocated));
    });
}

/// Models that differ in one weight alone share the others.
#[test]
fn weights_of_other_values_are_not_shared() {
    on_every_device(|device| {
        let first = opened(device);
        let mut bytes = network();
        // The last bytes of the last initializer: the matrix's last element.
        let at = bytes.windows(3).rposition(|it| it == b"\x42\x01m").unwrap();
        let end = at + 3 + 3 + 96 * 10 * 4 - 1;
        bytes[end] ^= 0x40;
        let inputs = image(7, 9);
        let second = Session::new(device, Model::from_bytes(bytes).unwrap());
        let outputs = tensors(&first.run(&inputs).unwrap());
        assert_eq!(outputs, expected(&first, &inputs));
        let others = tensors(&second.run(&inputs).unwrap());
        assert_eq!(others, expected(&second, &inputs));
        assert_ne!(others, outputs);
    });
}

/// Runs `inputs`; whether that compiled a program.
fn compiles(session: &Session, inputs: &Inputs) -> bool {
    let compiled = Cell::new(false);
    let tell = |progress| compiled.set(compiled.get() | (progress == Progress::Compiling));
    session.run_with_progress(inputs, &tell).unwrap();
    compiled.get()
}

#[test]
fn two_hundred_shapes_stay_below_the_bound() {
    const BOUND: u64 = 1 << 20;
    on_every_device(|device| {
        let capacity = NonZeroUsize::new(1000).unwrap();
        let session = opened(device).with_capacity(capacity).with_program_bytes(BOUND);
        let often = image(8, 8);
        assert!(compiles(&session, &often));
        assert!(!compiles(&session, &often));
        let weights = of_weights(session.memory_report());
        let mut most = 0;
        for index in 0..200u64 {
            let inputs = image(8 + index % 20, 9 + index / 20);
            let outputs = tensors(&session.run(&inputs).unwrap());
            if index % 67 == 0 {
                assert_eq!(outputs, expected(&session, &inputs));
            }
            let held = session.memory_report();
            assert!(held.programs + held.arenas <= BOUND, "{held}");
            assert_eq!(of_weights(held), weights, "{held}");
            most = most.max(held.program_count);
            // Programs that ran once are evicted first.
            if index % 16 == 0 {
                assert!(!compiles(&session, &often), "{index}");
            }
        }
        assert!((2..200).contains(&session.compiled_count()), "{}", session.compiled_count());
        assert!(most < 200, "{most}");
    });
}

/// Runs that follow each other use the same buffers, whatever their program.
#[test]
fn programs_use_one_arena_in_turn() {
    on_every_device(|device| {
        let session = opened(device);
        let sizes = [(24, 24), (8, 8), (24, 8), (12, 16)];
        let [first, ..] = sizes.map(|(height, width)| image(height, width));
        session.run(&first).unwrap();
        let arenas = session.memory_report().arenas;
        for (height, width) in sizes.into_iter().chain(sizes) {
            let inputs = image(height, width);
            assert_eq!(tensors(&session.run(&inputs).unwrap()), expected(&session, &inputs));
            assert_eq!(session.memory_report().arenas, arenas, "{height} x {width}");
        }
    });
}

/// A large input now and then keeps its memory; after runs of small ones alone it is free.
#[test]
fn memory_of_a_large_run_is_freed_when_only_small_ones_follow() {
    const SHORT_RUNS: usize = 8;
    on_every_device(|device| {
        let session = opened(device);
        let arenas = |inputs: &Inputs| {
            let outputs = tensors(&session.run(inputs).unwrap());
            (outputs, session.memory_report().arenas)
        };
        let (large, small) = (image(96, 96), image(8, 8));
        let (whole, most) = arenas(&large);
        let (part, _) = arenas(&small);
        for round in 1..SHORT_RUNS {
            assert_eq!(arenas(&large), (whole.clone(), most), "{round}");
            for _ in 0..round {
                assert_eq!(arenas(&small), (part.clone(), most), "{round}");
            }
        }
        assert_eq!(arenas(&large), (whole.clone(), most));
        for run in 1..=2 * SHORT_RUNS {
            let (outputs, bytes) = arenas(&small);
            assert_eq!(outputs, part);
            // Freed by the last of some short runs, and smaller from the next one on.
            assert_eq!([bytes == most, bytes == 0], [run < SHORT_RUNS, run == SHORT_RUNS], "{run}");
            assert!(run <= SHORT_RUNS || bytes < most / 2, "{run}: {bytes} of {most}");
        }
        let (outputs, bytes) = arenas(&large);
        assert!(outputs == whole && bytes >= most);
    });
}

/// Runs of other programs that happen at the same time have buffers of their own.
#[test]
fn runs_at_the_same_time_do_not_share_buffers() {
    on_every_device(|device| {
        let session = &opened(device);
        let images: Vec<Inputs> =
            [(6, 6), (16, 6), (6, 16), (16, 16)].map(|(h, w)| image(h, w)).into();
        let all: Vec<_> = images.iter().map(|image| (image, expected(session, image))).collect();
        let barrier = &Barrier::new(all.len());
        std::thread::scope(|scope| {
            for start in 0..all.len() {
                let all = &all;
                scope.spawn(move || {
                    barrier.wait();
                    for (inputs, outputs) in all.iter().cycle().skip(start).take(12) {
                        assert_eq!(tensors(&session.run(inputs).unwrap()), *outputs);
                    }
                });
            }
        });
    });
}

/// `y = (x · a) · (x · b) · (x · c)`, of square matrices.
fn three_products(size: i64) -> Vec<u8> {
    let weight = |name: &str, step: u16| {
        let values = (0..size * size)
            .map(|it| f32::from(u16::try_from(it * i64::from(step) % 11).unwrap()) / 8.0 - 0.5);
        floats(name, &[size, size], &values.collect::<Vec<f32>>())
    };
    let product = |inputs: [&str; 2], output: &str| node("MatMul", &inputs, &[output], &[]);
    let graph = Graph {
        nodes: vec![
            product(["x", "a"], "xa"),
            product(["x", "b"], "xb"),
            product(["x", "c"], "xc"),
            product(["xa", "xb"], "ab"),
            product(["ab", "xc"], "y"),
        ],
        initializers: vec![weight("a", 3), weight("b", 5), weight("c", 7)],
        inputs: vec![value("x", 1, &[None, Some(size)])],
        outputs: vec![value("y", 1, &[])],
    };
    model(17, graph)
}

/// The temporary tensors of a graph take several buffers where one would be too large.
#[test]
fn tensors_that_fit_run_where_all_together_do_not() {
    const SIZE: u64 = 96;
    // One matrix, and not two.
    const MOST: u64 = SIZE * SIZE * 4 * 3 / 2;
    let rows = (0..SIZE * SIZE).map(|it| f32::from(u8::try_from(it % 5).unwrap()) / 64.0);
    let x = common::f32s(&[SIZE, SIZE], &rows.collect::<Vec<f32>>());
    let inputs = Inputs::new().with_tensor("x", x);
    for limit in [Limit::MaxMemoryAllocationSize, Limit::MaxBufferSize] {
        let cap = CapabilityCap::NONE.with_limit(limit, MOST).unwrap();
        on_every_device_under(cap, |device| {
            let model = Model::from_bytes(three_products(SIZE.cast_signed())).unwrap();
            let session = Session::new(device, model);
            let outputs = tensors(&session.run(&inputs).unwrap());
            assert_eq!(outputs, expected(&session, &inputs));
            assert_eq!(tensors(&session.run(&inputs).unwrap()), outputs);
            // No buffer is larger than the limit, and all results are in more than one.
            let temporary: u64 = session.memory_report().arenas;
            assert!(temporary > MOST, "{temporary}");
        });
    }
}

/// A convolution with a margin, whose padded input is larger than every tensor.
fn padded() -> Vec<u8> {
    let values: Vec<f32> = (0..4 * 8 * 3 * 3).map(|it| (it % 13) as f32 / 16.0 - 0.5).collect();
    let pads = ints("pads", &[1; 4]);
    let graph = Graph {
        nodes: vec![
            node("Relu", &["x"], &["r"], &[]),
            node("Conv", &["r", "w"], &["c"], &[]).message(5, pads),
            node("Abs", &["c"], &["y"], &[]),
        ],
        initializers: vec![floats("w", &[4, 8, 3, 3], &values)],
        inputs: vec![value("x", 1, &[Some(1), Some(8), Some(40), Some(40)])],
        outputs: vec![value("y", 1, &[])],
    };
    model(17, graph)
}

/// A copy of a tensor takes several buffers where one would be too large, as the input of a convolution with a margin.
/// A refusal names the tensor that is too large, and not the memory that it would have been in.
#[test]
fn a_model_runs_where_its_largest_tensor_fits() {
    const LARGEST: u64 = 8 * 40 * 40 * 4;
    let values: Vec<f32> = (0..LARGEST / 4).map(|it| (it % 17) as f32 / 8.0 - 1.0).collect();
    let inputs = Inputs::new().with_tensor("x", common::f32s(&[1, 8, 40, 40], &values));
    let cap = |most| CapabilityCap::NONE.with_limit(Limit::MaxMemoryAllocationSize, most).unwrap();
    let session = |device: &Device| Session::new(device, Model::from_bytes(padded()).unwrap());
    on_every_device_under(cap(LARGEST), |device| {
        let session = session(device);
        let found = tensors(&session.run(&inputs).unwrap());
        assert_eq!(found, expected(&session, &inputs));
    });
    on_every_device_under(cap(LARGEST - 256), |device| {
        let error = session(device).run(&inputs).unwrap_err().to_string();
        // The input and two results are as large: the first is named.
        let expected = "input 'x' float32 [1, 8, 40, 40] needs 51,200 bytes";
        assert!(error.starts_with(expected), "{error}");
    });
}

/// Large weights are read from the model's file when they are uploaded, and not from another one.
#[test]
fn large_weights_are_read_from_the_file_again() {
    const SIZE: i64 = 512;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let values: Vec<f32> = (0..SIZE * SIZE).map(|it| (it % 13) as f32 / 16.0).collect();
    let graph = Graph {
        nodes: vec![node("Add", &["x", "w"], &["y"], &[])],
        initializers: vec![floats("w", &[SIZE, SIZE], &values)],
        inputs: vec![value("x", 1, &[None])],
        outputs: vec![value("y", 1, &[])],
    };
    let bytes = model(17, graph);
    let inputs = Inputs::new().with_tensor("x", common::f32s(&[1], &[2.0]));
    on_every_device(|device| {
        std::fs::write(&path, &bytes).unwrap();
        let session = Session::new(device, Model::read(&path).unwrap());
        let sums: Vec<f32> = values.iter().map(|value| value + 2.0).collect();
        let size = SIZE.cast_unsigned();
        assert_eq!(tensors(&session.run(&inputs).unwrap()), [common::f32s(&[size, size], &sums)]);
        drop(session);
        let session = Session::new(device, Model::read(&path).unwrap());
        std::fs::write(&path, b"another file").unwrap();
        let error = session.run(&inputs).unwrap_err().to_string();
        assert!(error.contains("was written since the model was read"), "{error}");
    });
}

/// The buffers that a session frees are freed, although a binding has run with them.
#[test]
fn an_idle_binding_holds_no_buffer_of_the_session() {
    on_every_device(|device| {
        for capacity in [1, 16] {
            let session = opened(device).with_capacity(NonZeroUsize::new(capacity).unwrap());
            let mut binding = IoBinding::new().with_output("y");
            session.run_bound(&mut binding, &image(6, 6)).unwrap();
            let output = binding.output("y").unwrap().clone();
            // The program is evicted, or its buffers are replaced by larger ones.
            session.run(&image(24, 24)).unwrap();
            let with = device.vulkan().memory_report();
            drop(binding);
            let without = device.vulkan().memory_report();
            assert_eq!((with.buffers, with.allocated), (without.buffers, without.allocated));
            drop(output);
            assert!(device.vulkan().memory_report().buffers < without.buffers);
        }
    });
}

/// A model's file in host memory, which tells when it is freed.
struct HostCopy {
    bytes: Vec<u8>,
    _alive: Arc<()>,
}

impl AsRef<[u8]> for HostCopy {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[test]
fn weights_on_the_host_are_freed_with_their_session() {
    on_every_device(|device| {
        let model = Model::from_bytes(three_products(8)).unwrap();
        let other = Session::new(device, model);
        let x = common::f32s(&[8, 8], &[0.5; 64]);
        other.run(&Inputs::new().with_tensor("x", x)).unwrap();
        let alive = Arc::new(());
        let copy = HostCopy { bytes: network(), _alive: Arc::clone(&alive) };
        let session = Session::new(device, Model::from_bytes(Bytes::from_owner(copy)).unwrap());
        session.run(&image(8, 8)).unwrap();
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(session);
        assert_eq!(Arc::strong_count(&alive), 1);
        drop(other);
    });
}

#[test]
fn a_trimmed_session_holds_nothing_and_runs_again() {
    on_every_device(|device| {
        device.vulkan().trim();
        let before = device.vulkan().memory_report();
        let session = opened(device);
        let outputs = tensors(&session.run(&image(8, 8)).unwrap());
        let made = device.vulkan().pipeline_count();
        session.trim();
        assert_eq!(session.compiled_count(), 0);
        let held = session.memory_report();
        assert_eq!((of_weights(held), held.arenas, held.programs), (0, 0, 0), "{held}");
        let after = device.vulkan().memory_report();
        assert_eq!((after.buffers, after.allocated), (before.buffers, before.allocated));
        // Pipelines were freed: they are made once more. Those of a program that is kept are not.
        assert_eq!(tensors(&session.run(&image(8, 8)).unwrap()), outputs);
        let again = device.vulkan().pipeline_count();
        assert!(again > made, "{again} of {made}");
        device.vulkan().trim();
        assert_eq!(tensors(&session.run(&image(8, 8)).unwrap()), outputs);
        assert_eq!(device.vulkan().pipeline_count(), again);
    });
}
