//! Running other programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xshell::Cmd;

/// Runs `command` with this process's own streams and returns its exit code, so that the code can
/// be passed on. A program that a signal ended counts as 1.
pub(crate) fn exit_code(command: Cmd<'_>) -> Result<i32> {
    eprintln!("$ {command}");
    let shown = command.to_string();
    let status =
        Command::from(command).status().with_context(|| format!("could not start `{shown}`"))?;
    Ok(status.code().unwrap_or(1))
}

/// Runs `command` and makes any exit code but 0 an error.
pub(crate) fn succeed(command: Cmd<'_>) -> Result<()> {
    let shown = format!("`{command}`");
    no_failure(&shown, exit_code(command)?)
}

/// Makes any exit code of `what` but 0 an error.
pub(crate) fn no_failure(what: &str, code: i32) -> Result<()> {
    ensure!(code == 0, "{what} ended with exit code {code}");
    Ok(())
}

/// The program called `name` on PATH.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file() || file.with_extension("exe").is_file()
}
