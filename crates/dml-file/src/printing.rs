//! Standard output and standard error, with readers that may close the pipe early, such as `head`.

use std::fmt;
use std::io::{self, StderrLock, StdoutLock, Write};

/// A stream that discards all bytes after its reader has closed the pipe, so that the program continues to its
/// end and its own exit code.
#[derive(Debug)]
pub struct Stream<W>(W);

/// Standard output.
pub fn stdout() -> Stream<StdoutLock<'static>> {
    Stream(io::stdout().lock())
}

/// Standard error.
pub fn stderr() -> Stream<StderrLock<'static>> {
    Stream(io::stderr().lock())
}

impl<W: Write> Write for Stream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if is_closed(&error) => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if is_closed(&error) => Ok(()),
            flushed => flushed,
        }
    }
}

fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Writes to standard output; if that fails, ends the program with exit code 1.
pub fn print_to_stdout(text: fmt::Arguments<'_>) {
    if let Err(error) = stdout().write_fmt(text) {
        print_to_stderr(format_args!("error: cannot write to standard output: {error}\n"));
        std::process::exit(1);
    }
}

/// Writes to standard error. A failure is ignored, because it cannot be reported.
pub fn print_to_stderr(text: fmt::Arguments<'_>) {
    let _ = stderr().write_fmt(text);
}

/// Like [`std::print`], but a closed pipe is not an error.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => { $crate::print_to_stdout(::std::format_args!($($text)*)) };
}

/// Like [`std::println`], but a closed pipe is not an error.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($text:tt)*) => { $crate::print!("{}\n", ::std::format_args!($($text)*)) };
}

/// Like [`std::eprint`], but a closed pipe is not an error.
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => { $crate::print_to_stderr(::std::format_args!($($text)*)) };
}

/// Like [`std::eprintln`], but a closed pipe is not an error.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::eprint!("\n") };
    ($($text:tt)*) => { $crate::eprint!("{}\n", ::std::format_args!($($text)*)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream whose writes fail with one kind of error.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_closed_pipe_discards_and_other_failures_are_errors() {
        let mut closed = Stream(Failing(io::ErrorKind::BrokenPipe));
        writeln!(closed, "text").unwrap();
        closed.flush().unwrap();
        let mut full = Stream(Failing(io::ErrorKind::StorageFull));
        assert!(writeln!(full, "text").is_err());
        assert!(full.flush().is_err());
    }
}
