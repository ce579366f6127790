//! Worker processes, and their communication with the program that starts them.
//!
//! The worker reads lines, and ends when its standard input does. It answers with JSON text sequences (RFC
//! 7464): a record separator, JSON, a line feed. Output of a driver in between is therefore harmless.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// RFC 7464's record separator.
const SEPARATOR: char = '\u{1e}';

/// The number of last lines of a worker's standard error that are shown with a crash.
const KEPT_LINES: usize = 8;

/// The longest time that a driver may take to start.
const START_TIME: Duration = Duration::from_secs(120);

/// The longest time that a worker may take to close its device.
const CLOSE_TIME: Duration = Duration::from_secs(10);

/// The longest time that a worker may go on after its standard input has ended.
const GRACE: Duration = Duration::from_secs(5);

/// The program that is started as a worker, with the argument `worker`.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The program; `None` for this one.
    pub program: Option<PathBuf>,
    /// Environment variables to set, or to remove.
    pub environment: Vec<(&'static str, Option<OsString>)>,
}

/// A running worker, which answers with `R`.
#[derive(Debug)]
pub struct Worker<R> {
    child: Child,
    input: ChildStdin,
    replies: Receiver<Result<R, Refusal>>,
    errors: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<JoinHandle<()>>,
}

/// A message from a worker, or its end.
#[derive(Debug)]
pub enum Event<R> {
    /// An answer.
    Reply(R),
    /// The child cannot do the work.
    Refused(Refusal),
    /// The child has ended, or has violated the protocol.
    Ended,
    /// There was no answer in time.
    TimedOut,
}

/// The reason why a worker could not do its work.
#[derive(Clone, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The exit code for the program.
    pub code: u8,
    /// The message.
    pub message: String,
}

impl Launch {
    /// Starts a worker with `request`, and waits for its first answer, from which `expected` takes the result.
    ///
    /// # Errors
    /// The program cannot be started, has ended or is not ready in time, refuses the request, or gives
    /// another answer.
    pub fn open<R, T>(
        &self,
        request: &impl Serialize,
        expected: impl FnOnce(R) -> Option<T>,
    ) -> anyhow::Result<(Worker<R>, T)>
    where
        R: DeserializeOwned + Send + 'static,
    {
        let worker = self.start(request)?;
        match worker.next(Instant::now() + START_TIME) {
            Event::Reply(reply) => match expected(reply) {
                Some(answer) => return Ok((worker, answer)),
                None => worker.stop(),
            },
            Event::Refused(refusal) => {
                worker.stop();
                return Err(refusal.into());
            }
            Event::Ended => {
                let how = worker.autopsy();
                anyhow::bail!("a worker process ended before it was ready: {how}")
            }
            Event::TimedOut => {
                let printed = worker.stop();
                anyhow::bail!("a worker process was not ready in time; {printed}")
            }
        };
        anyhow::bail!("a worker process gave an answer to another question")
    }

    fn start<R>(&self, request: &impl Serialize) -> anyhow::Result<Worker<R>>
    where
        R: DeserializeOwned + Send + 'static,
    {
        let mut child = self
            .command()?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a worker process")?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            anyhow::bail!("a worker process has no pipes");
        };
        let kept = Arc::default();
        let (sender, replies) = mpsc::channel();
        let other = Arc::clone(&kept);
        let answers = std::thread::spawn(move || {
            each_line(output, |line| {
                let (printed, reply) = receive(line);
                if !printed.is_empty() {
                    keep(&other, printed);
                }
                reply.is_none_or(|reply| sender.send(reply).is_ok())
            });
        });
        let kept_too = Arc::clone(&kept);
        let errors = std::thread::spawn(move || {
            each_line(errors, |line| {
                keep(&kept_too, line);
                true
            });
        });
        let mut worker =
            Worker { child, input, replies, errors: kept, readers: vec![answers, errors] };
        // If the worker has already ended, the code that waits for its answer notices.
        let _ = worker.write(&serde_json::to_string(request)?);
        Ok(worker)
    }

    fn command(&self) -> anyhow::Result<Command> {
        let mut command = match &self.program {
            Some(program) => Command::new(program),
            None => this_program()?,
        };
        command.arg("worker");
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Ok(command)
    }
}

/// On Linux this link works even if the file was replaced or deleted, as happens when a build runs during its
/// own tests.
fn this_program() -> anyhow::Result<Command> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("/proc/self/exe");
        command.arg0(std::env::args_os().next().unwrap_or_default());
        Ok(command)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let path = std::env::current_exe().context("cannot find this program's own file")?;
        Ok(Command::new(path))
    }
}

