//! One worker process, seen from the runner.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::cases::CaseId;
use crate::protocol::{Reply, Request, receive};

/// The last lines of a worker's standard error that a crash is shown with.
const KEPT_LINES: usize = 8;

/// How to start workers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launch {
    /// Variables of the environment to set.
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

/// A running worker.
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    replies: Receiver<Reply>,
    errors: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<JoinHandle<()>>,
}

/// What came from a worker.
pub(crate) enum Event {
    Reply(Reply),
    /// It has ended, or does not follow the protocol.
    Ended,
    /// Nothing came in time.
    TimedOut,
}

impl Launch {
    /// Starts a worker and tells it what to do.
    pub(crate) fn start(&self, request: &Request) -> anyhow::Result<Worker> {
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
        // A worker that is gone already is noticed by whoever waits for its answer.
        let _ = worker.write(&serde_json::to_string(request)?);
        Ok(worker)
    }

    fn command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(executable()?);
        command.arg("worker").envs(self.environment.iter().map(|(key, value)| (key, value)));
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::process::CommandExt as _;
            command.arg0(env!("CARGO_PKG_NAME"));
        }
        Ok(command)
    }
}

/// This program. On Linux the link still works where the file was replaced or deleted, as a build
/// does while its own tests run.
fn executable() -> anyhow::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe().context("cannot find this program's own file")
}

impl Worker {
    /// Names cases to run. A worker that is gone is noticed by whoever waits for its answers.
    pub(crate) fn send<'a>(&mut self, ids: impl Iterator<Item = &'a CaseId>) {
        let lines: Vec<String> = ids.map(ToString::to_string).collect();
        let _ = self.write(&lines.join("\n"));
    }

    fn write(&mut self, lines: &str) -> io::Result<()> {
        self.input.write_all(lines.as_bytes())?;
        self.input.write_all(b"\n")?;
        self.input.flush()
    }

    /// Waits for the next reply, until `deadline`.
    pub(crate) fn next(&self, deadline: Instant) -> Event {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.replies.recv_timeout(left) {
            Ok(reply) => Event::Reply(reply),
            Err(RecvTimeoutError::Timeout) => Event::TimedOut,
            Err(RecvTimeoutError::Disconnected) => Event::Ended,
        }
    }

    /// Waits for a worker that has closed its output, and tells how it ended.
    pub(crate) fn autopsy(mut self) -> String {
        // It has closed its output, but may still be busy with something else.
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

    /// Ends it at once. Returns the last lines that it had printed.
    pub(crate) fn stop(mut self) -> String {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        Vec::from(errors.clone()).join(" | ")
    }

    /// Lets it end by itself, within `most`.
    pub(crate) fn finish(self, most: Duration) {
        let Self { mut child, input, replies, .. } = self;
        drop(input);
        let deadline = Instant::now() + most;
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

/// Calls `work` with every line until it says no. What is no UTF-8 is replaced: drivers print it.
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
