//! What is written down: a file of commands in the order of recording, and for each pipeline its statistics and
//! its assembly.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The folder, where there is to be one.
fn folder() -> Option<PathBuf> {
    std::env::var_os("DML_DRIVER_OUTPUT").map(PathBuf::from)
}

/// Adds a line to the file `commands`.
pub(super) fn command(line: &str) {
    static COMMANDS: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let create = || Some(Mutex::new(complain(File::create(folder()?.join("commands")))?));
    if let Some(file) = COMMANDS.get_or_init(create) {
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        complain(writeln!(file, "{line}"));
    }
}

/// Writes what is known of pipeline `number` to the file `NUMBER.EXTENSION`.
pub(super) fn of_pipeline(number: usize, extension: &str, content: &[u8]) {
    if let Some(folder) = folder() {
        complain(std::fs::write(folder.join(format!("{number}.{extension}")), content));
    }
}

#[allow(clippy::print_stderr, reason = "nobody else hears of it")]
fn complain<T>(result: std::io::Result<T>) -> Option<T> {
    result.inspect_err(|error| eprintln!("DML_DRIVER_OUTPUT: {error}")).ok()
}
