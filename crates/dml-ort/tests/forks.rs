//! A forked child has none of its parent's threads: a session fails there, and waits for none of them.
#![cfg(unix)]
#![allow(unsafe_code, reason = "a process is forked")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::c_int;
use std::sync::mpsc::channel;

use dml::{Device, FeatureLevel};
use dml_import::{ElementType, Executable, Inputs, IoBinding, Model, Session, Tensor};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn alarm(seconds: u32) -> u32;
    fn _exit(status: c_int) -> !;
}

/// Ends a child that hangs.
const SECONDS: u32 = 60;

/// A field of a message of ONNX, whose length is below 128.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

/// `y` = `x` + `x`, for one number.
fn doubled() -> Model {
    let value = |name: &[u8]| {
        let shape = field(2, &field(1, &[0x08, 1]));
        [field(1, name), field(2, &field(1, &[vec![0x08, 1], shape].concat()))].concat()
    };
    let node = [field(1, b"x"), field(1, b"x"), field(2, b"y"), field(4, b"Add")].concat();
    let graph = [field(1, &node), field(11, &value(b"x")), field(12, &value(b"y"))].concat();
    let model = [vec![0x08, 8], field(7, &graph), field(8, &[0x10, 17])].concat();
    Model::from_bytes(model).unwrap()
}

/// Whether every way to compile and to run says that the device is of another process.
fn fails(session: &Session, program: &Executable, inputs: &Inputs) -> bool {
    let errors = [
        session.executable(inputs).err(),
        session.run(inputs).err(),
        session.run_bound(&mut IoBinding::new(), inputs).err(),
        program.run(inputs).err(),
        program.run_bound(&mut IoBinding::new(), inputs).err(),
    ];
    let errors = errors.map(|error| error.map(|it| it.to_string()).unwrap_or_default());
    errors.iter().all(|error| error.contains("which this process was forked from"))
}

/// The child's exit status.
fn in_child(test: impl FnOnce() -> bool) -> c_int {
    // SAFETY: the child calls no more than `test`, and ends without returning.
    let child = unsafe { fork() };
    if child == 0 {
        // SAFETY: it only sets a timer.
        unsafe { alarm(SECONDS) };
        let is_right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        // SAFETY: it ends the process.
        unsafe { _exit(c_int::from(!matches!(is_right, Ok(true)))) }
    }
    let mut status = -1;
    // SAFETY: the child is this process's, and the place for its status is alive.
    let ended = unsafe { waitpid(child, &raw mut status, 0) };
    assert_eq!(ended, child);
    status
}

#[test]
fn a_forked_session_fails_and_waits_for_no_thread_of_its_parent() {
    let bytes = 1.5f32.to_le_bytes().to_vec();
    let tensor = Tensor::new(ElementType::FLOAT32, [1], bytes).unwrap();
    let inputs = Inputs::new().with_tensor("x", tensor);
    let device = Device::open(FeatureLevel::HIGHEST).unwrap();
    let session = Session::new(&device, doubled());
    session.run(&inputs).unwrap();
    let program = session.executable(&inputs).unwrap();
    assert_eq!(in_child(|| fails(&session, &program, &inputs)), 0);
    // The first thread is the one that compiles for this session, when the process is forked.
    let compiling = Session::new(&device, doubled());
    let (reached, is_reached) = channel();
    let (go_on, is_going_on) = channel::<()>();
    std::thread::scope(|scope| {
        let (compiling, inputs) = (&compiling, &inputs);
        let run = scope.spawn(move || {
            let mut waits = Some((reached, is_going_on));
            let waits = std::sync::Mutex::new(&mut waits);
            compiling.run_with_progress(inputs, &|_| {
                if let Some((reached, is_going_on)) = waits.lock().unwrap().take() {
                    reached.send(()).unwrap();
                    is_going_on.recv().unwrap();
                }
            })
        });
        is_reached.recv().unwrap();
        let status =
            in_child(|| compiling.run(inputs).is_err() && compiling.executable(inputs).is_err());
        go_on.send(()).unwrap();
        assert_eq!(status, 0);
        run.join().unwrap().unwrap();
    });
    session.run(&inputs).unwrap();
}
