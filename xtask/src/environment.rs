//! The environment variables that make the unpacked drivers, layer and tools usable.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::{Context, Result};
use xshell::Cmd;

/// Variables to add to a program's environment. Empty: the system as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Set(&'static str, OsString),
    /// These folders come before what the variable holds already.
    Prepend(&'static str, Vec<PathBuf>),
}

/// What is announced to the Vulkan loader and to the shell.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    /// ICD manifests.
    pub(crate) drivers: Vec<PathBuf>,
    /// Folders of layer manifests.
    pub(crate) layers: Vec<PathBuf>,
    /// Folders of shared libraries.
    pub(crate) libraries: Vec<PathBuf>,
    /// Folders of programs.
    pub(crate) programs: Vec<PathBuf>,
}

impl Environment {
    /// The system as it is.
    pub(crate) fn system() -> Self {
        Self::default()
    }

    /// Only the announced drivers: the system's own are hidden, so that every machine gives the
    /// same devices. A newer loader reads VK_DRIVER_FILES, an older one VK_ICD_FILENAMES.
    pub(crate) fn only(announced: Announced) -> Result<Self> {
        Self::build(announced, &["VK_DRIVER_FILES", "VK_ICD_FILENAMES"])
    }

    /// The announced drivers beside the system's own.
    pub(crate) fn beside_system(announced: Announced) -> Result<Self> {
        Self::build(announced, &["VK_ADD_DRIVER_FILES"])
    }

    fn build(announced: Announced, driver_variables: &[&'static str]) -> Result<Self> {
        let mut changes = Vec::new();
        let joined = |paths: &[PathBuf]| {
            std::env::join_paths(paths).context("the path of this checkout contains a ':'")
        };
        if !announced.drivers.is_empty() {
            for variable in driver_variables {
                changes.push(Change::Set(variable, joined(&announced.drivers)?));
            }
        }
        if !announced.layers.is_empty() {
            changes.push(Change::Set("VK_LAYER_PATH", joined(&announced.layers)?));
        }
        for (variable, folders) in
            [("LD_LIBRARY_PATH", announced.libraries), ("PATH", announced.programs)]
        {
            joined(&folders)?;
            if !folders.is_empty() {
                changes.push(Change::Prepend(variable, folders));
            }
        }
        Ok(Self { changes })
    }

    /// Sets one more variable.
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.changes.push(Change::Set(variable, value.into()));
        self
    }

    /// These changes, then those of `other`.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.changes.extend(other.changes);
        self
    }

    /// `command` with this environment.
    pub(crate) fn apply<'a>(&self, mut command: Cmd<'a>) -> Cmd<'a> {
        let mut prepended: Vec<(&str, OsString)> = Vec::new();
        for change in &self.changes {
            match change {
                Change::Set(variable, value) => command = command.env(variable, value),
                Change::Prepend(variable, folders) => {
                    let earlier = prepended.iter().rfind(|(name, _)| name == variable);
                    let old =
                        earlier.map(|(_, it)| it.clone()).or_else(|| std::env::var_os(variable));
                    let value = prepend(folders, old.as_deref());
                    command = command.env(variable, &value);
                    prepended.push((variable, value));
                }
            }
        }
        command
    }

    /// Lines for `eval "$(cargo xtask env)"`. The shell expands its own PATH: this process's was
    /// changed by cargo.
    pub(crate) fn exports(&self) -> String {
        let line = |change: &Change| match change {
            Change::Set(variable, value) => {
                format!("export {variable}={}\n", quote(&value.to_string_lossy()))
            }
            Change::Prepend(variable, folders) => {
                let folders: Vec<_> = folders.iter().map(|it| it.to_string_lossy()).collect();
                let ours = quote(&folders.join(":"));
                format!("export {variable}={ours}\"${{{variable}:+:${variable}}}\"\n")
            }
        };
        self.changes.iter().map(line).collect()
    }
}

/// `folders`, then those of `old` that are not among them. Never an empty entry: the loader would
/// take it for the current folder.
fn prepend(folders: &[PathBuf], old: Option<&OsStr>) -> OsString {
    let old = old.map(std::env::split_paths).into_iter().flatten();
    let kept = old.filter(|it| !it.as_os_str().is_empty() && !folders.contains(it));
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

    fn announced() -> Announced {
        Announced {
            drivers: vec!["icd/a.json".into(), "icd/b.json".into()],
            layers: vec!["layers".into()],
            libraries: vec!["lib".into()],
            programs: vec!["bin".into()],
        }
    }

    #[test]
    fn exports_hide_the_systems_drivers_from_old_and_new_loaders() {
        assert_eq!(
            Environment::only(announced()).unwrap().exports(),
            "export VK_DRIVER_FILES='icd/a.json:icd/b.json'\n\
             export VK_ICD_FILENAMES='icd/a.json:icd/b.json'\n\
             export VK_LAYER_PATH='layers'\n\
             export LD_LIBRARY_PATH='lib'\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n\
             export PATH='bin'\"${PATH:+:$PATH}\"\n"
        );
    }

    #[test]
    fn beside_the_system_nothing_is_hidden() {
        let text = Environment::beside_system(announced()).unwrap().exports();
        assert!(text.contains("VK_ADD_DRIVER_FILES"));
        assert!(!text.contains("VK_DRIVER_FILES") && !text.contains("VK_ICD_FILENAMES"));
    }

    #[test]
    fn nothing_announced_changes_nothing() {
        assert_eq!(Environment::only(Announced::default()).unwrap(), Environment::system());
    }

    #[test]
    fn prepending_twice_is_prepending_once_and_leaves_no_empty_entry() {
        let ours = [PathBuf::from("ours")];
        let once = prepend(&ours, Some(OsStr::new("a::b")));
        assert_eq!(once, OsStr::new("ours:a:b"));
        assert_eq!(prepend(&ours, Some(&once)), once);
        assert_eq!(prepend(&ours, None), OsStr::new("ours"));
    }

    #[test]
    fn quotes_survive_the_shell() {
        assert_eq!(quote("it's"), r"'it'\''s'");
    }
}
