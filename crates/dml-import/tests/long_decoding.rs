//! Four threads decode with one session, and each step and each prompt has a shape that is new.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(unsafe_code, reason = "a counting allocator")]

mod common;
#[path = "../../dml-vk/tests/common/counting.rs"]
mod counting;

use std::ops::Range;
use std::sync::Barrier;

use common::device::on_every_device;
use common::llama::Llama;
use common::{data, f32s};
use counting::live_bytes;
use dml::Device;
use dml_import::program::Output;
use dml_import::{DeviceTensor, Inputs, IoBinding, Model, Session, Tensor};

const THREADS: usize = 4;
const STEPS: usize = 200;
/// Steps between two looks at the memory.
const PART: usize = 50;

const DECODER: Llama = Llama { layers: 2, positions: 256 };

/// The answers of ONNX Runtime's CPU provider; `tests/data/decoding/record.py` writes it.
struct Answers {
    /// The token after a prompt of 1, 2, .. tokens.
    prompts: Vec<i64>,
    /// The tokens of each thread: the one after its prompt, and the one after each step.
    sequences: Vec<Vec<i64>>,
}

fn answers() -> Answers {
    let text = std::fs::read_to_string(data("decoding/tokens.txt")).unwrap();
    let numbers =
        |line: &str| line.split_whitespace().map(|it| it.parse().unwrap()).collect::<Vec<i64>>();
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).map(numbers);
    let prompts = lines.next().unwrap();
    Answers { prompts, sequences: lines.collect() }
}

fn prompt(length: usize) -> Vec<i64> {
    (0..length).map(|it| ((it * it + 5 * it + 3 * length) % 64).try_into().unwrap()).collect()
}

/// The prompt that a thread decodes after.
fn first_prompt(thread: usize) -> Vec<i64> {
    prompt(7 + 9 * thread)
}

/// The most likely token after the last one.
fn next(outputs: &[Output]) -> i64 {
    let [logits] = outputs else { panic!("{outputs:?}") };
    let bytes = logits.tensor.bytes();
    let last = bytes.chunks_exact(4).map(|it| f32::from_le_bytes(it.try_into().unwrap()));
    let last: Vec<f32> = last.skip(bytes.len() / 4 - 64).collect();
    let best = (0..64).max_by(|a, b| last[*a].total_cmp(&last[*b])).unwrap();
    best.try_into().unwrap()
}

/// Reads a prompt, and leaves its caches on the device.
fn read(session: &Session, tokens: &[i64]) -> (i64, IoBinding) {
    let empty: Tensor = f32s(&[1, 2, 0, 8], &[]);
    let mut inputs: Inputs = DECODER.tokens(0, tokens);
    let mut caches = IoBinding::new();
    for [past, present] in DECODER.caches() {
        inputs = inputs.with_tensor(past, empty.clone());
        caches = caches.with_output(present);
    }
    let token = next(&session.run_bound(&mut caches, &inputs).unwrap());
    (token, states_of(|_, present| caches.output(present).unwrap().clone()))
}

/// Caches that begin with the tensors that `first` has for the names of their inputs and outputs.
fn states_of(first: impl Fn(&str, &str) -> DeviceTensor) -> IoBinding {
    DECODER.caches().fold(IoBinding::new(), |states, [past, present]| {
        let first = first(&past, &present);
        states.with_state(present, past, first)
    })
}

/// Memory that is in use while no thread works.
#[derive(Clone, Copy, Debug)]
struct Held {
    buffers: usize,
    device: u64,
    host: usize,
}

/// The device, the session, the recorded answers and the barrier that the threads share.
struct Shared<'a> {
    device: &'a Device,
    session: &'a Session,
    answers: &'a Answers,
    together: &'a Barrier,
}

impl Shared<'_> {
    /// The memory that is in use while no thread works.
    fn held(&self) -> Held {
        self.together.wait();
        let report = self.device.vulkan().memory_report();
        let (buffers, device) = (report.buffers, report.allocated);
        let held = Held { buffers, device, host: live_bytes() };
        self.together.wait();
        held
    }

    /// Decodes a part of the steps of a thread, and reads its prompts meanwhile.
    fn decode(&self, thread: usize, steps: Range<usize>, states: &mut IoBinding) -> Held {
        let first = first_prompt(thread).len();
        let tokens = &self.answers.sequences[thread];
        for step in steps {
            let inputs = DECODER.tokens((first + step) as u64, &[tokens[step]]);
            let found = next(&self.session.run_bound(states, &inputs).unwrap());
            assert_eq!(found, tokens[step + 1], "thread {thread}, step {step}");
            if step % THREADS == thread {
                let (found, _) = read(self.session, &prompt(step + 1));
                assert_eq!(found, self.answers.prompts[step], "prompt of {}", step + 1);
            }
        }
        self.held()
    }

    /// The memory after each part of the steps, and after the last part once more.
    fn decode_all(&self, thread: usize) -> Vec<Held> {
        let (token, mut states) = read(self.session, &first_prompt(thread));
        assert_eq!(token, self.answers.sequences[thread][0], "thread {thread}");
        let mut held = Vec::new();
        let last = STEPS - PART;
        for begin in (0..last).step_by(PART) {
            held.push(self.decode(thread, begin..begin + PART, &mut states));
        }
        let mut again = states_of(|past, _| states.input(past).unwrap().clone());
        held.push(self.decode(thread, last..STEPS, &mut states));
        // With its recordings.
        drop(states);
        held.push(self.decode(thread, last..STEPS, &mut again));
        held
    }
}

#[test]
fn new_shapes_of_four_threads_give_the_tokens_of_onnx_runtime_in_constant_memory() {
    if let Some(path) = std::env::var_os("DML_WRITE_DECODER") {
        return std::fs::write(path, DECODER.model()).unwrap();
    }
    let answers = &answers();
    assert_eq!(answers.prompts.len(), STEPS);
    assert_eq!(answers.sequences.iter().map(Vec::len).collect::<Vec<_>>(), [STEPS + 1; THREADS]);
    on_every_device(|device| {
        let session = &Session::new(device, Model::from_bytes(DECODER.model()).unwrap());
        let shared = &Shared { device, session, answers, together: &Barrier::new(THREADS) };
        let held = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS).map(|thread| scope.spawn(move || shared.decode_all(thread))).collect();
            threads.into_iter().map(|it| it.join().unwrap()).next().unwrap()
        });
        assert_eq!(session.compiled_count(), 16);
        let [first, .., last, again] = held[..] else { panic!("{held:?}") };
        // A part has 250 shapes. Of each of the 16 programs that are kept, the threads have their own caches.
        assert!(held.iter().all(|it| it.buffers < 16 * 8 * THREADS), "{held:?}");
        assert!(held.iter().all(|it| it.host < 2 * first.host), "{held:?}");
        // Tensors grow with the caches; the same shapes again need no more.
        assert!(again.device < last.device + last.device / 2, "{held:?}");
    });
}
