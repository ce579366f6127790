//! Variables that make unpacked drivers, layers and tools usable.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::{Context, Result};
use xshell::Cmd;

/// Changes to a program's environment. Empty: the system as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    variables: Vec<(&'static str, OsString)>,
    /// Folders to prepend to LD_LIBRARY_PATH.
    libraries: Vec<PathBuf>,
    /// Folders to prepend to PATH.
    programs: Vec<PathBuf>,
}

impl Environment {
    /// The system as it is.
    pub(crate) fn system() -> Self {
        Self::default()
    }

    /// An environment in which shared libraries and programs in these folders are found.
    pub(crate) fn of_folders(libraries: Vec<PathBuf>, programs: Vec<PathBuf>) -> Result<Self> {
        joined(&libraries).and(joined(&programs))?;
        Ok(Self { variables: Vec::new(), libraries, programs })
    }

    /// Sets one more variable.
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// This environment, then `other`, whose folders come first.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.variables.extend(other.variables);
        self.libraries.splice(..0, other.libraries);
        self.programs.splice(..0, other.programs);
        self
    }

    /// `command` with this environment.
    pub(crate) fn apply<'a>(&self, command: Cmd<'a>) -> Cmd<'a> {
        let lists = self.lists().map(|(name, folders)| {
            let old = std::env::var_os(name);
            (name, prepend(folders, old.as_deref()))
        });
        command.envs(self.variables.iter().cloned().chain(lists))
    }

    /// Lines for `eval "$(cargo xtask env)"`. The shell expands its own PATH: this process's was
    /// changed by cargo.
    pub(crate) fn exports(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.variables {
            text += &format!("export {name}={}\n", quote(&value.to_string_lossy()));
        }
        for (name, folders) in self.lists() {
            let ours = quote(&prepend(folders, None).to_string_lossy());
            text += &format!("export {name}={ours}\"${{{name}:+:${name}}}\"\n");
        }
        text
    }

    fn lists(&self) -> impl Iterator<Item = (&'static str, &[PathBuf])> {
        let lists = [("LD_LIBRARY_PATH", &*self.libraries), ("PATH", &*self.programs)];
        lists.into_iter().filter(|(_, folders)| !folders.is_empty())
    }
}

/// The value of a variable that lists `paths`.
pub(crate) fn joined(paths: &[PathBuf]) -> Result<OsString> {
    std::env::join_paths(paths).context("the path of this checkout contains a ':'")
}

/// `folders`, then those of `old` that are not among them. Never an empty entry, which the loader would take
/// for the current folder.
fn prepend(folders: &[PathBuf], old: Option<&OsStr>) -> OsString {
    let old = old.map(std::env::split_paths).into_iter().flatten();
    let kept = old.filter(|old| !old.as_os_str().is_empty() && !folders.contains(old));
    let all: Vec<PathBuf> = folders.iter().cloned().chain(kept).collect();
    std::env::join_paths(all).expect("every entry was split from a list or was joined before")
}

/// Quotes for a POSIX shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepending_twice_is_prepending_once_and_leaves_no_empty_entry() {
        let ours = [PathBuf::from("ours")];
        let once = prepend(&ours, Some(OsStr::new("a::b")));
        assert_eq!(once, OsStr::new("ours:a:b"));
        assert_eq!(prepend(&ours, Some(&once)), once);
        assert_eq!(prepend(&ours, None), OsStr::new("ours"));
    }

    #[test]
    fn the_folders_of_what_is_added_come_first_and_quotes_survive_the_shell() {
        let folders = |name: &str| Environment::of_folders(vec![name.into()], vec![]).unwrap();
        let both = folders("it's").and(folders("added").with("A", "b c"));
        let expected = "export A='b c'\nexport LD_LIBRARY_PATH='added:it'\\''s'\
            \"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n";
        assert_eq!(both.exports(), expected);
        assert_eq!(Environment::system().exports(), "");
    }
}