impl<R> Worker<R> {
    /// Writes lines for the worker. If it has ended, the code that waits for its answers notices.
    pub fn send(&mut self, lines: &str) {
        let _ = self.write(lines);
    }

    fn write(&mut self, lines: &str) -> io::Result<()> {
        self.input.write_all(lines.as_bytes())?;
        self.input.write_all(b"\n")?;
        self.input.flush()
    }

    /// Waits for the next event, until `deadline`.
    pub fn next(&self, deadline: Instant) -> Event<R> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.replies.recv_timeout(left) {
            Ok(Ok(reply)) => Event::Reply(reply),
            Ok(Err(refusal)) => Event::Refused(refusal),
            Err(RecvTimeoutError::Timeout) => Event::TimedOut,
            Err(RecvTimeoutError::Disconnected) => Event::Ended,
        }
    }

    /// Waits for a worker that has closed its output, and returns how it ended.
    pub fn autopsy(mut self) -> String {
        // It has closed its output, but may not have ended yet.
        let mut status = self.child.try_wait();
        for _ in 0..100 {
            if !matches!(status, Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            status = self.child.try_wait();
        }
        let ended = match status {
            Ok(Some(status)) => status.to_string(),
            Ok(None) => "it closed its output and went on".to_owned(),
            Err(error) => error.to_string(),
        };
        let errors = self.stop();
        if errors.is_empty() { ended } else { format!("{ended}; {errors}") }
    }

    /// Kills it. Returns the last lines that it had printed.
    pub fn stop(mut self) -> String {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        Vec::from(errors.clone()).join(" | ")
    }

    /// Lets it end by itself.
    pub fn finish(self) {
        let Self { mut child, input, replies, .. } = self;
        drop(input);
        let deadline = Instant::now() + CLOSE_TIME;
        loop {
            match replies.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = child.kill();
                    break;
                }
            }
        }
        let _ = child.wait();
    }
}

/// Runs a worker until standard input ends: `work` gets the request and the lines after it. If it fails, its
/// error is the last answer, with the exit code that `code` gives for it.
///
/// # Errors
/// Standard input has no request, which only the command `starter` writes, or standard output is closed.
pub fn serve<Q: DeserializeOwned>(
    starter: &str,
    work: impl FnOnce(Q, &Receiver<String>) -> anyhow::Result<()>,
    code: impl FnOnce(&anyhow::Error) -> u8,
) -> anyhow::Result<()> {
    let lines = lines();
    let request =
        lines.recv().with_context(|| format!("there is no request; `{starter}` starts workers"))?;
    let request = serde_json::from_str(&request)
        .with_context(|| format!("a worker is started by `{starter}` only"))?;
    work(request, &lines).or_else(|error| {
        let refusal = Refusal { code: code(&error), message: format!("{error:#}") };
        Ok(reply::<()>(&mut dml_file::stdout(), Err(&refusal))?)
    })
}

/// Writes an answer for the program that has started this process. Standard output is not kept locked in between.
///
/// # Errors
/// Standard output is closed.
pub fn answer(answer: &impl Serialize) -> anyhow::Result<()> {
    Ok(reply(&mut dml_file::stdout(), Ok(answer))?)
}

/// The lines of standard input as they arrive. When it ends the process ends too, even if it hangs: the
/// program that has started it has ended, or needs no more answers.
fn lines() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                return;
            }
        }
        drop(sender);
        std::thread::sleep(GRACE);
        std::process::exit(1);
    });
    receiver
}

pub(crate) fn reply<R: Serialize>(
    output: &mut dyn Write,
    reply: Result<&R, &Refusal>,
) -> io::Result<()> {
    let json = serde_json::to_string(&reply)?;
    writeln!(output, "{SEPARATOR}{json}")?;
    output.flush()
}

/// Splits a worker's line into the output of other code and the reply.
pub(crate) fn receive<R: DeserializeOwned>(line: &str) -> (&str, Option<R>) {
    match line.rsplit_once(SEPARATOR) {
        Some((other, json)) => match serde_json::from_str(json) {
            Ok(reply) => (other, Some(reply)),
            Err(_) => (line, None),
        },
        None => (line, None),
    }
}

/// Calls `work` with every line until it returns false. Invalid UTF-8, which drivers print, is replaced.
fn each_line(source: impl Read, mut work: impl FnMut(&str) -> bool) {
    let mut source = BufReader::new(source);
    let mut line = Vec::new();
    loop {
        line.clear();
        match source.read_until(b'\n', &mut line) {
            Ok(1..) if work(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])) => {}
            _ => return,
        }
    }
}

fn keep(lines: &Mutex<VecDeque<String>>, line: &str) {
    log::info!("worker: {line}");
    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() == KEPT_LINES {
        lines.pop_front();
    }
    lines.push_back(line.to_owned());
}
