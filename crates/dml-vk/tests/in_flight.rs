//! Objects may be dropped while work is recorded or in flight: the work is done, the results are right, and no
//! object is left. Under the validation layer, which also reports objects that are destroyed too early.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{copy, every_kind_of_step, plan, sum, words_of_every_kind_of_step};
use common::{buffer, compile, each_device, part, words};
use dml_core::plan::{Plan, Slot};
use dml_vk::{BindingTable, Bindings, Buffer, CompiledOperator, Device, Recorder, Submission};

const OUT: Slot = Slot::Output(0);
const GUARD: u32 = 0xa5a5_a5a5;

/// An operator with all objects that it needs, and guards around its output.
struct Work {
    device: Device,
    compiled: CompiledOperator,
    buffer: Buffer,
    table: BindingTable,
}

impl Work {
    fn new(device: &Device) -> Self {
        let copy = copy((OUT, 0), (Slot::Temporary, 0), 512);
        let twice = sum((OUT, 0..512), (Slot::Temporary, 0..512));
        let one_more = sum((OUT, 0..512), (Slot::Constants, 0..512));
        let compiled = compile(
            device,
            Plan {
                temporary_size: 512,
                constants: [1, 0, 0, 0].repeat(128),
                ..plan(512, [every_kind_of_step(), vec![copy, twice, one_more]].concat())
            },
        );
        let (buffer, temporary) = (buffer(device, 1024), buffer(device, 512));
        device.write_buffer(&buffer, 0, &GUARD.to_le_bytes().repeat(256)).unwrap();
        let (outputs, temporary) = ([part(&buffer, 256, 512)], part(&temporary, 0, 512));
        let temporary = temporary.as_slice();
        let bindings = Bindings { outputs: &outputs, temporary, ..Bindings::default() };
        let table = BindingTable::new(&compiled, &bindings).unwrap();
        Self { device: device.clone(), compiled, buffer, table }
    }

    fn record(&self) -> Recorder {
        let mut recorder = Recorder::new(&self.device).unwrap();
        recorder.dispatch(&self.table).unwrap();
        recorder
    }

    fn submit(&self) -> Submission {
        self.device.submit(self.record().finish().unwrap()).unwrap()
    }
}

fn verify(device: &Device, buffer: &Buffer) {
    let output = words_of_every_kind_of_step().into_iter().map(|word| 2 * word + 1);
    let expected: Vec<u32> = [GUARD; 64].into_iter().chain(output).chain([GUARD; 64]).collect();
    assert_eq!(words(&device.read_buffer(buffer, 0..1024).unwrap()), expected);
}

/// Runs `test` on every device, twice. Pipelines and their layouts are kept for reuse: the second run leaves
/// no further objects.
fn each(test: impl Fn(&Device)) {
    each_device(|device| {
        let objects = device.live_objects();
        let left = [(); 2].map(|()| {
            test(device);
            device.wait_idle().unwrap();
            assert_eq!(device.memory_report().allocated, 0);
            objects.count()
        });
        assert!(left[0] == left[1] && left[0] < 16, "{left:?}");
    });
}

/// The six orders of three things.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[test]
fn what_is_in_flight_is_dropped_in_every_order() {
    each(|device| {
        for order in ORDERS {
            let work = Work::new(device);
            let (ticket, kept) = (work.submit(), work.buffer.clone());
            let (mut compiled, mut buffer, mut table) =
                (Some(work.compiled), Some(work.buffer), Some(work.table));
            for which in order {
                match which {
                    0 => drop(compiled.take()),
                    1 => drop(buffer.take()),
                    _ => drop(table.take()),
                }
            }
            drop(work.device);
            drop(ticket);
            verify(device, &kept);
        }
    });
}

#[test]
fn tickets_are_dropped_in_every_order() {
    each(|device| {
        for order in ORDERS {
            let works = [(); 3].map(|()| Work::new(device));
            let mut tickets = works.each_ref().map(|work| Some(work.submit()));
            for which in order {
                drop(tickets[which].take());
                verify(device, &works[which].buffer);
            }
        }
    });
}

#[test]
fn recorders_are_dropped_mid_way_and_leave_no_trace() {
    each(|device| {
        let work = Work::new(device);
        for dispatches in 0..8 {
            let mut recorder = Recorder::new(device).unwrap();
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
        let untouched = device.read_buffer(&work.buffer, 0..1024).unwrap();
        assert_eq!(words(&untouched), [GUARD; 256]);
        work.submit().wait().unwrap();
        verify(device, &work.buffer);
    });
}

/// Equal work gives equal bytes every time, whatever other threads do.
#[test]
fn streams_of_many_threads_keep_to_their_guards() {
    each(|device| {
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let works = [(); 4].map(|()| Work::new(device));
                    for round in 0..15 {
                        let tickets = works.each_ref().map(Work::submit);
                        if round % 2 == 0 {
                            drop(works[0].record());
                        }
                        drop(tickets);
                        works.iter().for_each(|work| verify(device, &work.buffer));
                    }
                });
            }
        });
    });
}
