//! The cache of compiled pipelines between processes.

use std::ffi::OsStr;
use std::path::PathBuf;

use etcetera::BaseStrategy as _;

/// The environment variable that redirects or turns off the cache.
const VARIABLE: &str = "DML_PIPELINE_CACHE";

/// Where a device keeps compiled pipelines, so that the next process need not compile them.
///
/// A folder holds one file for each device and driver version, written while operators are compiled
/// and when the device is destroyed, so that a process that is killed leaves most of its pipelines.
/// Files are checked before a driver gets their contents: files that are damaged or belong to another device
/// are ignored and replaced. Several processes may share a folder. A cache that cannot be read or written
/// is logged and is not an error. Drivers trust the contents, so only the user should have write access
/// to the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PipelineCache {
    /// The value of the environment variable `DML_PIPELINE_CACHE`: `off`, or a folder. If it is not set or
    /// empty, the folder `dml` in the user's cache folder: below `$XDG_CACHE_HOME` or `~/.cache` on
    /// Linux, `~/Library/Caches` on macOS, `%LOCALAPPDATA%` on Windows. Without a cache folder, no cache.
    #[default]
    Environment,
    /// No cache.
    Off,
    /// This folder, which is created if it is missing.
    Folder(PathBuf),
}

impl PipelineCache {
    /// This setting with the value from the environment filled in.
    #[must_use]
    pub fn resolved(&self) -> Self {
        match self {
            Self::Environment => chosen(std::env::var_os(VARIABLE).as_deref(), platform_folder),
            chosen => chosen.clone(),
        }
    }

    /// The folder; `None` if there is no cache.
    pub fn folder(&self) -> Option<PathBuf> {
        match self.resolved() {
            Self::Folder(folder) => Some(folder),
            Self::Environment | Self::Off => None,
        }
    }
}

fn chosen(variable: Option<&OsStr>, platform: impl Fn() -> Option<PathBuf>) -> PipelineCache {
    match variable.filter(|value| !value.is_empty()) {
        Some(value) if value == "off" => PipelineCache::Off,
        Some(value) => PipelineCache::Folder(value.into()),
        None => platform().map_or(PipelineCache::Off, PipelineCache::Folder),
    }
}

fn platform_folder() -> Option<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().ok()?;
    Some(strategy.cache_dir().join("dml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform() -> Option<PathBuf> {
        Some("platform/dml".into())
    }

    #[test]
    fn the_variable_turns_the_cache_off_or_redirects_it() {
        let chosen = |value: &str| chosen(Some(OsStr::new(value)), platform);
        assert_eq!(chosen("off"), PipelineCache::Off);
        assert_eq!(chosen("a/b"), PipelineCache::Folder("a/b".into()));
        assert_eq!(chosen(""), PipelineCache::Folder("platform/dml".into()));
    }

    #[test]
    fn without_the_variable_the_platform_decides() {
        assert_eq!(chosen(None, platform), PipelineCache::Folder("platform/dml".into()));
        assert_eq!(chosen(None, || None), PipelineCache::Off);
    }

    #[test]
    fn a_choice_in_the_program_wins() {
        assert_eq!(PipelineCache::Off.resolved(), PipelineCache::Off);
        assert_eq!(PipelineCache::Off.folder(), None);
        let folder = PathBuf::from("mine");
        assert_eq!(PipelineCache::Folder(folder.clone()).folder(), Some(folder));
    }
}
