//! Whatever is dropped while work is recorded or in flight, the work is done, the bytes are right, and
//! nothing is left. Under the validation layer, which also sees what is destroyed too early.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::on_every_device;
use dml::core::{Strategy, Tuning};
use dml::vk::{BindingTable, Bindings, Recorder};
use dml::{Buffer, BufferBinding, CompiledOperator, DataType, Device, Submission, TensorDesc};

const ROWS: u32 = 13;
const COLUMNS: u32 = 29;
const GUARD: u32 = 256;
const GUARD_BYTES: usize = GUARD as usize;
const SENTINEL: u8 = 0xa5;

/// One of everything, with the output between guards.
struct Work {
    device: Device,
    operator: CompiledOperator,
    buffer: Buffer,
    table: BindingTable,
    diagonal: i32,
}

fn tensor() -> TensorDesc {
    TensorDesc::packed(DataType::Uint16, &[ROWS, COLUMNS])
}

impl Work {
    fn new(device: &Device, diagonal: i32) -> Self {
        let operator = device.compile(common::diagonal(&tensor(), diagonal, 513.0)).unwrap();
        let size = operator.output_size(0);
        let buffer = device.create_buffer(size + 2 * u64::from(GUARD)).unwrap();
        let before = vec![SENTINEL; usize::try_from(buffer.size()).unwrap()];
        device.vulkan().write_buffer(&buffer, 0, &before).unwrap();
        let temporary = operator.binding_properties().temporary_resource_size;
        let temporary = (temporary > 0).then(|| device.create_buffer(temporary).unwrap());
        let outputs = [Some(BufferBinding { buffer: &buffer, offset: u64::from(GUARD), size })];
        let temporary = temporary.as_ref().map(BufferBinding::whole);
        let bindings = Bindings { outputs: &outputs, temporary, ..Bindings::default() };
        let table = BindingTable::new(operator.vulkan(), &bindings).unwrap();
        Self { device: device.clone(), operator, buffer, table, diagonal }
    }

    fn record(&self) -> Recorder {
        let mut recorder = Recorder::new(self.device.vulkan()).unwrap();
        recorder.dispatch(&self.table).unwrap();
        recorder
    }

    fn submit(&self) -> Submission {
        self.device.vulkan().submit(self.record().finish().unwrap()).unwrap()
    }

    fn expected(&self) -> Vec<u8> {
        let element = |at: u32| {
            let (y, x) = ((at / COLUMNS).cast_signed(), (at % COLUMNS).cast_signed());
            if x - y == self.diagonal { 513_u16 } else { 0 }
        };
        let mut tensor: Vec<u8> =
            (0..ROWS * COLUMNS).flat_map(|at| element(at).to_le_bytes()).collect();
        // The rest of the last word is zeros or as before; 13 x 29 elements leave half a word.
        tensor.extend([0; 2]);
        let guard = [SENTINEL; GUARD_BYTES];
        [&guard[..], &tensor, &guard].concat()
    }
}

fn verify(device: &Device, buffer: &Buffer, expected: &[u8]) {
    let mut found = device.vulkan().read_buffer(buffer, 0..buffer.size()).unwrap();
    let rest = found.len() - GUARD_BYTES - 2;
    if found[rest..rest + 2] == [SENTINEL; 2] {
        found[rest..rest + 2].fill(0);
    }
    assert!(found == expected, "{found:?}");
}

/// Runs `test` with every strategy on every device; afterwards only pipelines are left.
fn each(test: impl Fn(&Device)) {
    on_every_device(|device| {
        let objects = device.vulkan().live_objects();
        let before = objects.count();
        for strategy in Strategy::ALL {
            test(&device.with_tuning(Tuning::new().with_strategy(strategy)));
        }
        device.vulkan().wait_idle().unwrap();
        assert!(objects.count() <= before + device.vulkan().pipeline_count());
        assert_eq!(device.vulkan().memory_report().allocated, 0);
    });
}

/// The six orders of three things.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[test]
fn what_is_in_flight_is_dropped_in_every_order() {
    each(|device| {
        for order in ORDERS {
            let work = Work::new(device, 2);
            let expected = work.expected();
            let ticket = work.submit();
            let kept = work.buffer.clone();
            let (mut operator, mut buffer, mut table) =
                (Some(work.operator), Some(work.buffer), Some(work.table));
            for which in order {
                match which {
                    0 => drop(operator.take()),
                    1 => drop(buffer.take()),
                    _ => drop(table.take()),
                }
            }
            drop(work.device);
            drop(ticket);
            verify(device, &kept, &expected);
        }
    });
}

#[test]
fn tickets_are_dropped_in_every_order() {
    each(|device| {
        for order in ORDERS {
            let works = [-3, 0, 5].map(|diagonal| Work::new(device, diagonal));
            let mut tickets = [0, 1, 2].map(|at: usize| Some(works[at].submit()));
            for which in order {
                drop(tickets[which].take());
                verify(device, &works[which].buffer, &works[which].expected());
            }
        }
    });
}

#[test]
fn recorders_are_dropped_mid_way_and_leave_no_trace() {
    each(|device| {
        let work = Work::new(device, 1);
        let untouched = vec![SENTINEL; usize::try_from(work.buffer.size()).unwrap()];
        for dispatches in 0..8 {
            let mut recorder = Recorder::new(device.vulkan()).unwrap();
            for _ in 0..dispatches {
                recorder.dispatch(&work.table).unwrap();
                recorder.barrier_all();
            }
            if dispatches % 2 == 0 {
                drop(recorder);
            } else {
                drop(recorder.finish().unwrap());
            }
            // Another recorder lives at the same time, and the next one may get the same memory.
            let kept = work.record();
            drop(work.record());
            drop(kept);
        }
        assert_eq!(
            device.vulkan().read_buffer(&work.buffer, 0..work.buffer.size()).unwrap(),
            untouched
        );
        work.submit().wait().unwrap();
        verify(device, &work.buffer, &work.expected());
    });
}

#[test]
fn the_same_work_gives_the_same_bytes_every_time() {
    each(|device| {
        let work = Work::new(device, -2);
        let expected = work.expected();
        for _ in 0..50 {
            work.submit().wait().unwrap();
            verify(device, &work.buffer, &expected);
        }
    });
}

#[test]
fn streams_of_many_threads_keep_to_their_guards() {
    each(|device| {
        std::thread::scope(|scope| {
            for thread in 0..6 {
                scope.spawn(move || {
                    let works: Vec<Work> =
                        (0..4).map(|at| Work::new(device, thread * 3 + at - 8)).collect();
                    for round in 0..5 {
                        let tickets: Vec<Submission> = works.iter().map(Work::submit).collect();
                        if round % 2 == 0 {
                            drop(works[0].record());
                        }
                        drop(tickets);
                        for work in &works {
                            verify(device, &work.buffer, &work.expected());
                        }
                    }
                });
            }
        });
    });
}
