//! Forwards the output of a process, and keeps its last lines, because readers may see only the end of a long log.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, PipeReader, Write as _};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// The number of lines that are kept.
const MOST: usize = 40;

/// The longest wait for the end of the output: a process that a step has started may keep the pipe open.
const PATIENCE: Duration = Duration::from_secs(5);

/// The last lines of a process.
pub(crate) struct Tail {
    lines: Receiver<Vec<u8>>,
    kept: VecDeque<Vec<u8>>,
}

impl Tail {
    /// Collects both outputs of `command`, in the order in which they are written. `command` keeps an end of
    /// the pipe: it must be dropped before the lines end.
    pub(crate) fn of(command: &mut Command) -> std::io::Result<Self> {
        let (reader, writer) = std::io::pipe()?;
        command.stdout(writer.try_clone()?).stderr(writer);
        let (sender, lines) = channel();
        std::thread::spawn(move || forward(reader, &sender));
        Ok(Self { lines, kept: VecDeque::new() })
    }

    /// Keeps the lines so far; called repeatedly, so that a process with much output takes no memory.
    pub(crate) fn catch_up(&mut self) {
        while let Ok(line) = self.lines.try_recv() {
            self.keep(line);
        }
    }

    /// The last lines, after the process has ended.
    pub(crate) fn finish(mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        let left = || deadline.saturating_duration_since(Instant::now());
        while let Ok(line) = self.lines.recv_timeout(left()) {
            self.keep(line);
        }
        self.kept.iter().map(|it| String::from_utf8_lossy(it)).collect()
    }

    fn keep(&mut self, line: Vec<u8>) {
        if self.kept.len() == MOST {
            self.kept.pop_front();
        }
        self.kept.push_back(line);
    }
}

/// Forwards the output. A closed output of this process does not stop the other one.
fn forward(reader: PipeReader, lines: &Sender<Vec<u8>>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let mut out = dml_file::stdout();
                let _ = out.write_all(&line).and_then(|()| out.flush());
                if lines.send(line).is_err() {
                    return;
                }
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_both_outputs_are_kept_in_their_order() {
        let mut command = Command::new("sh");
        command.args(["-c", "seq 100; echo problem >&2; printf end"]);
        let tail = Tail::of(&mut command).unwrap();
        let mut child = command.spawn().unwrap();
        drop(command);
        child.wait().unwrap();
        let text = tail.finish();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), MOST);
        assert_eq!(lines[..2], ["63", "64"]);
        assert_eq!(lines[MOST - 3..], ["100", "problem", "end"]);
    }

    #[test]
    fn what_goes_on_in_the_background_is_not_waited_for() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; sleep 60 & true"]);
        let tail = Tail::of(&mut command).unwrap();
        command.spawn().unwrap().wait().unwrap();
        drop(command);
        let start = Instant::now();
        assert_eq!(tail.finish(), "one\n");
        assert!(start.elapsed() < Duration::from_secs(50));
    }
}
