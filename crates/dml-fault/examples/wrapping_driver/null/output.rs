//! The output folder: a file of commands in the order of recording, and for each pipeline its statistics and
//! its assembly. Each process has a folder of its own.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The process's own folder in `DML_DRIVER_OUTPUT`, where that is set: the first number that is free.
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let create = || {
        let all = PathBuf::from(std::env::var_os("DML_DRIVER_OUTPUT")?);
        (0..u32::MAX).map(|number| all.join(number.to_string())).find_map(|folder| {
            match std::fs::create_dir(&folder) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
                result => Some(complain(result).map(|()| folder)),
            }
        })?
    };
    FOLDER.get_or_init(create).as_deref()
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
