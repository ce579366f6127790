//! Threads that use one device: none waits for another one's host copy.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::{Mutex, PoisonError};

use common::device::on_every_device;
use common::onnx::{Graph, model, node, value};
use common::{f32s, tensors};
use dml_fault::HostCopies;
use dml_import::{Inputs, Model, Session};

/// Bytes of the output that is read back while others work.
const LARGE: u64 = 512 << 20;

/// Host copies are watched by one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// `y = a + b`, of a column and a row.
fn sums() -> Model {
    let graph = Graph {
        nodes: vec![node("Add", &["a", "b"], &["y"], &[])],
        initializers: vec![],
        inputs: vec![value("a", 1, &[None, Some(1)]), value("b", 1, &[Some(1), None])],
        outputs: vec![value("y", 1, &[])],
    };
    Model::from_bytes(model(17, graph)).unwrap()
}

/// 0, 1, 2, .. modulo 7.
fn ramp(count: u64) -> Vec<f32> {
    (0..count).map(|it| f32::from(u8::try_from(it % 7).unwrap())).collect()
}

fn inputs(rows: u64, columns: u64) -> Inputs {
    let a = f32s(&[rows, 1], &ramp(rows));
    Inputs::new().with_tensor("a", a).with_tensor("b", f32s(&[1, columns], &ramp(columns)))
}

/// Runs the model, and compares the output with sums of the host.
fn check(session: &Session, rows: u64, columns: u64) {
    let outputs = session.run(&inputs(rows, columns)).unwrap();
    // There are as many different rows as different numbers in a column.
    let row = ramp(columns);
    let sums = |a: f32| row.iter().flat_map(|b| (a + b).to_le_bytes()).collect();
    let different: Vec<Vec<u8>> = ramp(rows.min(7)).into_iter().map(sums).collect();
    let written = &tensors(&outputs)[0];
    let written = written.bytes();
    assert_eq!(written.len() as u64, rows * columns * 4);
    let mut rows_written = written.chunks(row.len() * 4).zip(different.iter().cycle());
    assert!(rows_written.all(|(written, sums)| written == sums), "{rows} x {columns}");
}

#[test]
fn submissions_complete_while_another_thread_reads_back_512_mib() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let copies = HostCopies::watched();
    on_every_device(|device| {
        let sessions = &[(); 2].map(|()| Session::new(device, sums()));
        let held = copies.hold_next(LARGE);
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| check(&sessions[0], LARGE / 4 / 8192, 8192));
            held.wait_until_begun();
            // Four threads and two sessions, the reading one included.
            let others = [0, 1, 1].map(|session| {
                scope.spawn(move || {
                    (0..20).for_each(|run| check(&sessions[session], 5 + run % 2, 3));
                })
            });
            others.into_iter().for_each(|other| other.join().unwrap());
            held.release();
            reading.join().unwrap();
        });
    });
}

#[test]
fn two_runs_of_one_program_overlap_and_more_wait_for_one_of_them() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let copies = HostCopies::watched();
    on_every_device(|device| {
        let session = &Session::new(device, sums());
        check(session, 64, 64);
        let one = session.memory_report().arenas;
        let held = copies.hold_next(64 * 64 * 4);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| check(session, 64, 64));
            held.wait_until_begun();
            let others =
                [(); 3].map(|()| scope.spawn(|| (0..5).for_each(|_| check(session, 64, 64))));
            others.into_iter().for_each(|other| other.join().unwrap());
            assert_eq!(session.memory_report().arenas, 2 * one);
            held.release();
            first.join().unwrap();
        });
        assert_eq!(session.compiled_count(), 1);
        assert_eq!(session.memory_report().arenas, 2 * one);
    });
}

#[test]
fn runs_take_turns_where_there_is_no_memory_for_two() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let copies = HostCopies::watched();
    on_every_device(|device| {
        let session = &Session::new(device, sums());
        check(session, 64, 64);
        let one = session.memory_report().arenas;
        let held = copies.hold_next(64 * 64 * 4);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| check(session, 64, 64));
            held.wait_until_begun();
            let before = copies.refused_buffers();
            copies.refuse_buffers(true);
            let second = scope.spawn(|| check(session, 64, 64));
            while copies.refused_buffers() == before {
                std::thread::yield_now();
            }
            held.release();
            first.join().unwrap();
            second.join().unwrap();
            copies.refuse_buffers(false);
        });
        assert_eq!(session.memory_report().arenas, one);
        check(session, 64, 64);
    });
}
